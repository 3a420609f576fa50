"""What every answerer of the menu keeps, without a model and with one that says anything."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conspectus.query.abstention import UNCITED, is_no_answer
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.types import Answer
from conspectus.storage.errors import BudgetReached, ModelError
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Document, Entity, Relation, Report
from conspectus.storage.settings import LlmSettings

from benchmarks.fake_server import FakeReply, FakeServer
from tests.conftest import Build
from tests.tags import prompt_of

ALONE = [name for name, method in METHODS.items() if not method.needs_model]
"""Those that answer without a model."""
QUESTIONS = ["", "?! …", "北京大学在哪里？", "Who wrote the novel The Oak House?", "Oxford \udcff " * 200]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


def opened(context: Context, server: FakeServer, root: Path, **llm: object) -> Context:
    """Return the index with a model, and with a memo of its own."""
    index = StoredIndex.open(context.index.root)
    index.root = root
    chosen = LlmSettings.model_validate({"model": "m", "base_url": server.url, "attempts": 1, **llm})
    return Context(index, context.settings.model_copy(update={"llm": chosen}))


BY_ITSELF = {"io", "cot", "cot_sc", "tog", "tog2", "fasttog"}
"""Methods that may say at last what a model knows by itself, as their papers do: no source, so it is not `known`."""


def check(context: Context, method: str, question: str) -> Answer:
    """Ask, and return an answer whose citations stand in the documents and in its text."""
    found = asyncio.run(METHODS[method].answerer(context).answer(question))
    texts = {each.id: each.text for each in context.index.rows(Document)}
    assert found.question == question
    assert found.trace
    assert found.text.strip()
    assert [each.number for each in found.citations] == sorted({each.number for each in found.citations})
    for each in found.citations:
        assert texts[each.document_id][each.start : each.end] == each.quote
        assert f"[{each.number}]" in found.text
    marks = {int(each) for each in re.findall(r"\[(\d{1,3})\]", found.text)}
    assert marks <= {each.number for each in found.citations}
    if not found.known and (method in BY_ITSELF or any(UNCITED in step.detail for step in found.trace)):
        return found
    assert is_no_answer(found.text) == (not found.known)
    return found


@pytest.mark.parametrize("method", ALONE)
def test_without_a_model(method: str, sample_context: Context) -> None:
    for question in QUESTIONS:
        assert check(sample_context, method, question).usage.calls == 0


@pytest.fixture(scope="module")
def one_word(build: Build) -> Context:
    return build([("", "Hi.")])


@pytest.mark.parametrize("method", ALONE)
def test_an_index_of_one_word(method: str, one_word: Context) -> None:
    check(one_word, method, "Who says Hi?")


@pytest.mark.parametrize("method", METHODS)
def test_with_a_model_that_says_anything(
    method: str, sample_context: Context, server: FakeServer, tmp_path: Path
) -> None:
    """The same question costs nothing twice, and no prompt holds an id, which a rename would change."""
    served = opened(sample_context, server, tmp_path)
    try:
        found = check(served, method, "Who wrote the novel The Oak House?")
    except ModelError:
        return
    assert ":offline" not in found.method
    asked = len(server.requests)
    again = check(served, method, "Who wrote the novel The Oak House?")
    assert (again.text, again.usage.calls, len(server.requests)) == (found.text, 0, asked)
    ids = [row.id for record in (Entity, Relation, Chunk, Report) for row in served.index.rows(record)]
    prompts = "\n".join(prompt_of(each.body) for each in server.requests if each.body)
    assert not [id_ for id_ in ids if id_ in prompts]


@pytest.mark.parametrize("method", METHODS)
def test_a_server_that_refuses_is_an_error_and_never_ignorance(
    method: str, sample_context: Context, tmp_path: Path
) -> None:
    with FakeServer(lambda _: FakeReply(status=400)) as server:
        answerer = METHODS[method].answerer(opened(sample_context, server, tmp_path))
        try:
            found = asyncio.run(answerer.answer("Who wrote the novel The Oak House?"))
        except ModelError:
            assert server.requests
        else:
            assert found.known or not server.requests, found.text


@pytest.mark.parametrize("method", METHODS)
def test_a_budget_that_is_reached_is_an_error_and_sends_nothing(
    method: str, sample_context: Context, server: FakeServer, tmp_path: Path
) -> None:
    answerer = METHODS[method].answerer(opened(sample_context, server, tmp_path, max_tokens=10))
    try:
        found = asyncio.run(answerer.answer("Who wrote the novel The Oak House?"))
    except BudgetReached:
        pass
    else:
        assert found.usage.calls == 0
    assert not server.requests
