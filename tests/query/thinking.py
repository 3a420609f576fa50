"""What the tests of IRCoT share: passages that need three hops, and a server that thinks what it is told to."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from conspectus.query.context import Context
from conspectus.query.menu import METHODS, find_retriever
from conspectus.query.types import Answer, Evidence
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import IrcotSettings, LlmSettings

from benchmarks.fake_server import FakeReply, FakeServer, Rule
from tests.tags import inside, prompt_of

THINK, READ = "You work out the answer", "on the numbered passages alone"
QUESTION = "In which country does the designer of the Corvane lighthouse live?"
PASSAGES = {
    "Corvane lighthouse": "The Corvane lighthouse was designed by Ada Mirren.",
    "Ada Mirren": "Ada Mirren lives in the town of Pelluci.",
    "Pelluci": "Pelluci is a town in the country of Ostrava.",
} | {f"Lighthouse {name}": f"The designer of the lighthouse {name} lives in a country." for name in "ABCDEFGHIJ"}
CHAIN = (
    "The Corvane lighthouse was designed by Ada Mirren.",
    "Ada Mirren lives in Pelluci.",
    "Pelluci is in the country of Ostrava.",
    "So the answer is: Ostrava.",
)


@contextmanager
def served(
    context: Context,
    memo: Path,
    thoughts: str | FakeReply | Sequence[str | FakeReply],
    answer: str = "In Ostrava [1].",
    llm: Mapping[str, object] | None = None,
    **ircot: object,
) -> Iterator[tuple[Context, FakeServer]]:
    """Open the index anew with a server for its model; `ircot` are settings, `llm` those of the model."""
    with FakeServer([Rule(thoughts, THINK), Rule(answer, READ)]) as server:
        settings = context.settings.model_copy(
            update={
                "llm": LlmSettings.model_validate({"model": "m", "base_url": server.url, "attempts": 1, **(llm or {})}),
                "ircot": IrcotSettings.model_validate({"retriever": "bm25", "passages": 3, **ircot}),
            }
        )
        index = StoredIndex.open(context.index.root)
        index.root = memo
        yield Context(index, settings), server


def ask(context: Context) -> Answer:
    return asyncio.run(METHODS["ircot"].answerer(context).answer(QUESTION, lambda piece: None))


def retrieve(context: Context, k: int = 3) -> Evidence:
    return asyncio.run(find_retriever("ircot", context).retrieve(QUESTION, k))


def prompts(server: FakeServer) -> list[str]:
    return [prompt_of(each.body) for each in server.requests if each.body]


def shown(prompt: str, of: str) -> str:
    """What stands under a name in the last part of the thought prompt."""
    return inside(prompt, {"Thoughts so far": "thoughts"}.get(of, of.lower())).split("\n\n")[0]
