"""Every citation of every method resolves to the documents' own words."""

import asyncio
import re

import pytest
from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.storage.records import Chunk, Document, Span
from hypothesis import example, given
from hypothesis import strategies as st

QUESTIONS = (
    "Who wrote the novel The Oak House?",
    "Who directed the film shot at Marrow, Vey in 1962",
    "What are the main themes of these documents?",
)


@pytest.mark.parametrize("method", ["auto", "ppr", "global:c0"])
def test_citations_of_answers_resolve(method: str, context: Context) -> None:
    text_of = {each.id: each.text for each in context.index.rows(Document)}
    answerer = METHODS[method].answerer(context)
    cited = 0
    for question in QUESTIONS:
        answer = asyncio.run(answerer.answer(question))
        assert answer.dropped_citations == 0
        assert [each.number for each in answer.citations] == list(range(1, len(answer.citations) + 1))
        assert answer.known == bool(answer.citations)
        used = {int(number) for number in re.findall(r" \[(\d+)\](?=$|[ \n])", answer.text, re.M)}
        assert {each.number for each in answer.citations} <= used
        for each in answer.citations:
            assert each.quote
            assert text_of[each.document_id][each.start : each.end] == each.quote
            assert " ".join(each.quote.split()) in answer.text
            cited += 1
    assert cited


def whole(chunk: Chunk) -> Span:
    return Span(chunk.document_id, chunk.id, chunk.start, chunk.end)


def test_numbers_in_the_order_of_first_use_and_one_a_span(context: Context) -> None:
    citations = Citations(context)
    first, second, third = (whole(chunk) for chunk in context.chunks[:3])
    assert [citations.cite("x", each) for each in (second, first, second, third)] == [
        "x [1]",
        "x [2]",
        "x [1]",
        "x [3]",
    ]
    assert [(each.number, each.document_id) for each in citations.made()] == [
        (1, second.document_id),
        (2, first.document_id),
        (3, third.document_id),
    ]
    assert citations.dropped == 0


@given(st.integers(-3, 700), st.integers(-3, 700), st.sampled_from(["d1", "nowhere", ""]))
@example(0, 10**9, "d1")
@example(5, 5, "d1")
def test_what_does_not_resolve_is_dropped_and_counted(context: Context, start: int, end: int, document_id: str) -> None:
    document = {each.id: each for each in context.index.rows(Document)}.get(document_id)
    citations = Citations(context)
    said = [citations.cite("Marlow wrote it.", Span(document_id, "any", start, end)) for _ in range(2)]
    if document is not None and 0 <= start < end <= len(document.text):
        assert said == ["Marlow wrote it. [1]"] * 2
        (made,) = citations.made()
        assert made.quote == document.text[start:end]
        assert (made.title, made.uri) == (document.title, document.uri)
        assert citations.dropped == 0
    else:
        assert said == [None, None]
        assert citations.made() == ()
        assert citations.dropped == 2
