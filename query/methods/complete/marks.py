"""What the words of a question are: words of questions, or something of a set, the longest phrases first."""

from collections.abc import Sequence
from dataclasses import dataclass

import regex
from conspectus.query.methods.complete.conditions import TESTS
from conspectus.query.methods.complete.question_words import (
    BEHIND,
    CHARACTER,
    JOINED,
    MONTHS,
    has_word,
    joined,
    keys_of,
    phrases,
    small_words,
    words_of,
)
from conspectus.query.methods.complete.sets import Table
from conspectus.query.methods.complete.values import Days, day_of, number_in, unit_of, units_of
from conspectus.query.methods.complete.vocabulary import Cell, Found, Vocabulary
from conspectus.storage.text.literals import parse_literal

_LONGEST_PHRASE, _MOST_CHARACTERS = 6, 16
"""Words, or characters of scripts without spaces, that are looked up together."""
_APART = regex.compile(
    r"(?i)['’]s\b|(?<=\S)['’](?=\p{L})|[?!¿¡,;:()\"“”„«»…？！，。、；：（）「」『』《》؟،؛]|\.(?=\s|$)"
)
_BESIDE_CHARACTERS = regex.compile(rf"(?<=\S)(?={CHARACTER.pattern})|(?<={CHARACTER.pattern})(?=\S)")
_OF_COLUMNS = frozenset(("quantity", "price", "key", "sender", "person", "totals"))
"""Roles of words in the names of columns and in cells."""
BEST = ("most", "least", "highest", "lowest", "latest", "earliest", "dearest", "cheapest")
"""Roles of words for the largest and the smallest."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What some words of the question are.

    Attributes:
        first, last: The first word, and the one after the last.
        roles: Their roles in `words.txt`.
        column: A column.
        cells: Numbers of cells of the column.
        number: A number, with its unit.
        days: A date.
        month: A month of no year, in English.
        named: Whether they name the set.
        whole: Whether they are the whole name of what they name.
    """

    first: int
    last: int
    roles: frozenset[str] = frozenset()
    column: int | None = None
    cells: frozenset[int] = frozenset()
    number: str = ""
    days: Days | None = None
    month: str = ""
    named: bool = False
    whole: bool = True

    @property
    def of_table(self) -> bool:
        """Whether the words name something of the set."""
        return self.column is not None or self.named

    @property
    def is_value(self) -> bool:
        """Whether the words are a number or a date."""
        return bool(self.number or self.days or self.month)


def tests_first(marks: Sequence[Mark]) -> list[Mark]:
    """Return marks with the tests that stand behind their values (20 以上) before them."""
    found: list[Mark] = []
    for mark in marks:
        if mark.roles == {"filler"}:
            continue
        place = len(found)
        if BEHIND in mark.roles and found and (found[-1].column is not None or found[-1].is_value):
            two = "between" in mark.roles and len(found) > 1 and found[-2].is_value
            place -= 1 + two
        found.insert(place, mark)
    return found


def is_unit(word: str) -> bool:
    """Return whether a word is a unit of a quantity or of time.

    >>> is_unit("hours"), is_unit("kilos"), is_unit("tandems")
    (True, True, False)
    """
    literal = parse_literal(f"1 {word}")
    return literal is not None and literal.kind in ("quantity", "duration")


def tokens_of(question: str) -> list[str]:
    """Return the words of a question, with numbers and dates whole; characters of scripts without spaces are words.

    >>> tokens_of("Who's above 1,500 EUR on 2024-04-18?"), list(map(ascii, tokens_of("3台")))
    (['Who', 'above', '1,500', 'EUR', 'on', '2024-04-18'], ["'3'", "'\\\\u2060\\\\u53f0'"])
    """
    kept = regex.sub(r"(?<=\d),(?=\d)", "\0", question)
    apart = _BESIDE_CHARACTERS.sub(f" {JOINED}", _APART.sub(" ", kept))
    return [token.replace("\0", ",") for token in apart.split() if keys_of(token) or "%" in token]


