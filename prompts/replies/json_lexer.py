"""A lexer for almost-JSON.

It accepts more tokens than JSON (single and typographic quotes, bare words, comments, unescaped quotes inside a string)
but is strict about their meaning: a text has one sequence of tokens, or is "wrong". Nothing is guessed, so that a
repair of the text can be checked against its tokens.
"""

import json
import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

DEEPEST = 64
"""Most levels of nested brackets."""

Kind = Literal["{", "}", "[", "]", ":", ",", "string", "word"]

_BRACKETS: dict[str, Kind] = {"{": "}", "[": "]"}
_CLOSING = {'"': '"', "'": "'", "“": "“”", "”": "”", "‘": "‘’", "’": "’"}
_TOKEN = re.compile(
    r"\s*+(?:(?P<mark>[{}\[\],:])|(?P<quote>[\"'“”‘’])|(?P<line>//[^\n]*)|(?P<block>/\*)|(?P<fence>```|~~~)|(?P<word>[\w.+\-$]+))"
)
_BODY = {
    opening: re.compile(rf"(?:[^\\{closing}]++|\\.)*+", re.DOTALL)  # possessive: a long string costs no memory
    for opening, closing in _CLOSING.items()
}
_ENDS_A_STRING = re.compile(r"\s*+(?:[,:}\]]|//|/\*|```|~~~|\Z)")
_LIKE_JSON = re.compile(
    r"[\"'”’]\s*+[,:]\s*+[\"'“‘]"  # between two strings
    r"|[,:{\[]\s*+[\"'“‘][^\"'“”‘’]*+[\"'”’]\s*+[,:}\]]"  # around one
)
_TO_ESCAPE = re.compile(r"\\x([0-9A-Fa-f]{2})|\\(.)|\"", re.DOTALL)


class Token(NamedTuple):
    """A punctuation mark (`kind` is the mark), a string (`text` is unescaped) or a bare word.

    `start` and `end` are offsets in the text. `plain` is false for a string with unescaped quotes inside.
    """

    kind: Kind
    text: str
    start: int
    end: int
    plain: bool = True


@dataclass(frozen=True, slots=True)
class Lexed:
    """The tokens of one bracketed value.

    `state` is "closed" (with its last bracket), "cut" (the text, or the fence around it, ends earlier) or "wrong"
    (`why` gives the reason). `unclosed` lists the positions in `tokens` of the brackets still open, outermost first.
    `end` is the offset after the last token; `whole` is false if the text ends inside a token.
    """

    tokens: tuple[Token, ...]
    state: Literal["closed", "cut", "wrong"]
    unclosed: tuple[int, ...] = ()
    whole: bool = True
    why: str = ""

    @property
    def end(self) -> int:
        """The offset after the last token."""
        return self.tokens[-1].end


class _WrongError(Exception):
    """The tokens of the text are uncertain."""


class _CutError(Exception):
    """The text ends inside a token."""


def lex(text: str, start: int) -> Lexed:
    """Return the tokens from the bracket at `start` to the one that closes it; linear in the length.

    >>> [token.text for token in lex("see {'a': [1, True,]} there", 4).tokens]
    ['{', 'a', ':', '[', '1', ',', 'True', ',', ']', '}']
    >>> lex('{"a": [1, 2', 0).state, lex('{"a": 1]', 0).state
    ('cut', 'wrong')
    """
    tokens: list[Token] = []
    unclosed: list[int] = []
    comments: list[str] = []
    state: Literal["closed", "cut", "wrong"]
    whole, why = True, ""
    try:
        state = _collect(text, start, tokens, unclosed, comments)
    except _CutError:
        state, whole = "cut", False
    except _WrongError as wrong:
        state, why = "wrong", str(wrong)
    # A comment with an odd number of quotes is more likely part of a string that lacks its own quote.
    quotes = {'"'} | {text[token.start] for token in tokens if token.kind == "string"}
    if any(comment.count(quote) % 2 for comment in comments for quote in quotes):
        state, why = "wrong", "a comment in it has an odd number of quotation marks"
    return Lexed(tuple(tokens), state, tuple(unclosed), whole, why)


