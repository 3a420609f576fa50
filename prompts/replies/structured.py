"""Asking for structured answers, and asking again.

`ask_for` shows a model its bad answer and asks again. A step that reads more than one answer from a conversation wraps
it in an *exchange*: one call, or a bad reply and the answer to the complaint about it. An ordinary model runs it once.
A `Retrying` model runs it again if a remembered reply dropped parts, and the better outcome is remembered. A step
needs to know nothing else about retrying.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Generic, Literal, Protocol, TypeVar

from conspectus.prompts.client.capabilities import requested_schema
from conspectus.prompts.client.window import Window, window_for
from conspectus.prompts.language_model import LanguageModel, Message, Reply, Request, another_try
from conspectus.prompts.render import render
from conspectus.prompts.replies.thinking import why_unusable, without_thinking
from conspectus.prompts.replies.typed import read_answer, read_choice
from conspectus.storage.errors import BadAnswer, ModelError
from pydantic import BaseModel, create_model

Answer = TypeVar("Answer", bound=BaseModel)
Value = TypeVar("Value")


def read_reply(text: str, schema: type[Answer], *, cut_off: bool = False) -> Answer:
    """Return the answer in a reply, read as JSON, or else by the schema's class method `in_words`, if it has one.

    Raises:
        BadAnswer: Neither can be read; the reason is that for the JSON.
    """
    try:
        return read_answer(text, schema, cut_off=cut_off)
    except BadAnswer:
        read: Callable[[str], Answer | None] | None = getattr(schema, "in_words", None)
        answer = read(text) if read and not cut_off else None
        if answer is None:
            raise
        return answer


async def ask_for(model: LanguageModel, request: Request, schema: type[Answer]) -> Answer:
    """Return a model's answer as an instance of `schema`. A bad answer is shown to it once, with the reason.

    Args:
        model: The model to ask.
        request: The request; its schema is set here.
        schema: A pydantic model. Its class method `in_words`, if it has one, reads a reply that contains no such JSON,
            and returns None if it cannot.

    Raises:
        BadAnswer: The second answer is bad too; the error contains the reply.
        ModelError: What `complete` raises.

    Example:
        >>> import asyncio
        >>> from conspectus.testing import ScriptedModel
        >>> class Person(BaseModel):
        ...     name: str
        >>> request = Request((Message("user", "Who wrote the first program?"),), step="answer")
        >>> asyncio.run(ask_for(ScriptedModel(["Ada", '{"name": "Ada"}']), request, Person))
        Person(name='Ada')
    """

    def read(reply: Reply) -> Answer:
        return read_reply(reply.text, schema, cut_off=reply.is_cut_off)

    return await ask(model, request, schema, read, "")


async def ask(
    model: LanguageModel, request: Request, schema: type[BaseModel], read: Callable[[Reply], Value | None], reason: str
) -> Value:
    """Return the value that `read` finds in a reply, which need not be JSON; ask once more if it finds none.

    Args:
        model: The model to ask.
        request: The request; its schema is set here.
        schema: What servers that enforce schemas are asked for.
        read: Reads a reply; returns None, or raises BadAnswer, if it cannot be used.
        reason: Why a reply without a value cannot be used.

    Raises:
        BadAnswer: The second reply cannot be used either.
        ModelError: What `complete` raises.
    """

    request = replace(request, schema=schema)
    for is_first in (True, False):
        reply = await model.complete(request)
        try:
            if (value := read(reply)) is not None:
                return value
            raise BadAnswer(why_unusable(reply.text, reason), reply.text)
        except BadAnswer as bad:
            if not is_first:
                raise
            again = render("json/again", reason=bad.reason, schema=requested_schema(request))
            request = another_try(request) if reply.is_cut_off else with_complaint(request, bad.raw, again)
    raise AssertionError("the second reply returns or raises")


class CountedModel:
    """A `LanguageModel` that counts its calls, so that a trace can report how many a decision took.

    `failure` is the error of the last call, None if it succeeded. A walk goes on after a failed decision, but one that
    ends so, without an answer, has failed: "I do not know" would hide that.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self.calls = 0
        self.failure: ModelError | None = None

    async def complete(self, request: Request) -> Reply:
        """Return the reply of the model."""
        self.calls += 1
        try:
            reply = await self._model.complete(request)
        except ModelError as error:
            self.failure = error
            raise
        self.failure = None
        return reply

    def window(self, step: str) -> Window:
        """Return the context of the model."""
        return window_for(self._model, step)

    def check(self, *, answered: bool) -> None:
        """Raise the error of the last call if there is no answer."""
        if self.failure is not None and not answered:
            raise self.failure


