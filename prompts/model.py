"""What a language model is to everything else: a request in, a reply out, whatever serves it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a model.

    `step` names the work it is part of, for accounting. `schema` asks for JSON of that form. `max_tokens` bounds
    the answer, None for `llm.max_output_tokens`. `sample` numbers the samples where several are drawn of one
    prompt. `sources` are the hashes of the chunks that the messages were made from: what a remembered reply
    depends on. `fresh` asks the server even where a reply is remembered, and leaves that one in its place.
    """

    messages: tuple[Message, ...]
    step: str
    schema: type[BaseModel] | None = None
    max_tokens: int | None = None
    temperature: float = 0.0
    sample: int = 0
    sources: tuple[str, ...] = ()
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered.

    `finish` is why it ended: "stop", "length" (cut off at max_tokens) or what else the server says. The tokens are
    the server's own count (`estimated` where it gives none). A remembered reply cost nothing this time; its tokens
    are those of the first time.
    """

    text: str
    model: str
    finish: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False
    remembered: bool = False


class LanguageModel(Protocol):
    """Anything that answers requests."""

    async def complete(self, request: Request) -> Reply:
        """Return the reply; ModelRefused, ModelUnavailable or BudgetReached where there is none."""
        ...

    def stream(self, request: Request) -> AsyncIterator[str]:
        """Yield the reply piece by piece as it is made; the pieces together are the text of `complete`."""
        ...
