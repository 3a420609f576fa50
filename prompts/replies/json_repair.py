"""The JSON values in a model's reply: parsed strictly, or repaired if only their punctuation is wrong."""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import NoReturn, TypeVar

from conspectus.prompts.replies.json_lexer import Lexed, Token, lex
from conspectus.prompts.replies.thinking import ANY_MARK, after_thinking

Decoded = TypeVar("Decoded")

LONGEST_REPAIRED = 500_000
"""Characters: a longer text that is not strict JSON is not repaired."""
MOST_VALUES = 200
"""A reply with more values than this is not an answer."""

_FIELD_MARK = re.compile(r"\[\[ ?## (\w{1,40}) ## ?\]\]")
"""The members of an object in the form of DSPy's prompts: [[ ## answer ## ]] and what follows it."""
_HTML = re.compile(r"\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_START = re.compile(
    r"\{(?=\s*+(?:\Z|```|~~~|[\"'“”‘’}]|/[/*]|[A-Za-z_]\w*+\s*+:))"
    r"|\[(?=\s*+(?:\Z|```|~~~|[\"'“”‘’{\[\]\d]|-\d|/[/*]|(?:true|false|null|True|False|None)\b))"
)
_FENCES = re.compile(r"\s*+(?:(?:`{3,}|~{3,})[ \t]*+(?:json\w*+)?\s*+)*+", re.IGNORECASE)
_INSIDE_BEFORE = re.compile(r"(?:[\"'”’]\s*[:,]?|^\s*,)\s*$")
_INSIDE_AFTER = re.compile(r"\s*+[\"',:}\]]")
_SURROGATE = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2}|[\ud800-\udfff])|\\.",
    re.DOTALL,
)
_HAS_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_ASTRAY = "it is unclear which part of it is thinking"
_BRACKET = (Token("}", "}", 0, 0),)
_LITERALS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}


@dataclass(frozen=True, slots=True)
class Value:
    """One JSON value of a reply; `alone` if only a fence surrounds it."""

    content: object
    alone: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """A value that is not closed.

    `complete` is the value of what is certainly complete: the elements of the outermost list before the cut, or else
    the members of the outermost object. `closed` is the whole value if only closing braces are missing; `path` then
    lists the keys from the outermost to the innermost of these objects.
    """

    complete: Value | None = None
    closed: Value | None = None
    path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class JsonReading:
    """The values of a reply in order, the part cut off (None: nothing), and why it cannot be trusted ("": it can)."""

    values: tuple[Value, ...] = ()
    cut: Cut | None = None
    flaw: str = ""


class _UnreadableError(ValueError):
    """There is a value but its reading is uncertain; `end` is where it ends, None if unknown."""

    def __init__(self, reason: str, end: int | None = None) -> None:
        super().__init__(reason)
        self.end = end


def read_values(reply: str) -> JsonReading:
    """Return the JSON values of a reply, without the thinking, prose and fences around them.

    A value that is not strict JSON is repaired only if its content stays exactly the same. Half of a surrogate pair,
    which no file can store, is read as U+FFFD.

    >>> read_values("Here you are: {'a': [1, 2,]} Anything else?").values[0].content
    {'a': [1, 2]}
    """
    text = _without_lone_surrogates(reply.strip().removeprefix("\ufeff").strip())
    try:
        return JsonReading((Value(_decode(text), alone=True),))
    except json.JSONDecodeError:
        pass
    except _UnreadableError as unreadable:
        return JsonReading(flaw=str(unreadable))
    answer = after_thinking(text)
    if answer is None:
        return JsonReading(cut=Cut())
    _, *fields = _FIELD_MARK.split(answer)
    marked = {key: value.strip() for key, value in zip(fields[::2], fields[1::2], strict=True) if value.strip()}
    if marked:
        return JsonReading((Value(marked, alone=True),))
    if _HTML.match(answer):
        return JsonReading(flaw="an HTML page, not JSON")
    return _read_all(answer)


