"""The thinking of a reasoning model, which some servers leave in the reply, and what follows it.

Blocks are <think>...</think> and the like, and the channels of gpt-oss, also with their marks dropped
("analysis...assistantfinal..."). A reply whose thinking does not end holds no answer.
"""

import re

_TAGS = "think|thinking|thought|thoughts|reasoning|reasoning_content|reflection"
_OPENS = rf"<(?:{_TAGS})>|\[THINK\]|◁think▷|<\|channel\|>\s*+(?:analysis|commentary)"
_CLOSES = rf"</(?:{_TAGS})>|\[/THINK\]|◁/think▷|<\|channel\|>\s*+final(?:[^<]|<\|constrain\|>){{0,120}}+<\|message\|>"
_TOP = re.compile(rf"\s*(?:(?:<\|start\|>)?assistant)?(?:{_OPENS})", re.IGNORECASE)
_TAIL = re.compile(_CLOSES, re.IGNORECASE)
ANY_MARK = re.compile(f"{_OPENS}|{_CLOSES}", re.IGNORECASE)
"""Where thinking begins or ends."""
_END_OF_TURN = re.compile(r"<\|(?:end|return|call|start)\|>")
_FINAL_ALONE = re.compile(
    r"\s*(?:<\|start\|>assistant)?<\|channel\|>\s*+final(?:[^<]|<\|constrain\|>){0,120}+<\|message\|>"
)
_RUN_TOGETHER = re.compile(r"\s*analysis(?=[A-Z])")
_RUN_TOGETHER_ENDS = re.compile(r"assistant\s?final(?!ly)")
_LONGEST_MARK = 200
"""Characters of a mark that closes thinking, with what stands in it."""
_MAY_OPEN = tuple(
    opening.casefold()
    for opening in (
        *(f"<{tag}>" for tag in _TAGS.split("|")),
        "[THINK]",
        "◁think▷",
        "<|channel|>analysis",
        "<|channel|>commentary",
        "<|channel|>final<|message|>",
        "<|start|>assistant<|channel|>analysis",
        "assistant<|channel|>analysis",
        "assistant<think>",
        "analysisX",
    )
)


def after_thinking(text: str) -> str | None:
    """Return what follows the thinking in a reply, None where the thinking does not end.

    >>> after_thinking("<think>Two and two.</think>4"), after_thinking("4"), after_thinking("<think>Two and")
    ('4', '4', None)
    """
    if _RUN_TOGETHER.match(text) and (end := _RUN_TOGETHER_ENDS.search(text)):
        return text[end.end() :]
    opened = _TOP.match(text) or _FINAL_ALONE.match(text)
    if not opened and text.lstrip().startswith(("{", "[", "```", "~~~")):
        return text  # a closing tag further on is part of the answer
    end_of_it = None
    for match in _TAIL.finditer(text):
        end_of_it = match.end()
    if end_of_it is None:
        return None if opened else text
    return _END_OF_TURN.split(text[end_of_it:], maxsplit=1)[0]


def without_thinking(reply: str) -> str:
    """Return what follows the thinking of a reasoning model; nothing where the thinking does not end."""
    return after_thinking(reply) or ""


class ThinkingStream:
    """Leaves the thinking out of a reply that arrives in pieces. `open` tells that it has not ended."""

    def __init__(self) -> None:
        self._waiting = ""
        self._state = "start"
        self._close = _TAIL
        self._read = 0

    @property
    def open(self) -> bool:
        """Whether the reply is still thinking."""
        return self._state == "thinking"

    def take(self, piece: str, *, whole: bool = False) -> str:
        """Return what is no thinking; `whole` tells that nothing follows this piece."""
        if self._state == "answer":
            return piece
        self._waiting += piece
        if self._state == "start":
            if _FINAL_ALONE.match(self._waiting):
                self._state = "thinking"
            elif not whole and self._may_open():
                return ""
            elif _RUN_TOGETHER.match(self._waiting):
                self._state, self._close = "thinking", _RUN_TOGETHER_ENDS
            else:
                self._state = "thinking" if _TOP.match(self._waiting) else "answer"
        if self._state == "thinking":
            end = self._close.search(self._waiting, max(0, self._read - _LONGEST_MARK))
            if end is None:
                self._read = len(self._waiting)
                return ""
            self._state, self._waiting = "answer", self._waiting[end.end() :]
        text, self._waiting = self._waiting, ""
        return text

    def _may_open(self) -> bool:
        """Return whether the text so far may become a mark that opens thinking."""
        text = re.sub(r"\s", "", self._waiting[:80]).casefold()
        return not text or any(opening.startswith(text) for opening in _MAY_OPEN)
