"""Parser for filter expressions: `year >= 2020 and (lang = "en" or not topic in (war, "civil war"))`.

    filter      and-terms joined by `or`
    and-term    terms joined by `and`
    term        `not` term | `(` filter `)` | key operator value | key [`not`] text-operator value
                | key [`not`] `in` `(` value `,` ... `)`
    operator    =  ==  !=  <>  <  <=  >  >=
    text-operator  contains  startswith  endswith  like (% stands for any text, _ for one character); case is ignored
    key         a word, or any text in backquotes
    value       a number, a date (2024-05-31, 2024-05), a word, or any text in double or single quotes

A word is letters, digits and _ . : / -, in any script. `and`, `or`, `not`, `in` are words of the filter, in any case.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import contains, eq, ge, gt, le, lt
from typing import NoReturn

from conspectus.query.filter.expressions import (
    Expression,
    Operator,
    Value,
    as_day,
    as_number,
    comparison,
    conjunction,
    disjunction,
    is_like,
    negation,
    of_any_value,
    one_of,
)
from conspectus.storage.errors import UsageError

_MOST_CHARACTERS = 10_000
_DEEPEST = 50
"""Most nested parentheses and negations."""
_MOST_COMPARISONS = 50
"""Most comparisons, each of which reads the values of every document. A list after `in` is one."""
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      | (?P<key>`[^`]+`)
      | (?P<operator><=|>=|!=|<>|==|=|<|>)
      | (?P<sign>[(),])
      | (?P<word>[+-]?[\w.][\w.:/+-]*)
    )""",
    re.VERBOSE | re.DOTALL,
)
_UNEQUAL = ("!=", "<>")
_OPERATORS: dict[str, Operator] = {
    "=": eq,
    "==": eq,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    **dict.fromkeys(_UNEQUAL, eq),
}
_TEXT_OPERATORS: dict[str, Callable[[str, str], bool]] = {
    "contains": contains,
    "startswith": str.startswith,
    "endswith": str.endswith,
    "like": is_like,
}
_RESERVED = frozenset({"and", "or", "not", "in"})


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    written: str
    start: int


def parse(written: str) -> Expression:
    """Return the parsed filter; UsageError describes the error and its character position."""
    if len(written) > _MOST_CHARACTERS:
        raise UsageError(f"the filter has {len(written):,} characters; the maximum is {_MOST_CHARACTERS:,}")
    parser = _Parser(written, _tokens(written))
    found = parser.filter(0)
    if parser.now.kind != "end":
        parser.refuse("`and`, `or` or the end")
    return found


def _tokens(written: str) -> list[_Token]:
    tokens: list[_Token] = []
    at, end = 0, len(written.rstrip())
    while at < end:
        found = _TOKEN.match(written, at)
        if found is None:
            at += len(written[at:]) - len(written[at:].lstrip())
            what = "a quote that is not closed" if written[at] in "\"'`" else f"{written[at]!r}"
            raise UsageError(f"the filter cannot be read at character {at + 1}, {what}: {_shown(written, at)}")
        kind = found.lastgroup or ""
        tokens.append(_Token(kind, found[kind], found.start(kind)))
        at = found.end()
    return [*tokens, _Token("end", "", len(written))]


class _Parser:
    """Parses tokens from left to right, with one method per grammar rule."""

    def __init__(self, written: str, tokens: list[_Token]) -> None:
        self._written = written
        self._tokens = tokens
        self._at = 0
        self._comparisons = 0

    @property
    def now(self) -> _Token:
        return self._tokens[self._at]

    def refuse(self, wanted: str) -> NoReturn:
        found = self.now.written or "the end"
        raise UsageError(
            f"the filter should have {wanted} at character {self.now.start + 1}, not {found!r}: "
            f"{_shown(self._written, self.now.start)}"
        )

    def filter(self, depth: int) -> Expression:
        return disjunction(self._parts("or", lambda: conjunction(self._parts("and", lambda: self._term(depth)))))

    def _parts(self, word: str, part: Callable[[], Expression]) -> list[Expression]:
        found = [part()]
        while self._take(word):
            found.append(part())
        return found

    def _term(self, depth: int) -> Expression:
        if depth > _DEEPEST:
            self.refuse(f"at most {_DEEPEST} parentheses and negations within one another")
        if self._take("not"):
            return negation(self._term(depth + 1))
        if self._take("("):
            found = self.filter(depth + 1)
            self._need(")")
            return found
        return self._comparison(self._token_of("key", "a key"))

    def _comparison(self, key: str) -> Expression:
        self._comparisons += 1
        if self._comparisons > _MOST_COMPARISONS:
            self.refuse(f"at most {_MOST_COMPARISONS} comparisons (`in` compares with a list)")
        if self._take("not"):
            return negation(self._match(key) or self.refuse("`in`"))
        if match := self._match(key):
            return match
        token = self.now
        if token.kind != "operator":
            self.refuse("`=`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `contains`, `startswith`, `endswith` or `like`")
        self._at += 1
        place = self.now
        operator, value = _OPERATORS[token.written], self._value()
        if isinstance(value, str) and operator is not eq:
            raise UsageError(
                f"the filter compares by `{token.written}` with a text, {value!r}, at character {place.start + 1}; "
                f"only numbers and dates (2024-05-31) have an order"
            )
        found = comparison(key, operator, value)
        return negation(found) if token.written in _UNEQUAL else found

    def _match(self, key: str) -> Expression | None:
        """Return the match of a key by `in` or by a text operator, or None if neither comes next."""
        if self._take("in"):
            self._need("(")
            values = [self._value()]
            while self._take(","):
                values.append(self._value())
            self._need(")")
            return one_of(key, values)
        matches = _TEXT_OPERATORS.get(self.now.written.casefold()) if self.now.kind == "word" else None
        if matches is None:
            return None
        self._at += 1
        text = self._text().casefold()
        return of_any_value(key, lambda value: matches(value.casefold(), text))

    def _value(self) -> Value:
        quoted, text = self.now.kind == "text", self._text()
        if quoted:
            return text
        number = as_number(text)
        return number if number is not None else as_day(text) or text

    def _text(self) -> str:
        quoted, text = self.now.kind == "text", self._token_of("text", "a value (a text in quotes, a number or a date)")
        return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL) if quoted else text

    def _token_of(self, quoted: str, wanted: str) -> str:
        """Return the next token, a word or a text in quotes of a kind, without these."""
        token = self.now
        if token.kind != quoted and (token.kind != "word" or token.written.casefold() in _RESERVED):
            self.refuse(wanted)
        self._at += 1
        return token.written[1:-1] if token.kind == quoted else token.written

    def _take(self, word: str) -> bool:
        found = self.now.kind in {"word", "sign"} and self.now.written.casefold() == word
        self._at += found
        return found

    def _need(self, word: str) -> None:
        if not self._take(word):
            self.refuse(f"`{word}`")


def _shown(written: str, at: int) -> str:
    """Return the filter around a position, on one line, with a mark before it."""
    before, behind = " ".join(written[max(0, at - 40) : at].split()), " ".join(written[at : at + 40].split())
    return f"{before} >>> {behind}".strip()
