"""The chunks of a streamed completion, put together."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prompts.tries import TryAgain

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
            if text:
                self._text.append(text)
                self._hand(text)
            self._finish = choice.finish_reason or self._finish

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

    return (TryAgain, httpx2.HTTPError, openai.APIError, json.JSONDecodeError)
