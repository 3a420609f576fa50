"""Lazy search over an index that no model made."""

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.types import Answer
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import LazySettings, LlmSettings, load_settings

from benchmarks.fake_server import FakeRequest, FakeServer, Rule
from tests.conftest import ISLES
from tests.query.serving import notes
from tests.tags import inside, prompt_of

QUESTION = "Which films were made in Marrow, and who directed them?"
ASKS, TESTS, MAPS = "You prepare a search", "You judge which passages", "take notes for answering"


@pytest.fixture(scope="module")
def isles(tmp_path_factory: pytest.TempPathFactory) -> Context:
    folder = tmp_path_factory.mktemp("isles") / "index"
    settings = load_settings(overrides={"extraction": {"pipeline": "regex"}})
    build_index([ISLES / "corpus.jsonl"], folder, settings)
    return Context(StoredIndex.open(folder), settings)


def relevant(request: FakeRequest) -> str:
    """Find those passages relevant that speak of films."""
    pieces = re.split(r"^\[(\d+)\] ", inside(request.prompt, "passages"), flags=re.M)[1:]
    told = zip(pieces[::2], pieces[1::2], strict=True)
    scored = [(int(number), 8 if "film" in text.casefold() else 2) for number, text in told]
    return json.dumps({"passages": [{"number": number, "score": score} for number, score in scored]})


def asked(context: Context, server: FakeServer, memo: Path, **chosen: int) -> tuple[Answer, dict[str, int]]:
    """Return the answer and the calls of each kind."""
    llm = LlmSettings(model="m", base_url=server.url, attempts=1)
    settings = context.settings.model_copy(update={"llm": llm, "lazy_search": LazySettings(**chosen)})
    index = StoredIndex.open(context.index.root)
    index.root = memo
    opened = replace(context, index=index, settings=settings)
    answer = METHODS["lazy"].answerer(opened)
    found = asyncio.run(answer.answer(QUESTION))
    prompts = [prompt_of(each.body) for each in server.requests if each.body]
    kinds = {kind: sum(kind in prompt for prompt in prompts) for kind in (ASKS, TESTS, MAPS)}
    return found, {**kinds, "all": len(prompts)}


def rules() -> list[Rule]:
    smaller = json.dumps({"questions": ["Which films were made in Marrow?", "Who directed Cold Harbour?"]})
    note = notes(("Cold Harbour was made in Marrow.", 90, [1]))
    return [Rule(smaller, ASKS), Rule(relevant, TESTS), Rule(note, MAPS), Rule("Cold Harbour was made in Marrow [1].")]


def test_only_relevant_passages_are_read(isles: Context, tmp_path: Path) -> None:
    with FakeServer(rules()) as server:
        answer, calls = asked(isles, server, tmp_path)
        read = "".join(prompt_of(each.body) for each in server.requests if each.body and MAPS in prompt_of(each.body))
    assert "Who directed Cold Harbour?" in str(answer.trace)
    assert answer.citations
    assert "Winter Quarters" in read
    assert "quarry village" not in read
    assert calls[ASKS] == 1


@pytest.mark.parametrize("budget", [1, 15, 100])
def test_the_calls_keep_to_their_bound(isles: Context, tmp_path: Path, budget: int) -> None:
    with FakeServer(rules()) as server:
        answer, calls = asked(isles, server, tmp_path, budget=budget)
    tested = int(re.search(r"(\d+) passages in", str(answer.trace))[1])  # type: ignore[index]
    assert 0 < tested <= budget
    assert calls[TESTS] <= -(-budget // 10)
    assert calls["all"] <= 1 + -(-budget // 10) + calls[MAPS] + 1


def test_tests_that_fail_lose_nothing_and_all_failing_is_told(isles: Context, tmp_path: Path) -> None:
    failing = [rules()[0], Rule("I cannot.", TESTS), *rules()[2:]]
    with FakeServer(failing) as server, pytest.raises(Exception, match="names none of the items"):
        asked(isles, server, tmp_path)


def test_a_fact_is_quoted_without_a_model(isles: Context) -> None:
    answer = asyncio.run(METHODS["lazy"].answerer(isles).answer("Who directed Cold Harbour?"))
    assert "Nadia Frey" in answer.text
    assert len(answer.text.splitlines()) < 5
    told = [line.rstrip("0123456789[]. ") for line in answer.text.splitlines()]
    assert "Cold Harbour" not in told, "a title that the question names tells nothing"