def _without_lone_surrogates(text: str) -> str:
    if not _HAS_SURROGATE.search(text):
        return text
    return _SURROGATE.sub(lambda match: r"\ufffd" if match["lone"] else match[0], text)


def _read_all(text: str) -> JsonReading:
    found: list[tuple[int, int, object]] = []
    flaw = ""
    at = 0
    while (match := _START.search(text, at)) is not None:
        start = match.start()
        if ANY_MARK.search(text, at, start):
            return JsonReading(flaw=_ASTRAY)
        if len(found) == MOST_VALUES:
            return JsonReading(flaw=f"more than {MOST_VALUES} JSON values")
        try:
            value = _value_at(text, start, at)
        except _UnreadableError as unreadable:
            if match[0] == "{" or unreadable.end is None:
                return JsonReading(flaw=str(unreadable))
            flaw, at = flaw or str(unreadable), unreadable.end  # brackets in prose may enclose anything
            continue
        if isinstance(value, Lexed):
            return JsonReading(_placed(text, found), _cut(text, start, value))
        content, at = value
        found.append((start, at, content))
    if found and ANY_MARK.search(text, at):
        return JsonReading(flaw=_ASTRAY)
    return JsonReading(_placed(text, found), flaw="" if found else flaw)


def _placed(text: str, found: list[tuple[int, int, object]]) -> tuple[Value, ...]:
    if len(found) != 1:
        return tuple(Value(content, alone=False) for _, _, content in found)
    start, end, content = found[0]
    return (Value(content, alone=bool(_FENCES.fullmatch(text, 0, start) and _FENCES.fullmatch(text, end))),)


def _value_at(text: str, start: int, before: int) -> tuple[object, int] | Lexed:
    """Return the value that starts at `start` and where it ends, or its tokens if it is cut."""
    try:
        content, end = _checked(lambda: _DECODER.raw_decode(text, start))
    except json.JSONDecodeError:
        if len(text) - start > LONGEST_REPAIRED:
            raise _UnreadableError("not JSON, and too long to be repaired") from None
        lexed = lex(text, start)
        if lexed.state == "wrong":
            raise _UnreadableError(f"not JSON: {lexed.why}") from None
        if lexed.state == "cut":
            return lexed
        end = lexed.end
        content = _repaired(lexed.tokens, end)
    if _INSIDE_BEFORE.search(text[max(before, start - 40) : start]) or _INSIDE_AFTER.match(text, end):
        raise _UnreadableError("not JSON: a value in it is part of a larger one that is incomplete", end)
    return content, end


def _cut(text: str, start: int, lexed: Lexed) -> Cut:
    """Return the certain parts of a value that is not closed."""
    tokens, unclosed = lexed.tokens, lexed.unclosed
    if _INSIDE_BEFORE.search(text[max(0, start - 40) : start]) or not all(token.plain for token in tokens):
        return Cut()
    alone = bool(_FENCES.fullmatch(text, 0, start))
    closed: Value | None = None
    path: tuple[str, ...] = ()
    if lexed.whole and _is_complete(tokens[-1]) and all(tokens[i].kind == "{" for i in unclosed):
        try:
            closed = Value(_repaired((*tokens, *_BRACKET * len(unclosed)), None), alone)
            path = tuple(tokens[i - 2].text for i in unclosed[1:])
        except _UnreadableError:
            closed = None
    return Cut(_complete_part(text, start, lexed, alone), closed, path)


def _complete_part(text: str, start: int, lexed: Lexed, alone: bool) -> Value | None:
    tokens, unclosed = lexed.tokens, lexed.unclosed
    level = next((level for level, i in enumerate(unclosed) if tokens[i].kind == "["), 0)
    end = _last_member_end(lexed, level)
    part = text[start:end] + "".join("]" if tokens[i].kind == "[" else "}" for i in reversed(unclosed[: level + 1]))
    try:
        return Value(_decode(part), alone)
    except json.JSONDecodeError:
        pass
    except _UnreadableError:
        return None
    again = lex(part, 0)
    try:
        return Value(_repaired(again.tokens, None), alone) if again.state == "closed" else None
    except _UnreadableError:
        return None