async def ask_choice(model: LanguageModel, request: Request, choices: Sequence[str], *, reasoned: bool = False) -> str:
    """Return the choice that a model picks: a forced choice, such as the yes or no of a gleaning.

    With `reasoned` the model gives its reason first. A reply that names no choice, or several, is shown to the model
    once with the reason.

    Servers with JSON schemas cannot answer anything else; from others a word in plain text is accepted too. Raises
    BadAnswer if the second reply cannot be used either.
    """
    form = _form(tuple(choices), reasoned=reasoned)

    def read(reply: Reply) -> str:
        try:
            answer: str = read_answer(reply.text, form, cut_off=reply.is_cut_off).answer  # type: ignore[attr-defined]
        except BadAnswer:
            if reply.is_cut_off:
                raise
            answer = read_choice(reply.text, choices)
        return answer

    return await ask(model, request, form, read, "")


@cache
def _form(choices: tuple[str, ...], *, reasoned: bool) -> type[BaseModel]:
    """Return the schema of a choice: one class per set of choices."""
    one_of_them: Any = Literal[choices]
    reason: dict[str, Any] = {"reason": (str, "")} if reasoned else {}
    return create_model("Choice", **reason, answer=(one_of_them, ...))


def with_complaint(request: Request, reply: str, complaint: str) -> Request:
    """Return the request with a reply that could not be used, and why."""
    # Many servers refuse a conversation with an empty model message.
    said = (Message("assistant", reply),) if without_thinking(reply).strip() else ()
    return replace(request, messages=(*request.messages, *said, Message("user", complaint)))


@dataclass(slots=True)
class Usability:
    """Whether a model's replies of one step can be used: if hardly any can, the others are not asked for.

    A small model writes a usable one now and then by chance.
    """

    usable: int = 0
    unusable: int = 0

    @property
    def why_not(self) -> str:
        """Why the model need not be asked again, "" if it may help."""
        hopeless = self.unusable >= max(_GIVES_UP_AFTER, _MOSTLY * self.usable)
        return f"{self.unusable} of {self.unusable + self.usable} replies were unusable" if hopeless else ""


_GIVES_UP_AFTER, _MOSTLY = 5, 4
"""So many unusable replies, and so many for each usable one, are most."""


@dataclass(frozen=True, slots=True)
class ExchangeResult(Generic[Value]):
    """The value of an exchange, and how many of its parts (records, findings) were read and dropped."""

    value: Value
    read: int = 1
    lost: int = 0


Exchange = Callable[[LanguageModel], Awaitable[ExchangeResult[Value]]]
"""Asks a model; raises BadAnswer if the reply cannot be used."""


@dataclass(slots=True)
class Retried:
    """Counts of exchanges that were retried, that then dropped nothing, and that got no reply."""

    asked: int = 0
    healed: int = 0
    unanswered: int = 0


class Remembering(LanguageModel, Protocol):
    """A model that remembers its replies."""

    async def remember(self, request: Request, reply: Reply) -> None:
        """Remember a reply as the one to this request, replacing the remembered one."""
        ...


async def least_lost(model: LanguageModel, exchange: Exchange[Value]) -> Value:
    """Return the value of an exchange; a `Retrying` model is asked again if a remembered reply dropped parts."""
    if isinstance(model, Retrying):
        return await model.least_lost(exchange)
    return (await exchange(model)).value


class Retrying(CountedModel):
    """A `LanguageModel` that is asked once more for remembered replies that dropped parts.

    Failed calls are not remembered, so asking means trying again. `retried` counts the exchanges so far.
    """

    def __init__(self, model: Remembering) -> None:
        super().__init__(model)
        self._remembering = model
        self.retried = Retried()

    async def least_lost(self, exchange: Exchange[Value]) -> Value:
        """Return the better of the remembered outcome and a new one, which is then remembered.

        Better means: dropped nothing; else had more parts read; else dropped fewer; else the remembered one, so that
        results derived from it stay valid. If the model gives no reply, the remembered one counts.
        """
        before, now = _Recorder(self._model, fresh=False), _Recorder(self._model, fresh=True)
        best = await _tried(exchange, before)
        if not _quality(best)[0] and any(reply.remembered for _, reply in before.replies):
            self.retried.asked += 1
            try:
                second = await _tried(exchange, now)
            except ModelError:
                self.retried.unanswered += 1
            else:
                self.retried.healed += _quality(second)[0]
                if _quality(second) > _quality(best):
                    best = second
                    for request, reply in now.replies:
                        await self._remembering.remember(request, reply)
        if isinstance(best, BadAnswer):
            raise best
        return best.value


class _Recorder(CountedModel):
    """A model that records its replies to one exchange."""

    def __init__(self, model: LanguageModel, fresh: bool) -> None:
        super().__init__(model)
        self._fresh = fresh
        self.replies: list[tuple[Request, Reply]] = []

    async def complete(self, request: Request) -> Reply:
        reply = await self._model.complete(replace(request, fresh=self._fresh))
        self.replies.append((request, reply))
        return reply


async def _tried(exchange: Exchange[Value], model: LanguageModel) -> ExchangeResult[Value] | BadAnswer:
    try:
        return await exchange(model)
    except BadAnswer as bad:
        return bad


def _quality(outcome: ExchangeResult[Value] | BadAnswer) -> tuple[bool, int, int]:
    if isinstance(outcome, BadAnswer):
        return (False, 0, -1)
    return (not outcome.lost, outcome.read, -outcome.lost)
