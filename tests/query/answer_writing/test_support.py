"""Support of an answer by the documents, and what is said where they hold none."""

from pathlib import Path

import conspectus
import pytest
from conspectus.query.answer_writing.extractive import choose
from conspectus.query.answer_writing.quotes import quotes_for
from conspectus.query.answer_writing.support import unknown_names, unsupported
from conspectus.query.context import Context
from conspectus.query.types import Passage


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who taught Paul Marlow to use Kubernetes in Oxford?", ["Kubernetes"]),
        ("Wer schickte Paul Marlow in Oxford den Zeppelin mit PyTorch?", ["PyTorch"]),
        ("Wer kaufte das Oxfordbuch?", []),
        ("Kubernetes runs where?", []),
    ],
)
def test_names_that_stand_nowhere(question: str, names: list[str], sample_context: Context) -> None:
    assert unknown_names(sample_context, question) == names


def test_a_name_that_stands_nowhere_outweighs_words_that_do(sample_context: Context) -> None:
    passages = [sample_context.passage(row, 1.0) for row in range(len(sample_context.chunks))]
    for question, known in (
        ("Who wrote The Oak House?", True),
        ("Who wrote The Oak House in Fortran?", False),
    ):
        quotes = quotes_for(sample_context, question, passages)
        chosen = choose(sample_context, question, quotes, 3)
        reason, nearest = unsupported(sample_context, question, quotes, chosen)
        assert (reason == "") is known
        assert known or nearest in ("", chosen[0].text)


def test_each_part_of_a_question_has_its_quote(sample_context: Context) -> None:
    passages = [sample_context.passage(row, 1.0) for row in range(len(sample_context.chunks))]
    question = "When was The Oak House published, and in which city does Paul Marlow live?"
    quotes = quotes_for(sample_context, question, passages)
    said = " ".join(quote.text for quote in choose(sample_context, question, quotes, 2))
    assert "2012" in said
    assert "Oxford" in said


def test_a_sentence_is_quoted_with_the_next_of_its_paragraph_and_short_ones_are_not_quoted(
    sample_context: Context,
) -> None:
    text = "The lamp needs a new wick each spring. Mara keeps them.\n\nThe lamp is oiled daily.\n\nOil, then!"
    known = sample_context.passage(0, 1.0)
    passage = Passage(known.document_id, known.chunk_id, 0, len(text), 1.0, text, "Keeper's notes")
    quotes = quotes_for(sample_context, "Where do I find a wick for the lamp?", [passage])
    assert "Oil, then!" not in {quote.text for quote in quotes}
    first = choose(sample_context, "Where do I find a wick for the lamp?", quotes, 1)[0]
    assert [part.text for part in first.excerpt.shown] == ["The lamp needs a new wick each spring.", "Mara keeps them."]


def test_a_procedure_is_quoted_from_the_beginning_of_its_section(tmp_path: Path) -> None:
    text = (
        "# Pump manual\n\n## Starting the pump\n\nOpen the valve. Press the green button. "
        "The pump then starts within a minute.\n\n## Care\n\nGrease the bearing."
    )
    (tmp_path / "manual.md").write_text(text)
    index = conspectus.build(tmp_path / "manual.md", tmp_path / "index")
    said = index.ask("How do I start the pump?", "bm25").text
    assert said.index("Open the valve.") < said.index("Press the green button.") < said.index("within a minute.")