def _last_member_end(lexed: Lexed, level: int) -> int:
    """Return the offset after the last complete member of the unclosed bracket at nesting depth `level`."""
    tokens, opening = lexed.tokens, lexed.unclosed[level]
    end, depth = tokens[opening].end, 0
    for i in range(opening + 1, len(tokens)):
        depth += (tokens[i].kind in "{[") - (tokens[i].kind in "}]")
        if depth == 0 and tokens[i].kind == ",":
            end = tokens[i - 1].end
    last = tokens[-1]
    if depth or not lexed.whole or last.kind not in ("string", "}", "]"):
        return end
    is_value = last.kind != "string" or tokens[opening].kind == "[" or tokens[-2].kind == ":"
    return last.end if is_value else end


def _is_complete(token: Token) -> bool:
    """Return whether the token is certainly complete: a number may be half of a longer one."""
    return token.kind in ("string", "}", "]") or token.text in _LITERALS


def _repaired(tokens: Sequence[Token], end: int | None) -> object:
    """Return the value of the tokens; none is dropped, changed or added except as `to_json_text` says."""
    for token, after in zip_longest(tokens, tokens[1:]):
        is_key = after is not None and after.kind == ":"
        if token.kind == "word" and not (is_key or token.text in _LITERALS or _NUMBER.fullmatch(token.text)):
            raise _UnreadableError(f"not JSON: {token.text[:50]!r} in it is not in quotation marks", end)
    try:
        return _decode(to_json_text(tokens))
    except json.JSONDecodeError as error:
        raise _UnreadableError("not JSON, and cannot be repaired with certainty", end) from error


def to_json_text(tokens: Sequence[Token]) -> str:
    """Return the tokens in JSON's spelling, one for one; the result may still not be JSON.

    Keys and strings get double quotes; Python's literals become JSON's. A comma is dropped before a closing bracket,
    and added next to a bracket if one is missing there.

    >>> to_json_text(lex("[{'a': True,} {b: 'c'}]", 0).tokens)
    '[ { "a" : true } , { "b" : "c" } ]'
    """
    parts: list[str] = []
    for i, token in enumerate(tokens):
        before = tokens[i - 1].kind if i else ","
        after = tokens[i + 1].kind if i + 1 < len(tokens) else ""
        if token.kind == "," and after in ("}", "]") and before not in ("{", "[", ","):
            continue
        closes_before, opens_here = before in ("}", "]"), token.kind in ("{", "[")
        if (closes_before and (opens_here or token.kind in ("string", "word"))) or (
            opens_here and before in ("string", "word")
        ):
            parts.append(",")
        is_text = token.kind == "string" or (token.kind == "word" and after == ":")
        parts.append(json.dumps(token.text) if is_text else _LITERALS.get(token.text, token.text))
    return " ".join(parts)


def _decode(text: str) -> object:
    """Return the value of strict JSON; raw line breaks in strings, which are unambiguous, are allowed."""
    return _checked(lambda: _DECODER.decode(text))


def _checked(decode: Callable[[], Decoded]) -> Decoded:
    try:
        return decode()
    except (json.JSONDecodeError, _UnreadableError):
        raise
    except RecursionError as error:
        raise _UnreadableError("it is nested too deeply") from error
    except ValueError as error:  # an integer with more digits than Python reads
        raise _UnreadableError("it holds a number that is too long") from error


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        for key, member in pairs:
            if repr(member) != repr(members[key]):
                raise _UnreadableError(f"it gives the key {key[:50]!r} twice with different values")
    return members


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise _UnreadableError("it holds a number that is too large")
    return number


def _no_constant(name: str) -> NoReturn:
    raise _UnreadableError(f"it holds {name}, which is not JSON")


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_object, parse_float=_float, parse_constant=_no_constant)
