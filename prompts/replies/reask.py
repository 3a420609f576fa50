"""Asking again for what was lost: a reply that is remembered with a loss is asked for once more, no other.

A step wraps what it asks and reads in an *exchange*: one call, or a bad reply and the answer to the complaint about
it. With an ordinary model it takes place once. With a `Retrying` one it takes place again where a remembered reply
lost something, and the better of the two is kept and remembered. That is all that a step needs to know of retrying.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from conspectus.prompts.model import LanguageModel, Reply, Request
from conspectus.storage.errors import BadAnswer, ModelError

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """What was made of an exchange; how many parts of it (records, findings) could be read, and could not."""

    value: Value
    kept: int = 1
    lost: int = 0


Exchange = Callable[[LanguageModel], Awaitable[Outcome[Value]]]
"""Asks the model that it is given; BadAnswer where nothing can be made of the reply."""


@dataclass(frozen=True, slots=True)
class Retried:
    """What came of asking again: exchanges asked again, those that lost nothing then, those without a reply."""

    asked: int = 0
    healed: int = 0
    unanswered: int = 0


class Remembering(LanguageModel, Protocol):
    """A model whose replies are remembered."""

    async def remember(self, request: Request, reply: Reply) -> None:
        """Remember a reply as the one to this request, in the place of the one that is remembered."""
        ...


async def least_lost(model: LanguageModel, exchange: Exchange[Value]) -> Value:
    """Return what an exchange gives; a `Retrying` model is asked again where a remembered reply lost something.

    Raises what the exchange raises.
    """
    if isinstance(model, Retrying):
        return await model.least_lost(exchange)
    return (await exchange(model)).value


class Retrying:
    """A model that is asked again, once, for the remembered replies that lost something.

    A call that failed is remembered nowhere: asking is trying again. `retried` tells what came of it so far.
    """

    def __init__(self, model: Remembering) -> None:
        self._model = model
        self.retried = Retried()

    async def complete(self, request: Request) -> Reply:
        """Return the reply of the model."""
        return await self._model.complete(request)

    def stream(self, request: Request) -> AsyncIterator[str]:
        """Return the reply of the model piece by piece."""
        return self._model.stream(request)

    async def least_lost(self, exchange: Exchange[Value]) -> Value:
        """Return the better of what is remembered and of what the model says now, which then is what is remembered.

        Better is what lost nothing; else what more could be read of; else what lost less; else the first, so that
        all that followed from it stays. A new reply takes its place only when this is known. Where the model gives
        no reply, the remembered one stands.
        """
        before = _Overheard(self._model, fresh=False)
        first = await _tried(exchange, before)
        if not _lost(first) or not any(reply.remembered for _, reply in before.replies):
            return _value(first)
        now = _Overheard(self._model, fresh=True)
        try:
            second = await _tried(exchange, now)
        except ModelError:
            self._count(unanswered=1)
            return _value(first)
        self._count(healed=not _lost(second))
        if _worth(second) <= _worth(first):
            return _value(first)
        for request, reply in now.replies:
            await self._model.remember(request, reply)
        return _value(second)

    def _count(self, healed: int = 0, unanswered: int = 0) -> None:
        so_far = self.retried
        self.retried = Retried(so_far.asked + 1, so_far.healed + healed, so_far.unanswered + unanswered)


class _Overheard:
    """A model whose replies to one exchange are noted."""

    def __init__(self, model: LanguageModel, fresh: bool) -> None:
        self._model = model
        self._fresh = fresh
        self.replies: list[tuple[Request, Reply]] = []

    async def complete(self, request: Request) -> Reply:
        reply = await self._model.complete(replace(request, fresh=self._fresh))
        self.replies.append((request, reply))
        return reply

    def stream(self, request: Request) -> AsyncIterator[str]:
        return self._model.stream(request)


async def _tried(exchange: Exchange[Value], model: LanguageModel) -> Outcome[Value] | BadAnswer:
    try:
        return await exchange(model)
    except BadAnswer as bad:
        return bad


def _lost(outcome: Outcome[Value] | BadAnswer) -> bool:
    return isinstance(outcome, BadAnswer) or outcome.lost > 0


def _worth(outcome: Outcome[Value] | BadAnswer) -> tuple[bool, int, int]:
    if isinstance(outcome, BadAnswer):
        return (False, 0, -1)
    return (not outcome.lost, outcome.kept, -outcome.lost)


def _value(outcome: Outcome[Value] | BadAnswer) -> Value:
    if isinstance(outcome, BadAnswer):
        raise outcome
    return outcome.value