class Marker:
    """Says what the words of one question are over one set."""

    def __init__(self, table: Table, vocabulary: Vocabulary, language: str, tokens: Sequence[str]) -> None:
        self._table = table
        self._vocabulary = vocabulary
        self._language = language
        self._tokens = tokens
        self._plain = small_words(language) | small_words("en")

    def marks(self) -> list[Mark]:
        """Return what the words are, in order; a word that is nothing known is in no mark."""
        taken: dict[int, Mark] = {}
        most = _MOST_CHARACTERS if any(token.startswith(JOINED) for token in self._tokens) else _LONGEST_PHRASE
        for length in range(most, 0, -1):
            fitting: list[Mark] = []
            for first in range(len(self._tokens) - length + 1):
                if not any(place in taken for place in range(first, first + length)):
                    fitting += filter(None, [self._mark(first, first + length)])
            for mark in sorted(fitting, key=lambda mark: not mark.of_table):  # 数量 before the 总数 of 总数量
                if not any(place in taken for place in range(mark.first, mark.last)):
                    taken |= dict.fromkeys(range(mark.first, mark.last), mark)
        return sorted(set(taken.values()), key=lambda mark: mark.first)

    def _mark(self, first: int, last: int) -> Mark | None:
        text = joined(self._tokens[first:last])
        keys, known = keys_of(text), phrases(self._language)
        spoken = known.get(keys, frozenset())
        if keys and self._tokens[first].startswith(JOINED):
            spoken |= known.get((f"{JOINED}{keys[0]}", *keys[1:]), frozenset())
        roles = spoken - _OF_COLUMNS
        found = self._vocabulary.find(keys)
        if self._table.kind == "statements" and found.named and roles and roles <= {*TESTS}:
            return Mark(first, last, named=True)  # "after" of "is looked after by"
        if all(key in self._plain for key in keys) and (roles or text.islower()):
            return Mark(first, last, roles) if roles else None
        if roles and not found.whole:
            found = Found()
        columns = self._table.columns
        if "price" in spoken and not (found.cells or found.columns or found.named):
            priced = (at for at, each in enumerate(self._table.numbers) if each and has_word(columns[at].name, "price"))
            found = Found(columns=frozenset(priced))
        elif last - first == 1 and not (roles or found.cells or found.columns or found.named):
            found = Found(columns=self._of_unit(text))
        if found.cells and len({column for column, _ in found.cells}) == 1:
            column = next(iter(found.cells))[0]
            own = frozenset(code for _, code in found.cells)
            return Mark(first, last, column=column, cells=own, whole=found.whole)
        if found.columns and not found.cells:
            if len(found.columns) > 1:
                between = self._table.kind == "statements"  # a word between two columns names the form
                return Mark(first, last, frozenset() if between else frozenset({"unclear"}), named=between)
            return Mark(first, last, roles & {*BEST, "sum", "mean", "count"}, column=next(iter(found.columns)))
        if found.cells:
            return self._by_column_before(first, last, found.cells)
        if cells := self._at_clock(keys):
            return Mark(first, last, column=next(iter(cells))[0], cells=frozenset(code for _, code in cells))
        if days := day_of(text):
            return Mark(first, last, days=days)
        if "month" in roles:
            languages = (self._language,)
            return Mark(first, last, month=next(month for month in MONTHS if keys in words_of(month, languages)))
        if last - first <= 2 and number_in(number := self._without_counter(first, last), ".") is not None:
            return Mark(first, last, number=number)
        if roles:
            return Mark(first, last, roles)
        return Mark(first, last, named=True) if found.named else None

    def _of_unit(self, word: str) -> frozenset[int]:
        """Return the columns of numbers whose unit a word is: "kilos" of "Quantity (kg)"."""
        unit = unit_of(f"1 {word}")
        named = zip(self._table.columns, self._table.numbers, strict=True)
        return frozenset(at for at, (each, of) in enumerate(named) if of and unit and unit in units_of(each.name, of))

    def _at_clock(self, keys: Sequence[str]) -> set[Cell]:
        """Return the cells of the only column of dates that have a time such as 23:02 or 23:02:41."""
        dated = [at for at, days in enumerate(self._table.days) if days]
        if len(dated) != 1 or not 2 <= len(keys) <= 3 or not all(key.isdigit() and len(key) == 2 for key in keys):
            return set()
        time = ":".join(keys)
        cells = enumerate(self._table.columns[dated[0]].cells)
        return {(dated[0], code) for code, cell in cells if cell[10:].lstrip("T ").startswith(time)}

    def _by_column_before(self, first: int, last: int, cells: frozenset[Cell]) -> Mark:
        """Return the mark of a cell that several columns have: that of the column named before or after it."""
        near = [*self._tokens[max(0, first - 2) : first], *self._tokens[last : last + 1]]
        named = {column for word in near for column in self._vocabulary.find(keys_of(word)).columns}
        among = {column for column, _ in cells} & named
        if len(among) != 1:
            return Mark(first, last, frozenset({"unclear"}))
        column = among.pop()
        return Mark(first, last, column=column, cells=frozenset(code for at, code in cells if at == column))

    def _without_counter(self, first: int, last: int) -> str:
        """Return one or two words without the second if it is a counter (台, adet); "" if it is no unit either."""
        word = self._tokens[last - 1].removeprefix(JOINED)
        if last - first == 2 and keys_of(word) in words_of("counter", (self._language,)):
            return joined(self._tokens[first : last - 1])
        return joined(self._tokens[first:last]) if last - first == 1 or self._is_unit(word) else ""

    def _is_unit(self, word: str) -> bool:
        own = words_of("unit", (self._language,))
        units = {unit_of(f"1 {numbers.unit}") for numbers in self._table.numbers if numbers and numbers.unit}
        return is_unit(word) or keys_of(word) in own or unit_of(f"1 {word}") in units
