"""One question, or one look into the tables of an index, on behalf of a caller."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

from conspectus.api import Index
from conspectus.operation_table import ASK, Operation
from conspectus.operations import runnable
from conspectus.prompts.client.usage_and_cost import metered
from conspectus.query.context import Context
from conspectus.query.step_listeners import Listener, steps_told_to
from conspectus.query.types import Answer, Evidence, Step
from conspectus.render.answers import answer_json, evidence_json, explanation_json
from conspectus.render.drawings import explanation_svg
from conspectus.render.node_link import elements
from conspectus.render.walks import draw, json_of
from conspectus.rows import MethodRow
from conspectus.server.admin.jobs import Jobs
from conspectus.server.bodies import NARROWING, conversation
from conspectus.server.metrics import Metrics
from conspectus.server.open_indexes import Served, Version
from conspectus.server.request_checks import Refused, log_line
from conspectus.server.request_threads import Gone, RequestThreads, Stopping, TooBusy, TookTooLong
from conspectus.server.tokens import Caller, MoneySpent, TooManyQuestions
from conspectus.storage.errors import (
    BudgetReached,
    ConspectusError,
    IndexUnusable,
    MissingPart,
    ModelError,
    NeedsModel,
    NotThere,
    SettingsError,
    UsageError,
)
from conspectus.storage.tracing import Attributes, span

Result = TypeVar("Result")

READS_AT_ONCE = 64
READ_SECONDS = 30.0
READS_COMPUTING = 2
"""Reads of tables take milliseconds, and have threads of their own: they wait neither for questions nor for models."""


class Called(NamedTuple):
    """The result of an operation, the same as plain values, and the version that it was computed from."""

    result: Any
    shown: Any
    version: Version


def ignore_steps(_: Step) -> None:
    """Ignore a step."""


async def never() -> None:
    """Wait forever, for requests whose client cannot be observed."""
    await asyncio.Event().wait()


@dataclass(frozen=True, slots=True)
class Service:
    """The indexes of a server, and the threads that questions and reads run in."""

    indexes: dict[str, Served]
    questions: RequestThreads
    metrics: Metrics
    tokens: bool
    """Whether requests need a token, so that responses are private."""
    admin: dict[str, Jobs] | None = None
    """The jobs of each index; None if the server cannot be administered."""
    shares: bool = False
    """Whether there are several callers, each with its share of the threads."""
    reads: RequestThreads = field(default_factory=lambda: RequestThreads(READS_AT_ONCE, READ_SECONDS, READS_COMPUTING))

    def stop(self) -> None:
        """Cancel all requests and end the streams of jobs. Call it on the server's loop."""
        self.questions.stop()
        self.reads.stop()
        for jobs in (self.admin or {}).values():
            jobs.leave()

    def visible(self, caller: Caller) -> list[Served]:
        """Return the indexes that a caller may ask, in the order of the command line."""
        return [one for one in self.indexes.values() if caller.indexes is None or one.name in caller.indexes]

    def find(self, caller: Caller, name: str) -> Served:
        """Return an index that a caller may ask. Raises the same Refused for forbidden and for missing indexes."""
        for one in self.visible(caller):
            if one.name == name:
                return one
        names = ", ".join(one.name for one in self.visible(caller)) or "none"
        raise Refused(404, "unknown_index", f"there is no index with that name; those that you may ask: {names}")

    def methods(self) -> list[MethodRow]:
        """Return the methods that can run; all indexes are served with the same settings."""
        return runnable(next(iter(self.indexes.values())).settings)

    async def run(
        self,
        caller: Caller,
        name: str,
        work: Callable[[Index], Coroutine[Any, Any, Result]],
        *,
        gone: Gone,
        narrowing: Mapping[str, Any] | None = None,
        version: str | None = None,
        reads: bool = False,
    ) -> tuple[Result, Version]:
        """Run work over the part of one version of an index that a caller may see.

        Args:
            caller: The caller.
            name: The name of the index.
            work: Called with the view of the index; it runs in a separate thread with its own event loop.
            gone: Returns when the client no longer waits.
            narrowing: The arguments of `Index.filter` that restrict the view further.
            version: The requested version, None for the current one.
            reads: Whether it only reads tables, and is no question.

        Returns:
            The result and the version it was computed from.

        Raises:
            Refused: For every error that a client can cause or should know about.
        """
        served = self.find(caller, name)
        held = served.hold()
        if version is not None and version != held.name:
            held.let_go()
            raise Refused(404, "unknown_version", f"that version is not the current one, {held.name}")

        async def over_view() -> Result:
            # The caller's tags come first: a filter's messages then only reveal keys and values of permitted documents.
            view = held.index.filter(access=caller.access) if caller.access is not None else held.index.filter()
            if narrowing:
                view = view.filter(**narrowing)
            with metered(caller.purse):
                return await work(view)

        threads = self.reads if reads else self.questions
        try:
            if not reads:
                if caller.purse is not None:
                    caller.purse.check()
                caller.allowance.take()
        except (TooManyQuestions, MoneySpent) as error:
            held.let_go()
            raise refusal(error) from None
        try:
            return await threads.run(over_view, gone, held.let_go, caller.name, shares=self.shares), held
        except TookTooLong:
            raise Refused(504, "too_long", f"no answer within {threads.seconds:g} s") from None
        except (TooBusy, Stopping, ConspectusError) as error:
            if isinstance(error, SettingsError | MissingPart):
                log_line({"event": "cannot run", "index": name, "why": str(error)})
            raise refusal(error) from error

    async def call(
        self,
        caller: Caller,
        name: str,
        operation: Operation,
        given: Mapping[str, Any],
        gone: Gone,
        tell: Listener = ignore_steps,
    ) -> Called:
        """Run an operation.

        Args:
            caller: The caller.
            name: The name of the index.
            operation: The operation.
            given: Its arguments; also those of `Index.filter`, and for a question `history` as a list of turns.
            gone: Returns when the client no longer waits.
            tell: Called in another thread with each step as it happens.

        Raises:
            Refused: For every error that a client can cause or should know about.
        """
        arguments = dict(given)
        narrowing = {name: arguments.pop(name) for name in NARROWING if name in arguments}
        narrowing = {name: value for name, value in narrowing.items() if value is not None}
        turns, width = arguments.pop("history", ()), arguments.pop("drawing", None)

        async def work(view: Index) -> tuple[Any, Any]:
            context = view.context
            if not operation.asks:
                found = operation.read(context, arguments)
                return found, found
            earlier = {"history": conversation(turns, context.narrowed)} if operation is ASK else {}
            with _span(operation, name, view, arguments["method"]) as told, steps_told_to(tell):
                result = await operation.run(context, **arguments, **earlier)
                if isinstance(result, Answer):
                    told.set(
                        conspectus__known=result.known,
                        gen_ai__usage__input_tokens=result.usage.prompt_tokens,
                        gen_ai__usage__output_tokens=result.usage.completion_tokens,
                    )
                return result, shown(result, arguments, context, width)

        reads = not operation.asks
        found, version = await self.run(caller, name, work, gone=gone, narrowing=narrowing, reads=reads)
        if isinstance(found[0], Answer):
            self.metrics.usage(found[0].usage)
        return Called(*found, version)


