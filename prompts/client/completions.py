"""The bodies of chat completions: what a reply says, and what it took."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from conspectus.prompts.client.retry import TryAgain
from conspectus.prompts.model import Reply

_MOST_TOKENS = 1_000_000_000
"""No reply takes more: a server that says so does not count."""


@dataclass(slots=True)
class Rate:
    """How many tokens a server makes of a byte of text, and of an answer, learned from its own counts.

    Both are for estimates only: how long a call will keep a limiter busy, and usage that a server does not tell.
    """

    of_a_byte: float = 0.3
    completion: float | None = None

    def learn(self, n_bytes: int, reply: Reply) -> None:
        """Take a reply to a prompt of `n_bytes` into account: an exponential mean over about the last ten."""
        if reply.estimated:
            return
        self.of_a_byte += 0.1 * (reply.prompt_tokens / max(n_bytes, 1) - self.of_a_byte)
        before = reply.completion_tokens if self.completion is None else self.completion
        self.completion = before + 0.1 * (reply.completion_tokens - before)

    def expected(self, n_bytes: int, max_tokens: int) -> float:
        """Return about how many tokens a call takes; until a reply has come, as many as it may."""
        completion = max_tokens if self.completion is None else min(self.completion, max_tokens)
        return n_bytes * self.of_a_byte + completion


def read_completion(body: Mapping[str, Any], model: str, n_bytes: int, rate: Rate) -> Reply:
    """Return the reply that a body holds; TryAgain where it holds none.

    A refusal counts as the text. Tokens are estimated where the body tells no usage.
    """
    try:
        choice = body["choices"][0]
        message = choice["message"]
        text = _joined(message.get("content")) or message.get("refusal") or ""
        finish = choice.get("finish_reason") or "stop"
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        says = body.get("error") if isinstance(body, Mapping) else None
        raise TryAgain(f"a reply without a choice: {says or body!r:.200}", taken=True) from error
    if not (isinstance(text, str) and isinstance(finish, str)):
        raise TryAgain(f"a reply that is no text: {text!r:.200}", taken=True)
    return reply_of(text, model, finish, body.get("usage"), n_bytes, rate)


def _joined(content: object) -> object:
    """Return the text of a content that comes in parts, anything else as it is."""
    if not isinstance(content, list):
        return content
    return "".join(str(each.get("text", "")) for each in content if isinstance(each, Mapping))


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _MOST_TOKENS


def reply_of(text: str, model: str, finish: str, usage: object, n_bytes: int, rate: Rate) -> Reply:
    """Return a reply with the tokens that the server tells, or with estimates."""
    told = usage if isinstance(usage, Mapping) else {}
    prompt, completion = told.get("prompt_tokens"), told.get("completion_tokens")
    if _is_count(prompt) and _is_count(completion):
        return Reply(text, model, finish, prompt, completion)
    n_written = len(text.encode("utf-8", "surrogatepass"))
    return Reply(
        text, model, finish, round(n_bytes * rate.of_a_byte), round(n_written * rate.of_a_byte), estimated=True
    )
