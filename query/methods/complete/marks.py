"""What the words of a question are: words of questions, or something of a set, the longest phrases first."""

from collections.abc import Sequence
from dataclasses import dataclass

import regex
from conspectus.query.methods.complete.question_words import phrases, words_of
from conspectus.query.methods.complete.sets import Table
from conspectus.query.methods.complete.values import Days, day_of, number_in, unit_of
from conspectus.query.methods.complete.vocabulary import Cell, Found, Vocabulary
from conspectus.storage.text.language import function_words
from conspectus.storage.text.literals import parse_literal
from conspectus.storage.text.names import word_keys

_LONGEST_PHRASE = 6
_APART = regex.compile(r"(?i)['’]s\b|(?<=\b(?:d|l|qu|n|s|j))['’]|[?!¿¡,;:()\"“”„«»…]|\.(?=\s|$)")
_OF_COLUMNS = frozenset(("quantity", "price", "key", "sender", "totals"))
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
        month: A month of no year.
        named: Whether they name the set.
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

    @property
    def of_table(self) -> bool:
        """Whether the words name something of the set."""
        return self.column is not None or self.named


def tokens_of(question: str) -> list[str]:
    """Return the words of a question, with numbers and dates whole.

    >>> tokens_of("Who's above 1,500 EUR on 2024-04-18?")
    ['Who', 'above', '1,500', 'EUR', 'on', '2024-04-18']
    """
    kept = regex.sub(r"(?<=\d),(?=\d)", "\0", question)
    return [token.replace("\0", ",") for token in _APART.sub(" ", kept).split() if word_keys(token) or "%" in token]


def has_word(table: Table, role: str, column: int) -> bool:
    """Return whether the name of a column has a word of a role."""
    return any((key,) in words_of(role) for key in word_keys(table.columns[column].name.replace("_", " ")))


class Marker:
    """Says what the words of one question are over one set."""

    def __init__(self, table: Table, vocabulary: Vocabulary, language: str, tokens: Sequence[str]) -> None:
        self._table = table
        self._vocabulary = vocabulary
        self._language = language
        self._tokens = tokens
        self._plain = function_words(language) | function_words("en")

    def marks(self) -> list[Mark]:
        """Return what the words are, in order; a word that is nothing known is in no mark."""
        taken: dict[int, Mark] = {}
        for length in range(_LONGEST_PHRASE, 0, -1):
            for first in range(len(self._tokens) - length + 1):
                if not any(place in taken for place in range(first, first + length)):
                    mark = self._mark(first, first + length)
                    if mark:
                        taken |= dict.fromkeys(range(first, first + length), mark)
        return sorted(set(taken.values()), key=lambda mark: mark.first)

    def _mark(self, first: int, last: int) -> Mark | None:
        text = " ".join(self._tokens[first:last])
        keys = tuple(word_keys(text))
        spoken = phrases(self._language).get(keys, frozenset())
        roles = spoken - _OF_COLUMNS
        if all(key in self._plain for key in keys) and (roles or text.islower()):
            return Mark(first, last, roles) if roles else None
        found = self._vocabulary.find(keys)
        if roles and not found.whole:
            found = Found()
        if "price" in spoken and not (found.cells or found.columns or found.named):
            priced = (at for at, each in enumerate(self._table.numbers) if each and has_word(self._table, "price", at))
            found = Found(columns=frozenset(priced))
        if found.cells and len({column for column, _ in found.cells}) == 1:
            column = next(iter(found.cells))[0]
            return Mark(first, last, column=column, cells=frozenset(code for _, code in found.cells))
        if found.columns and not found.cells:
            if len(found.columns) > 1:
                return Mark(first, last, frozenset({"unclear"}))
            return Mark(first, last, roles & {*BEST, "sum", "mean", "count"}, column=next(iter(found.columns)))
        if found.cells:
            return self._by_column_before(first, last, found.cells)
        if days := day_of(text):
            return Mark(first, last, days=days)
        if roles & {"month"}:
            return Mark(first, last, month=text)
        if last - first <= 1 + self._is_unit(self._tokens[last - 1]) and number_in(text, ".") is not None:
            return Mark(first, last, number=text)
        if roles:
            return Mark(first, last, roles)
        return Mark(first, last, named=True) if found.named else None

    def _by_column_before(self, first: int, last: int, cells: frozenset[Cell]) -> Mark:
        """Return the mark of a cell that several columns have: that of the column named before or after it."""
        near = [*self._tokens[max(0, first - 2) : first], *self._tokens[last : last + 1]]
        named = {column for word in near for column in self._vocabulary.find(tuple(word_keys(word))).columns}
        among = {column for column, _ in cells} & named
        if len(among) != 1:
            return Mark(first, last, frozenset({"unclear"}))
        column = among.pop()
        return Mark(first, last, column=column, cells=frozenset(code for at, code in cells if at == column))

    def _is_unit(self, word: str) -> bool:
        literal = parse_literal(f"1 {word}")
        units = {unit_of(f"1 {numbers.unit}") for numbers in self._table.numbers if numbers and numbers.unit}
        return (literal is not None and literal.kind in ("quantity", "duration")) or unit_of(f"1 {word}") in units
