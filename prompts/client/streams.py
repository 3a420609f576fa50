"""The chunks of a streamed completion, put together."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from conspectus.prompts.client.retry import TryAgain

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionChunk


class Pieces:
    """Hands the text of chunks on as it comes, and keeps what the body of a whole completion would hold."""

    def __init__(self, hand: Callable[[str], None]) -> None:
        self._hand = hand
        self._text: list[str] = []
        self._finish: str | None = None
        self._usage: dict[str, Any] | None = None

    @property
    def handed(self) -> bool:
        """Whether any text has been handed on."""
        return bool(self._text)

    def take(self, chunk: "ChatCompletionChunk") -> None:
        """Take the next chunk."""
        if chunk.usage:
            self._usage = chunk.usage.to_dict()
        for choice in chunk.choices or ():
            text = (choice.delta.content or choice.delta.refusal) if choice.delta else None
            self._take(text, choice.finish_reason)

    def take_whole(self, body: Mapping[str, Any]) -> None:
        """Take the body of a server that answers whole although it was asked for a stream."""
        choice = body["choices"][0]
        self._usage = body.get("usage")
        self._take(choice["message"].get("content"), choice.get("finish_reason") or "stop")

    def _take(self, text: str | None, finish: str | None) -> None:
        if not isinstance(text, str | None) or not isinstance(finish, str | None):
            raise TryAgain(f"a piece that is no text: {text!r:.200}", taken=True)
        if text:
            self._text.append(text)
            self._hand(text)
        self._finish = finish or self._finish

    def body(self) -> dict[str, Any]:
        """Return the body of the same completion without a stream; TryAgain where the stream did not end well."""
        if self._finish is None:
            raise TryAgain("the stream ended without saying that it is done", taken=True)
        choice = {"message": {"content": "".join(self._text)}, "finish_reason": self._finish}
        return {"choices": [choice], "usage": self._usage}


def broken_stream() -> tuple[type[Exception], ...]:
    """Return what is raised where a connection breaks while chunks come, where they tell an error or make no whole."""
    import httpx2
    import openai

    wrong_shape = (json.JSONDecodeError, UnicodeDecodeError, RecursionError, AttributeError, TypeError, LookupError)
    return (TryAgain, httpx2.HTTPError, openai.APIError, *wrong_shape)