def shown(result: Any, arguments: Mapping[str, Any], context: Context, width: int | None) -> dict[str, Any]:  # noqa: ANN401
    """Return the result of a question as plain values, in the form that every front shows; with `width` drawn too."""
    if isinstance(result, Answer):
        walk, subgraph = result.evidence.walk, result.evidence.subgraph
        told = answer_json(result, json_of(result, context) if walk else None)
        if width and ((walk and walk.chains) or (subgraph and subgraph.nodes)):
            told["drawing"] = elements(draw(result, context, width))
        return told
    if isinstance(result, Evidence):
        return evidence_json(arguments["question"], arguments["method"], result)
    told = explanation_json(result)
    for each, passage in zip(told["passages"], result.passages, strict=True):
        if width and passage.paths:
            each["drawing"] = elements(explanation_svg(replace(result, passages=(passage,)), width))
    return told


def _span(operation: Operation, name: str, view: Index, method: str) -> AbstractContextManager[Attributes]:
    kind = {"ask": "invoke_agent", "retrieve": "retrieval"}.get(operation.name, operation.name)
    return span(
        f"{kind} {name}",
        gen_ai__operation__name=kind,
        gen_ai__agent__name="conspectus",
        gen_ai__data_source__id=name,
        conspectus__version=view.manifest.version,
        conspectus__method=method,
    )


_REFUSALS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], int, str, str], ...] = (
    (TooManyQuestions, 429, "too_many_questions", "the token's limit of questions a minute is reached"),
    (TooBusy, 429, "too_busy", "too many requests are under way; ask again later"),
    (Stopping, 503, "stopping", "the server is stopping"),
    (
        (SettingsError, MissingPart),
        501,
        "misconfigured",
        "the server's settings name something that cannot be used; its log says what",
    ),
    (NotThere, 404, "not_found", ""),
    (UsageError, 400, "bad_request", ""),
    (NeedsModel, 501, "needs_model", ""),
    (ModelError, 502, "model_failed", "the language model gave no usable answer"),
    (MoneySpent, 429, "money_spent", "too little is left of the token's limit of dollars a day (UTC)"),
    (BudgetReached, 503, "budget_reached", "the budget for the language model is used up"),
    (IndexUnusable, 503, "index_unusable", "the index cannot be read; the server's log names it"),
    (Exception, 500, "internal_error", "the question could not be answered"),
)
"""What a client is told of each error; "" is the error's own message, which is about the request itself."""


def refusal(error: Exception) -> Refused:
    """Return the error that a client sees, with the seconds after which it may ask again."""
    status, kind, message = next(row[1:] for row in _REFUSALS if isinstance(error, row[0]))
    seconds = {TooBusy: 1, Stopping: 5}.get(type(error)) or int(getattr(error, "seconds", -1)) + 1
    return Refused(status, kind, message or str(error), {"retry-after": str(seconds)} if seconds else {})
