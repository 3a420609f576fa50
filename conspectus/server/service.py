"""One question, or one look into the tables of an index, on behalf of a caller."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from conspectus.api import Index
from conspectus.query.types import Answer, ignore_pieces
from conspectus.server.bodies import Ask, Explain, Retrieve, conversation
from conspectus.server.callers import Caller, TooManyQuestions
from conspectus.server.guard import Refused
from conspectus.server.metrics import Metrics
from conspectus.server.neighbours import NotThere
from conspectus.server.questions import Gone, Questions, TooBusy, TookTooLong
from conspectus.server.served import Served, Version
from conspectus.storage.errors import (
    BudgetReached,
    ConspectusError,
    IndexUnusable,
    ModelError,
    NeedsModel,
    SettingsError,
    UsageError,
)

Result = TypeVar("Result")


async def never() -> None:
    """Wait for ever: the client of a request that cannot be watched."""
    await asyncio.Event().wait()


@dataclass(frozen=True, slots=True)
class Service:
    """The indexes of a server, and the threads that their questions run in."""

    indexes: dict[str, Served]
    questions: Questions
    metrics: Metrics
    tokens: bool
    """Whether requests need a token, so that what they see is private."""

    def visible(self, caller: Caller) -> list[Served]:
        """Return the indexes that a caller may ask, in the order of the command line."""
        return [one for one in self.indexes.values() if caller.indexes is None or one.name in caller.indexes]

    def find(self, caller: Caller, name: str) -> Served:
        """Return an index that a caller may ask; Refused alike for one that it may not and one that is not there."""
        for one in self.visible(caller):
            if one.name == name:
                return one
        raise Refused(404, "unknown_index", "there is no index of that name; /v1/indexes lists them")

    async def run(
        self,
        caller: Caller,
        name: str,
        work: Callable[[Index], Coroutine[Any, Any, Result]],
        *,
        gone: Gone,
        where: str | None = None,
        access: Sequence[str] | None = None,
        version: str | None = None,
        counts: bool = True,
    ) -> tuple[Result, Version]:
        """Run work over what a caller may see of one version of an index.

        Args:
            caller: Who asks.
            name: The name of the index.
            work: What to do with the view of the index; it runs in a thread with an event loop of its own.
            gone: Returns when nobody waits any more.
            where: A filter over metadata.
            access: Access tags, which narrow the view further.
            version: The version that is wanted, None for the one in force.
            counts: Whether it counts as a question.

        Returns:
            The result and the version that it is of.

        Raises:
            Refused: For everything that a client can cause or should know.
        """
        served = self.find(caller, name)
        held = served.hold()
        if version is not None and version != held.name:
            held.let_go()
            raise Refused(
                404, "unknown_version", "that version is not in force here; /v1/indexes names the one that is"
            )

        async def over_view() -> Result:
            # The fixed tags come first: what a filter says of keys and values is then of permitted documents only.
            view = held.index.filter(access=caller.access) if caller.access is not None else held.index.filter()
            if where is not None or access is not None:
                view = view.filter(where, access)
            return await work(view)

        try:
            if counts:
                caller.allowance.take()
        except TooManyQuestions as many:
            held.let_go()
            seconds = {"retry-after": str(int(many.seconds) + 1)}
            raise Refused(
                429, "too_many_questions", "the token's questions of this minute are used up", seconds
            ) from None
        try:
            return await self.questions.run(over_view, gone, held.let_go), held
        except TooBusy:
            busy = "as many questions run and wait as this server takes; ask again"
            raise Refused(429, "too_busy", busy, {"retry-after": "1"}) from None
        except TookTooLong:
            raise Refused(504, "too_long", f"no answer within {self.questions.seconds:g} s") from None
        except ConspectusError as error:
            raise refusal(error) from error

    async def ask(
        self, caller: Caller, name: str, asked: Ask, gone: Gone, say: Callable[[str], None] = ignore_pieces
    ) -> tuple[Answer, Version]:
        """Answer a question; `say` is called in another thread with each piece that a model writes."""

        async def work(view: Index) -> Answer:
            history = conversation(asked.history, view.context.narrowed)
            return await view.aio.ask(asked.question, asked.method, say, history, asked.topics)

        answer, version = await self.run(caller, name, work, gone=gone, where=asked.where, access=asked.access)
        self.metrics.usage(answer.usage)
        return answer, version

    async def retrieve(self, caller: Caller, name: str, asked: Retrieve, gone: Gone) -> tuple[Any, Version]:
        """Find passages."""
        return await self.run(
            caller,
            name,
            lambda view: view.aio.retrieve(asked.question, asked.method, asked.k),
            gone=gone,
            where=asked.where,
            access=asked.access,
        )

    async def explain(self, caller: Caller, name: str, asked: Explain, gone: Gone) -> tuple[Any, Version]:
        """Explain a ranking."""
        return await self.run(
            caller,
            name,
            lambda view: view.aio.explain(
                asked.question, asked.method, asked.k, passage=asked.passage, chunk=asked.chunk, paths=asked.paths
            ),
            gone=gone,
            where=asked.where,
            access=asked.access,
        )


def refusal(error: ConspectusError) -> Refused:
    """Return what a client learns of an error. Only messages on the request itself are passed on."""
    if isinstance(error, NotThere):
        return Refused(404, "not_found", str(error))
    if isinstance(error, UsageError) and not isinstance(error, SettingsError):
        return Refused(400, "bad_request", str(error))
    if isinstance(error, NeedsModel):
        return Refused(501, "needs_model", "the method needs a language model, and this server has none")
    if isinstance(error, ModelError):
        return Refused(502, "model_failed", "the language model gave no usable answer")
    if isinstance(error, BudgetReached):
        return Refused(503, "budget_reached", "the budget for the language model is used up")
    if isinstance(error, IndexUnusable):
        return Refused(503, "index_unusable", "the index cannot be read; the server's log names it")
    return Refused(500, "internal_error", "the question could not be answered")
