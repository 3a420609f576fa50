"""The interface to language models: a request in, a reply out, independent of the server."""

from dataclasses import dataclass, replace
from typing import Literal, Protocol

from pydantic import BaseModel

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a model.

    Attributes:
        messages: The conversation.
        step: Name of the step that asks, for accounting and for `llm.step_models`.
        schema: A pydantic model whose JSON schema the reply must follow; None for free text.
        max_tokens: Bound on the reply; None for `llm.max_output_tokens`.
        temperature: Sampling temperature.
        frequency_penalty: How much words that the reply already has are avoided, where the server supports it.
        sample: Number of the sample, if several are drawn for one prompt.
        sources: Hashes of the chunks that the messages were made from; a remembered reply depends on them.
        fresh: Ask the server even if a reply is remembered, and do not replace that reply.
    """

    messages: tuple[Message, ...]
    step: str
    schema: type[BaseModel] | None = None
    max_tokens: int | None = None
    temperature: float = 0.0
    frequency_penalty: float = 0.0
    sample: int = 0
    sources: tuple[str, ...] = ()
    fresh: bool = False


def another_try(request: Request) -> Request:
    """Return a request sampled otherwise, after a reply that ran away or did not come.

    >>> another_try(Request((Message("user", "Who?"),), "answer")).temperature
    0.7
    """
    return replace(request, temperature=max(request.temperature, 0.7), frequency_penalty=0.5, sample=request.sample + 1)


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply.

    Attributes:
        text: Its text.
        model: Name of the model.
        finish: Why it ended: "stop", "length" (cut off at `max_tokens`, or far longer than the step needs), "loop" (it
            repeated itself; the text ends before that), or another reason that the server gives.
        prompt_tokens: Tokens of the prompt by the server's count.
        completion_tokens: Tokens of the reply by the server's count.
        estimated: The token counts are estimates, since the server reports none.
        remembered: The reply was remembered and cost nothing; its token counts are those of the original call.
        reasoning_tokens: Of the tokens of the reply, those before its answer, by the server's count or their share of
            the text.
    """

    text: str
    model: str
    finish: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False
    remembered: bool = False
    reasoning_tokens: int = 0

    @property
    def is_cut_off(self) -> bool:
        """Whether the reply ended before it was complete."""
        return self.finish in ("length", "loop")


class LanguageModel(Protocol):
    """Anything that answers requests: `ModelClient`, or `conspectus.testing.ScriptedModel` in tests."""

    async def complete(self, request: Request) -> Reply:
        """Return the reply to a request.

        Raises:
            ModelRefused: The model refuses the request.
            ModelUnavailable: The model gives no reply.
            BudgetReached: The budget does not allow the call.
        """
        ...
