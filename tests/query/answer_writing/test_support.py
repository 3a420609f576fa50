"""What an answer quotes, its short form, and its support by the documents."""

import asyncio
from pathlib import Path

import conspectus
import pytest
from conspectus.api import Index
from conspectus.prompts.language_model import Message
from conspectus.query.answer_writing.context_windows import cut_tokens, filled, pack, shuffled
from conspectus.query.answer_writing.extractive import choose
from conspectus.query.answer_writing.own_words import told_anew, without_own_words
from conspectus.query.answer_writing.quotes import quotes_for
from conspectus.query.answer_writing.short_answer import short_answer
from conspectus.query.answer_writing.support import unknown_names
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.types import Answer, Passage
from conspectus.storage.records import Span
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Build
from tests.query.units import passage, report


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


def sentences(context: Context, title: str) -> list[Span]:
    """The sentences of one passage."""
    chunk = next(each for each in context.chunks if context.titles[each.document_id] == title)
    places = sentence_spans(chunk.text)
    return [Span(chunk.document_id, chunk.id, chunk.start + start, chunk.start + end) for start, end in places]


@pytest.mark.parametrize(
    ("question", "title", "answer"),
    [
        ("Who wrote The Oak House?", "The Oak House (novel)", "Paul Marlow"),
        ("When was The Oak House written?", "The Oak House (novel)", "2012"),
        ("When was The Oak House published?", "The Oak House (novel)", ""),
        ("In which city does Paul Marlow live?", "Paul Marlow", "Oxford"),
        ("How many people live in Oxford?", "Oxford", ""),
        ("Is Oxford a city?", "Oxford", ""),
    ],
)
def test_the_kind_that_is_asked_for(question: str, title: str, answer: str, sample_context: Context) -> None:
    assert short_answer(sample_context, question, sentences(sample_context, title)) == answer


def test_a_number_is_told_unless_another_is_as_near(build: Build) -> None:
    told = {
        "Brennick": "Brennick has 12,400 inhabitants.",
        "Vey": "Vey had 340 guests, although 412 guests came.",
        "Quay": "There were 93 guests.",
    }
    context = build(told.items())
    asked = {
        "Brennick": "How many inhabitants has Brennick?",
        "Vey": "How many guests had Vey?",
        "Quay": "How many guests were there?",
    }
    found = {title: short_answer(context, asked[title], sentences(context, title)) for title in told}
    assert found == {"Brennick": "12,400", "Vey": "", "Quay": "93"}


def test_the_reader_gives_words_of_what_it_cites(sample_context: Context) -> None:
    def ask(question: str) -> Answer:
        return asyncio.run(METHODS["bm25"].answerer(sample_context).answer(question))

    for question, answer in (
        ("Who wrote The Oak House?", "Paul Marlow"),
        ("When was The Oak House written?", "2012"),
    ):
        given = ask(question)
        assert given.span == answer
        assert any(answer in " ".join(citation.quote.split()) for citation in given.citations)
    assert ask("In which city does the author live who wrote The Oak House?").span == ""  # takes several steps
    assert ask("What is the airspeed of a quantum chromodynamics lattice in Kuala Lumpur?").span == ""


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("office")
    documents = folder / "documents"
    documents.mkdir()
    write(documents / "berths.csv", "ship,berth,master\nTern,North quay,Ada Holm\nGull,South quay,Bo Lind\n")
    write(
        documents / "people.md",
        "# People\n\n| Action | Owner |\n| --- | --- |\n| Paint the gate | Ada Holm |\n\n"
        "| Name | Telephone |\n| --- | --- |\n| Ada Holm | 4411 |\n| Bo Lind | 4412 |\n",
    )
    write(
        documents / "crane.md",
        "# Crane\n\n1. Greatest load of the crane\nThe greatest load of the crane is painted on its arm. It is nine "
        "tons in calm air.\n\nThe crane was built for the Harbour Company, founded by Carla Voss.\n",
    )
    return conspectus.build(documents, folder / "index")


