"""Replies of the chat completions API, whole or streamed: their text and their usage."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from conspectus.prompts.client.retry import TryAgain
from conspectus.prompts.language_model import Reply
from conspectus.prompts.replies.runaway import Runaway
from conspectus.prompts.replies.thinking import ANY_MARK, without_thinking

_MOST_TOKENS = 1_000_000_000
"""Reported counts above this are ignored."""


@dataclass(slots=True)
class TokenRate:
    """Tokens per byte of text and per reply, learned from a server's own counts.

    Only for estimates: how much of a rate limit a call will use, and usage that a server does not report.
    """

    per_byte: float = 0.3
    completion: float | None = None

    def learn(self, n_bytes: int, reply: Reply) -> None:
        """Learn from the reply to a prompt of `n_bytes`: an exponential mean over about the last ten."""
        if reply.estimated:
            return
        self.per_byte += 0.1 * (reply.prompt_tokens / max(n_bytes, 1) - self.per_byte)
        before = reply.completion_tokens if self.completion is None else self.completion
        self.completion = before + 0.1 * (reply.completion_tokens - before)

    def expected(self, n_bytes: int, max_tokens: int) -> float:
        """Return the expected tokens of a call; before the first reply, the upper bound."""
        completion = max_tokens if self.completion is None else min(self.completion, max_tokens)
        return n_bytes * self.per_byte + completion


def read_completion(body: Mapping[str, Any], model: str, n_bytes: int, rate: TokenRate) -> Reply:
    """Return the reply in a response body. A refusal counts as text, reasoning alone as thinking that does not end.

    Args:
        body: The parsed body.
        model: The model that was asked.
        n_bytes: UTF-8 bytes of the prompt, to estimate tokens if the body reports no usage.
        rate: Tokens per byte for that estimate.

    Raises:
        TryAgain: The body contains no reply.
    """
    text, finish, thought = _said(body)
    n_answer = len(without_thinking(text) if ANY_MARK.search(text) else text)
    share = 1 - n_answer / max(len(text) + len(thought), 1)
    text = text if text.strip() or not thought else f"<think>{thought}"
    usage = body.get("usage")
    counts = usage if isinstance(usage, Mapping) else {}
    prompt, completion = counts.get("prompt_tokens"), counts.get("completion_tokens")
    if _is_count(prompt) and _is_count(completion):
        details = counts.get("completion_tokens_details")
        reasoning = details.get("reasoning_tokens") if isinstance(details, Mapping) else None
        reasoning = reasoning if _is_count(reasoning) and reasoning else round(share * completion)
        return Reply(text, model, finish, prompt, completion, reasoning_tokens=reasoning)
    n_reply_bytes = len(text.encode("utf-8", "surrogatepass"))
    prompt, completion = round(n_bytes * rate.per_byte), round(n_reply_bytes * rate.per_byte)
    return Reply(text, model, finish, prompt, completion, estimated=True, reasoning_tokens=round(share * completion))


def _said(body: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return the text of a whole completion, why it ended, and its reasoning."""
    try:
        choice = body["choices"][0]
        message = choice["message"]
        text = _joined(message.get("content")) or message.get("refusal") or ""
        finish = choice.get("finish_reason") or "stop"
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        shown = body.get("error") if isinstance(body, Mapping) else None
        raise TryAgain(f"a reply without a choice: {shown or body!r:.200}", taken=True) from error
    if not (isinstance(text, str) and isinstance(finish, str)):
        raise TryAgain(f"a reply that is not text: {text!r:.200}", taken=True)
    return text, finish, _reasoning(message)


def _reasoning(message: Mapping[str, Any]) -> str:
    """Return the reasoning that a server gives apart: vLLM, llama.cpp and DeepSeek under one name, Ollama the other."""
    thought = message.get("reasoning_content") or message.get("reasoning")
    return thought if isinstance(thought, str) else ""


def _joined(content: object) -> object:
    """Return the text of a content given in parts, anything else unchanged."""
    if not isinstance(content, list):
        return content
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= _MOST_TOKENS


class StreamedCompletion:
    """Passes on the text of chunks as they arrive, and assembles the body of the equivalent whole completion.

    Args:
        runaway: Tells when to stop reading.
        on_text: Gets the text piece by piece.

    Attributes:
        tokens: About how many tokens have arrived: chunks, which mostly hold one each.
        ended: Whether no more is to be read, because the reply runs away.
    """

    def __init__(self, runaway: Runaway, on_text: Callable[[str], None] | None = None) -> None:
        self._runaway = runaway
        self._runaway_thought = Runaway(_MOST_TOKENS)
        self._thought: list[str] = []
        self._on_text = on_text
        self._text: list[str] = []
        self._finish: str | None = None
        self._usage: object = None
        self.tokens = 0
        self.ended = False

    def add(self, chunk: Any) -> None:  # noqa: ANN401  (any JSON)
        """Take the next chunk."""
        self.tokens += 1
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            delta = choice.get("delta") or {}
            self._take(delta.get("content") or delta.get("refusal"), choice.get("finish_reason"), _reasoning(delta))

    def add_whole(self, body: Mapping[str, Any]) -> None:
        """Take the body of a server that sends a whole completion instead of a stream."""
        self._usage = body.get("usage")
        self._take(*_said(body))

    def _take(self, text: object, finish: object, thought: str) -> None:
        if not isinstance(text, str | None) or not isinstance(finish, str | None):
            raise TryAgain(f"a piece that is not text: {text!r:.200}", taken=True)
        if thought:
            self._thought.append(thought)
            if why := self._runaway_thought.take(thought):
                finish, self.ended = why, True
        if text:
            self._text.append(text)
            if self._on_text:
                self._on_text(text)
            if why := self._runaway.take(text):
                finish, self.ended = why, True
        self._finish = finish or self._finish

    def body(self) -> dict[str, Any]:
        """Return the body of the whole completion; TryAgain if the stream ended without a finish reason."""
        if self._finish is None:
            raise TryAgain("the stream ended without a finish reason", taken=True)
        text = "".join(self._text)
        whole = self._finish != "loop" or not text
        message = {"content": text if whole else text[: self._runaway.kept], "reasoning": "".join(self._thought)}
        return {"choices": [{"message": message, "finish_reason": self._finish}], "usage": self._usage}


def stream_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of a broken stream: connections that drop, errors in it, chunks of the wrong shape."""
    import httpx2
    import openai

    wrong_shape = (json.JSONDecodeError, UnicodeDecodeError, RecursionError, AttributeError, TypeError, LookupError)
    return (TryAgain, httpx2.HTTPError, openai.APIError, *wrong_shape)
