"""Short answers: words of the quoted sentences, of the kind that the question asks for."""

import asyncio

import pytest
from conspectus.query.answer_writing.short_answer import short_answer
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.types import Answer
from conspectus.storage.records import Span
from conspectus.storage.text.sentences import sentence_spans


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