def write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def test_of_a_table_only_the_rows_that_say_most_are_quoted(office: Index) -> None:
    answer = office.ask("Which berth has the Tern?").text
    assert "North quay" in answer
    assert "South quay" not in answer


def test_a_row_stands_below_the_header_of_its_own_table(office: Index) -> None:
    answer = office.ask("What is the telephone of Bo Lind?", "ppr")
    lines = [line.partition(" [")[0] for line in answer.text.splitlines()]
    assert lines.index("| Bo Lind | 4412 |") == lines.index("| Name | Telephone |") + 1
    assert not answer.unsupported


PROMPT = (
    Message("system", 'You answer.\n\nExample: The theatre of Tarnow opened with the opera "The Reed Cutter".'),
    Message("user", "Who directed Cold Harbour?\n<facts>\nCold Harbour was directed by Nadia Frey.\n</facts>"),
)
QUESTION = "Who directed Cold Harbour?"


@pytest.mark.parametrize(
    ("answer", "shown", "dropped"),
    [
        ("It was Nadia Frey [1]. It was made in 1962 [2].", "It was Nadia Frey [1]. It was made in 1962 [2].", 0),
        ("It was Nadia Frey [1]. It was Nadia Frey [2]. Yes. Yes.", "It was Nadia Frey [1]. Yes. Yes.", 1),
        ("Who directed Cold Harbour? It was Nadia Frey.", "It was Nadia Frey.", 1),
        ("It was directed by Nadia Frey. It was directed by", "It was directed by Nadia Frey.", 1),
        ('The theatre of Tarnow opened with the opera "The Reed Cutter". ' * 20, "", 20),
        ("Cold Harbour was directed by Nadia Frey.", "Cold Harbour was directed by Nadia Frey.", 0),
        ("- One film is long.\n- One is short.\n- One film is long.", "- One film is long.\n- One is short.", 1),
    ],
)
def test_what_is_shown_of_an_answer(answer: str, shown: str, dropped: int) -> None:
    told, n_dropped = without_own_words(answer, PROMPT, QUESTION)
    assert (told.strip(), n_dropped) == (shown, dropped)


@pytest.mark.parametrize(
    ("answer", "told"),
    [("Tarnow", ""), ("Nadia Frey", "Nadia Frey"), ("Who directed Cold Harbour?", "")],
)
def test_a_short_answer_that_only_our_example_has_is_none(answer: str, told: str) -> None:
    assert told_anew(answer, PROMPT, QUESTION) == told


WORDS = st.text(st.sampled_from("ab 1.[]\n北é🙂"), max_size=200)
UNITS = st.lists(st.one_of(st.builds(passage, WORDS, WORDS), st.builds(report, WORDS, WORDS)), max_size=12)


@given(UNITS, st.integers(16, 200))
def test_no_window_passes_its_limit_and_none_loses_a_unit(units: list, limit: int) -> None:  # type: ignore[type-arg]
    windows = pack(units, limit)
    assert [each for window in windows for each in window.units] == units
    for window in windows:
        assert window.n_tokens == count_tokens(window.text) <= limit
        if len(window.units) > 1:
            for number, unit in enumerate(window.units, start=1):
                assert f"[{number}]" in window.text
                assert unit.text in window.text
    first = filled(units, limit)
    assert first == (windows[0] if windows else None)


@given(WORDS, st.integers(0, 50))
def test_what_is_cut_is_a_beginning(text: str, limit: int) -> None:
    assert text.startswith(cut_tokens(text, limit))
    assert count_tokens(cut_tokens(text, limit)) <= limit


def test_the_order_depends_on_seed_and_texts_alone() -> None:
    units = [passage("", f"word {number}") for number in range(20)]
    assert shuffled(units, 7) == shuffled(units[::-1], 7) != shuffled(units, 8)
    assert shuffled(units, 7) != units
    left = [each for each in shuffled(units, 7) if each != units[3]]
    assert shuffled([each for each in units if each != units[3]], 7) == left, "what goes moves no other"
