"""A knowledge graph with a server that says what it is told to."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.types import Answer, TopicAnswerer
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import LlmSettings

from benchmarks.fake_server import FakeServer, Rule
from tests.tags import prompt_of


@contextmanager
def served(
    context: Context, memo: Path, replies: Sequence[Rule], **sections: Mapping[str, object]
) -> Iterator[tuple[Context, FakeServer]]:
    """Open the index anew with a server for its model; `sections` are changed settings, `memo` a folder."""
    with FakeServer(list(replies)) as server:
        changed: dict[str, object] = {"llm": LlmSettings(model="m", base_url=server.url, attempts=1)}
        changed |= {name: getattr(context.settings, name).model_copy(update=keys) for name, keys in sections.items()}
        index = StoredIndex.open(context.index.root)
        index.root = memo
        yield Context(index, context.settings.model_copy(update=changed)), server


def prompts(server: FakeServer) -> list[str]:
    """Return what the server was asked, in order."""
    return [prompt_of(each.body) for each in server.requests if each.body]


def asked_of(context: Context, method: str, question: str, topics: Sequence[str] = ()) -> Answer:
    """Return what a method answers, from given topics if there are any."""
    answerer = METHODS[method].answerer(context)
    if not topics:
        return asyncio.run(answerer.answer(question))
    assert isinstance(answerer, TopicAnswerer)
    return asyncio.run(answerer.answer_about(question, topics))
