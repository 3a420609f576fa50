"""What every retriever of the menu keeps, on any index and for any question."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from conspectus.query.context import Context
from conspectus.query.menu import METHODS, find_retriever
from conspectus.query.types import Passage
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Document

from tests import samples
from tests.conftest import Build

RETRIEVERS = sorted(name for name, method in METHODS.items() if method.retrieves and not method.needs_model)
"""Methods that need a model have tests of their own."""

ODD_QUESTIONS = {
    "empty": "",
    "blank": " \t\n\u3000",
    "punctuation": "?! … — «»",
    "one letter": "a",
    "only question words": "Who is it that was the?",
    "Chinese": "北京大学在哪里？红楼梦是什么？",
    "Arabic": "من كتب رواية البيت الأحمر؟",
    "signs": "\x00 \ufffd \u200b 👩‍👩‍👧 C++ <script> ' OR 1=1 --",
    "bytes that are no text": "Oxford \udcff\ud800",
    "one long word": "x" * 30_000,
    "longer than the model reads": " ".join(f"Oxford {i} novel film" for i in range(30)),
}

SMALL: dict[str, list[tuple[str, str]]] = {
    "one document": [("Paul Marlow", samples.PASSAGES["Paul Marlow"])],
    "one tiny chunk": [("", "Hi.")],
    "no word": [("", "…")],
    "copies": [("Oxford", "Paul Marlow lives in Oxford."), *[("", "Paul Marlow is a novelist.")] * 7],
    "long": [("Ships", " ".join(f"In {1500 + i} Oxford had {i} ships." for i in range(150))), ("C++", "A language.")],
}


def retrieve(context: Context, method: str, question: str, k: int) -> tuple[Passage, ...]:
    return asyncio.run(find_retriever(method, context).retrieve(question, k)).passages


def anew(context: Context) -> Context:
    """The same index, opened again: nothing is loaded, nothing was asked."""
    return Context(StoredIndex.open(context.index.root), context.settings)


def check(context: Context, method: str, question: str) -> tuple[Passage, ...]:
    """Ask for more than there is, and return what was found."""
    n_chunks = len(context.chunks)
    chunk_of = {chunk.id: chunk for chunk in context.chunks}
    text_of = {each.id: each.text for each in context.index.rows(Document)}
    found = retrieve(context, method, question, n_chunks + 10)
    assert len(found) <= n_chunks
    assert len({each.chunk_id for each in found}) == len(found)
    order = [(-each.score, each.chunk_id) for each in found]
    assert order == sorted(order)  # scores fall, ties by chunk id
    for each in found:
        chunk = chunk_of[each.chunk_id]
        assert (each.document_id, each.start, each.end) == (chunk.document_id, chunk.start, chunk.end)
        assert text_of[each.document_id][each.start : each.end] == each.text
        assert each.title == context.titles[each.document_id]
    assert retrieve(context, method, question, 3) == found[:3]
    return found


@pytest.mark.parametrize("method", RETRIEVERS)
@pytest.mark.parametrize("question", ODD_QUESTIONS.values(), ids=ODD_QUESTIONS.keys())
def test_any_question(method: str, question: str, context: Context) -> None:
    check(context, method, question)


@pytest.fixture(scope="module", params=SMALL)
def small_index(request: pytest.FixtureRequest, build: Build) -> Context:
    return build(SMALL[request.param])


@pytest.mark.parametrize("method", RETRIEVERS)
def test_any_index(method: str, small_index: Context) -> None:
    for question in ("", "?!", "北京", "Does Paul Marlow live in Oxford?"):
        check(small_index, method, question)
    assert retrieve(small_index, method, "Oxford", 0) == ()


@pytest.fixture(scope="module")
def copies(build: Build) -> Context:
    return build(SMALL["copies"])


@pytest.mark.parametrize("method", RETRIEVERS)
def test_equal_passages_score_equally(method: str, copies: Context) -> None:
    found = [each for each in check(copies, method, "Is Paul Marlow a novelist?") if not each.title]
    assert len(found) == 7
    assert method == "hybrid" or len({each.score for each in found}) == 1  # hybrid scores ranks


@pytest.mark.parametrize("method", ["bm25", "ppr"])  # ppr asks by words and by meaning too
def test_a_question_of_ten_thousand_words(method: str, context: Context) -> None:
    question = "Oxford novel film city " * 2_500
    assert len(retrieve(context, method, question, 5)) == 5


@pytest.mark.parametrize("method", RETRIEVERS)
def test_answers_do_not_depend_on_what_was_asked_before(method: str, context: Context, questions: list[str]) -> None:
    questions = questions[:8]
    one, other = anew(context), anew(context)
    first = [retrieve(one, method, question, 5) for question in questions]
    second = [retrieve(other, method, question, 5) for question in reversed(questions)]
    assert first == second[::-1]
    retriever = find_retriever(method, one)
    assert [asyncio.run(retriever.retrieve(question, 5)).passages for question in questions] == first


@pytest.mark.parametrize("method", RETRIEVERS)
def test_four_threads_find_what_one_does(method: str, context: Context, questions: list[str]) -> None:
    questions = questions[:8]
    alone = [retrieve(context, method, question, 5) for question in questions]
    shared = anew(context)  # so that the threads also meet at whatever is loaded on first use
    retriever = find_retriever(method, shared)

    def ask(start: int) -> list[tuple[Passage, ...]]:
        turned = questions[start:] + questions[:start]
        found = [asyncio.run(retriever.retrieve(question, 5)).passages for question in turned]
        return found[len(found) - start :] + found[: len(found) - start]

    with ThreadPoolExecutor(4) as threads:
        for each in threads.map(ask, (0, 2, 4, 6)):
            assert each == alone


@pytest.mark.parametrize("method", RETRIEVERS)
def test_many_questions_at_once_on_one_loop(method: str, context: Context, questions: list[str]) -> None:
    questions = questions[:8]
    retriever = find_retriever(method, context)

    async def ask() -> list[tuple[Passage, ...]]:
        found = await asyncio.gather(*(retriever.retrieve(question, 5) for question in questions))
        return [each.passages for each in found]

    assert asyncio.run(ask()) == [retrieve(context, method, question, 5) for question in questions]
