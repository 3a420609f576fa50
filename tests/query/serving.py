"""A served index for tests: methods ask a fake server that says what it is told to."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from conspectus.query.context import Context
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import LlmSettings

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer, Rule
from tests.tags import prompt_of

Maker = str | FakeReply | Sequence[str | FakeReply] | Callable[[FakeRequest], str | FakeReply]

MAP, REDUCE, RATE = "take notes for answering", "You answer a question about a whole", "You judge how much a report"


def notes(*points: tuple[str, int, list[int]]) -> str:
    """Return the reply to a map call, over reports as well as over passages."""
    named = [{"description": text, "score": score, "numbers": numbers} for text, score, numbers in points]
    return json.dumps({"points": named})


NOTE = notes(("Novels are set in Oxford.", 80, [1]))


def rules(note: Maker = NOTE, answer: Maker = "Novels [1].", rating: Maker = "3") -> list[Rule]:
    """Return what each kind of call is answered with; ratings are given as digits."""
    return [Rule(note, MAP), Rule(answer, REDUCE), Rule(_rated(rating), RATE)]


def _rated(rating: Maker) -> Maker:
    def rate(request: FakeRequest) -> str | FakeReply:
        made = rating(request) if callable(rating) else rating
        return json.dumps({"answer": made}) if isinstance(made, str) else made  # type: ignore[return-value]

    return rate


@contextmanager
def served(
    context: Context, memo: Path, replies: Sequence[Rule], latency: float = 0.0, **chosen: object
) -> Iterator[tuple[Context, FakeServer]]:
    """Open the index anew with a server for its model; `chosen` are settings of global_search, `memo` a folder."""
    with FakeServer(list(replies), piece=5, latency=latency) as server:
        llm = LlmSettings(model="m", base_url=server.url, attempts=1)
        found = context.settings.global_search.model_copy(update=chosen)
        settings = context.settings.model_copy(update={"llm": llm, "global_search": found})
        index = StoredIndex.open(context.index.root)
        index.root = memo
        yield replace(context, index=index, settings=settings), server


def sent(server: FakeServer, kind: str) -> list[str]:
    """Return the prompts of one kind in the order in which they came."""
    prompts = [prompt_of(each.body) for each in server.requests if each.body]
    return [each for each in prompts if kind in each]