def _collect(
    text: str, at: int, tokens: list[Token], unclosed: list[int], comments: list[str]
) -> Literal["closed", "cut"]:
    """Append tokens, open brackets and comments to the lists, and return how it ended."""
    while (match := _TOKEN.match(text, at)) is not None:
        at, group = match.end(), match.lastgroup
        if group == "mark":
            mark = Token(match["mark"], match["mark"], at - 1, at)  # type: ignore[arg-type]  # the pattern's marks are kinds
            if _nest(mark, tokens, unclosed):
                return "closed"
        elif group == "quote":
            tokens.append(_string(text, at - 1))
            at = tokens[-1].end
        elif group == "word":
            tokens.append(Token("word", match["word"], match.start("word"), at))
        elif group == "line":
            comments.append(match["line"])
        elif group == "block":
            close = text.find("*/", at)
            if close < 0:
                raise _CutError
            comments.append(text[at:close])
            at = close + 2
        else:
            return "cut"
    if text[at:].strip():
        raise _WrongError(f"{text[at:].strip()[0]!r} where JSON allows no such character")
    return "cut"


def _nest(mark: Token, tokens: list[Token], unclosed: list[int]) -> bool:
    """Add the mark; true if it closes the outermost bracket."""
    if mark.kind in _BRACKETS:
        if len(unclosed) == DEEPEST:
            raise _WrongError(f"it is nested more than {DEEPEST} deep")
        unclosed.append(len(tokens))
    elif mark.kind in "}]" and _BRACKETS[tokens[unclosed.pop()].kind] != mark.kind:
        raise _WrongError("its brackets do not match")
    elif mark.kind == ":" and not tokens[-1].plain:
        raise _WrongError("a key in it contains quotation marks")
    tokens.append(mark)
    return not unclosed


def _string(text: str, start: int) -> Token:
    """Return the string that opens at `start`.

    A quotation mark ends it if JSON continues after it. Quotation marks inside must come in pairs that look like quoted
    words: then a single missing mark cannot make another string, since it leaves an odd number of them.
    """
    opening = text[start]
    inner, at = 0, start + 1
    while True:
        match = _BODY[opening].match(text, at)
        at = match.end() if match else at
        if at >= len(text) or text[at] == "\\":
            raise _CutError
        if inner % 2 == 0 and _ENDS_A_STRING.match(text, at + 1):
            break
        if opening in "'’‘" and text[at - 1].isalnum() and text[at + 1 : at + 2].isalnum():
            at += 1  # an apostrophe
            continue
        inner += 1
        if not _looks_paired(text[at - 1], text[at + 1 : at + 2], opens=inner % 2 == 1):
            raise _WrongError("a quotation mark in it is not escaped, or one is missing")
        at += 1
    if inner and _LIKE_JSON.search(text, start, at + 1):
        raise _WrongError("a quotation mark in it is not escaped, or one is missing")
    return Token("string", _unescaped(text[start + 1 : at]), start, at + 1, plain=not inner)


def _looks_paired(before: str, after: str, *, opens: bool) -> bool:
    if opens:
        return (before.isspace() or before in "([") and after.isalnum()
    return (before.isalnum() or before in ".!?)]") and (after.isspace() or after in ".,;:!?)]")


def _unescaped(body: str) -> str:
    """Return the body of a string unescaped; an escape that neither JSON nor Python knows is wrong."""
    if "\\" not in body:
        return body
    try:
        text: str = json.loads('"' + _TO_ESCAPE.sub(_as_json, body) + '"', strict=False)
    except json.JSONDecodeError as error:
        raise _WrongError("an escape sequence in it does not exist") from error
    return text


def _as_json(match: re.Match[str]) -> str:
    byte, escaped = match.groups()
    if byte:
        return f"\\u00{byte}"
    if escaped is None:
        return '\\"'
    return str(escaped) if escaped in "'“”‘’" else match[0]
