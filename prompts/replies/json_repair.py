"""The JSON values in a model's reply: strict JSON, or JSON in Python's spelling, also if the reply is cut off."""

import json
import math
import re
import string
from dataclasses import dataclass

import jiter
from conspectus.prompts.replies.thinking import ANY_MARK, after_thinking

MOST_VALUES = 200
"""A reply with more values than this is not an answer."""
_START = re.compile(
    r"\{(?=\s*+(?:\Z|```|~~~|[\"'“‘}]|/[/*]|[A-Za-z_]\w*+\s*+:))"
    r"|\[(?=\s*+(?:\Z|```|~~~|[\"'“‘{\[\]\d]|-\d|/[/*]|(?:true|false|null|True|False|None)\b))"
)
_FENCES = re.compile(r"\s*+(?:(?:`{3,}|~{3,})[ \t]*+(?:json\w*+)?\s*+)*+", re.IGNORECASE)
_INSIDE_BEFORE = re.compile(r"(?:[\"'”’]\s*[:,]?|^\s*,)\s*$")
_INSIDE_AFTER = re.compile(r"\s*+[\"',:}\]]")
_SURROGATE = re.compile(
    r"(?s)\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2}|[\ud800-\udfff])|\\."
)
_TOKEN = re.compile(
    r"\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|“(?:[^“”\\]|\\.)*+”|[{}\[\]\"'“]|,(?=\s*+[}\]])|```|~~~"
    r"|\b(?:True|False|None)\b",
    re.DOTALL,
)
_CUTS = {'"': "0", "'": "0", "“": "0", "```": "", "~~~": ""}  # half a string is left out as half a number is
_SPELLING = {"True": "true", "False": "false", "None": "null", ",": ""}
_ESCAPES = {"\\'": "'", '"': '\\"', **{chr(code): f"\\u{code:04x}" for code in range(32)}}
_TO_ESCAPE = re.compile(r"\\.|[\"\x00-\x1f]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Value:
    """One JSON value of a reply; `alone` if only a fence surrounds it."""

    content: object
    alone: bool


@dataclass(frozen=True, slots=True)
class JsonReading:
    """The values of a reply in order, whether one after them is cut off, and why none can be trusted ("": they can).

    `complete` is what is certainly complete in the value that is cut off: the elements of its outermost list, or else
    the members of its outermost object.
    """

    values: tuple[Value, ...] = ()
    cut: bool = False
    complete: Value | None = None
    flaw: str = ""

    @property
    def contents(self) -> list[object]:
        """The contents of the values, what is complete in the last one included."""
        last = (self.complete,) if self.complete else ()
        return [value.content for value in (*self.values, *last)]


def read_values(reply: str) -> JsonReading:
    """Return the JSON values of a reply, without the thinking, prose and fences around them.

    A value may also have curly quotes, Python's quotes and literals, and commas before closing brackets. Half of a
    surrogate pair, which no file can store, is read as U+FFFD.

    >>> read_values("Here you are: {'a': [1, 2,]} Anything else?").values[0].content
    {'a': [1, 2]}
    """
    text = reply.strip().removeprefix("\ufeff").strip()
    text = _SURROGATE.sub(lambda match: r"\ufffd" if match["lone"] else match[0], text)
    try:
        return JsonReading((Value(_DECODER.decode(text), alone=True),))
    except (ValueError, RecursionError):
        answer = after_thinking(text)
    if answer is None:
        return JsonReading(cut=True)
    if re.match(r"\s*<(?:!doctype\s+html|html)\b", answer, re.IGNORECASE):
        return JsonReading(flaw="an HTML page, not JSON")
    return _read_all(answer)


def _read_all(text: str) -> JsonReading:
    values, at = list[Value](), 0
    while (match := _START.search(text, at)) is not None and not ANY_MARK.search(text, at, match.start()):
        start = match.start()
        if len(values) == MOST_VALUES:
            return JsonReading(flaw=f"more than {MOST_VALUES} JSON values")
        inside = _INSIDE_BEFORE.search(text[max(at, start - 40) : start])
        try:
            content, end = _value_at(text, start)
        except (ValueError, RecursionError) as error:
            return JsonReading(flaw=f"not JSON: {error}")
        value = Value(content, bool(_FENCES.fullmatch(text, 0, start) and _FENCES.fullmatch(text, end or len(text))))
        if end is None:
            return JsonReading(tuple(values), cut=True, complete=None if inside else value)
        if inside or _INSIDE_AFTER.match(text, end):
            return JsonReading(flaw="not JSON: a value in it is part of a larger one that is incomplete")
        values, at = [*values, value], end
    if (match or values) and ANY_MARK.search(text, at):
        return JsonReading(flaw="it is unclear which part of it is thinking")
    return JsonReading(tuple(values))


def _value_at(text: str, start: int) -> tuple[object, int | None]:
    """Return the value that starts at `start` and where it ends, or what is complete in it and None if it is cut."""
    try:
        return _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        at, parts = start, list[str]()
    if len(text) - start > 500_000:
        raise ValueError("it is too long to be repaired")
    unclosed: list[tuple[str, int]] = []  # each bracket and the number of parts before it
    for match in _TOKEN.finditer(text, start):
        token = match[0]
        parts.append(text[at : match.start()])
        at = match.end()
        if token in _CUTS:
            return _complete([*parts, _CUTS[token]], unclosed), None
        if token in ("{", "["):
            unclosed.append((token, len(parts)))
        elif token in ("}", "]") and unclosed.pop()[0] + token not in ("{}", "[]"):
            raise ValueError("its brackets do not match")
        elif token[0] in "\"'“":
            token = f'"{_TO_ESCAPE.sub(lambda found: _ESCAPES.get(found[0], found[0]), token[1:-1])}"'
        parts.append(_SPELLING.get(token, token))
        if not unclosed:
            return _DECODER.decode("".join(parts)), at
    return _complete([*parts, text[at:]], unclosed), None


def _complete(parts: list[str], unclosed: list[tuple[str, int]]) -> object:
    """Return what is complete in a value that is cut: not a number at its end, which may be half of a longer one."""
    full = "".join(parts).rstrip()
    text = full.rstrip(string.ascii_letters + string.digits + ".+-").rstrip()
    if text != full and text[-1] not in "{[,:":
        raise ValueError("it continues after a value without a comma")
    try:
        _DECODER.decode(text)
    except json.JSONDecodeError as error:
        if error.pos < len(text.rstrip(", \n")):  # jiter reads "[1 2" as if it were cut after the 1
            raise
    inner = unclosed[next((level for level, (bracket, _) in enumerate(unclosed) if bracket == "["), 0) + 1 :]
    part = "".join(parts[: inner[0][1]]) if inner else text
    return jiter.from_json(part.encode(), partial_mode=True, catch_duplicate_keys=True)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if any(repr(member) != repr(members[key]) for key, member in pairs):
        raise ValueError("it gives a key twice with different values")
    return members


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"it holds {digits[:50]}, which is no finite number")
    return number


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_object, parse_float=_finite, parse_constant=_finite)
"""Reads strict JSON; raw line breaks in strings, which are unambiguous, are allowed."""
