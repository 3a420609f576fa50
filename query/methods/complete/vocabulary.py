"""What a set can be asked by: the names of its columns, its cells of text, and its own names, by their words."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import regex
from conspectus.query.methods.complete.definitions import KINDS
from conspectus.query.methods.complete.question_words import (
    CHARACTER,
    MONTHS,
    OF_COLUMN,
    is_character,
    keys_of,
    small_words,
    words_of,
)
from conspectus.query.methods.complete.sets import STATE, Table
from conspectus.storage.cancellation import check
from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.word_lists import cut_run

_LONGEST_CELL, _MOST_CHARACTERS = 8, 16
"""Words of a cell that a question can name, and characters in scripts without spaces."""
_LONGEST_NAME = 3
"""Words of a part of a statement that one of its words can name."""
_LEAST_PREFIX = 4
"""Letters of a stem that another one may begin with: rented and Rentals."""
_APART = regex.compile(r"(?<=\p{Ll})(?=\p{Lu})|[_/]")
_UNIT = regex.compile(r"[(\[（][^)\]）]*[)\]）]|\s+in\s+\S+$")
_PERIODS = {
    "year": regex.compile(r"(?:19|20)\d\d"),
    "quarter": regex.compile(r"(?i)[qt][1-4](?:\W.*)?|.{0,5}[qt][1-4]"),
}
"""Cells of columns that are called year and quarter, whatever their names are: sheets of a workbook have none."""
_NAMED = {"month": MONTHS, "weekday": ("weekdays column",), "season": ("seasons column",)}
"""The roles of words of which all cells of columns that are called so have one."""
_PLURALS = {
    "pt": (regex.compile(r"(?:õe|ãe)s$"), "ão"),
    "it": (regex.compile(r"(?<=\p{L}{3})[aeio]$"), ""),
    "tr": (regex.compile(r"(?<=\p{L}{3})l[ae]r(?:in?|ini|inin|[dt][ae]n?|[ae])?$"), ""),
}
"""Forms of which the stemmers do not make the stem of the singular: estações, orti, ürünleri."""
_RUN = regex.compile(rf"(?:{CHARACTER.pattern}|\p{{Katakana}}|ー)+|[^\s_]+")

Key = tuple[str, ...]
Cell = tuple[int, int]
"""A column and the number of a cell."""


@dataclass(frozen=True, slots=True)
class Found:
    """What some words name: cells, columns, the set itself; as a whole, or as a part or another form of a name."""

    cells: frozenset[Cell] = frozenset()
    columns: frozenset[int] = frozenset()
    named: bool = False
    whole: bool = True


@dataclass
class Vocabulary:
    """The names of one set by the stems of their words in one language."""

    language: str
    _cells: defaultdict[Key, set[Cell]] = field(default_factory=lambda: defaultdict(set))
    _columns: defaultdict[Key, set[int]] = field(default_factory=lambda: defaultdict(set))
    _in_any_order: defaultdict[Key, set[int]] = field(default_factory=lambda: defaultdict(set))
    """The columns by the words of names of several, sorted: "Summer per day" is also "per day in summer"."""
    _parts_of_cells: defaultdict[Key, set[Cell]] = field(default_factory=lambda: defaultdict(set))
    _parts_of_columns: defaultdict[Key, set[int]] = field(default_factory=lambda: defaultdict(set))
    _names: set[Key] = field(default_factory=set)
    _only_names: set[Key] = field(default_factory=set)
    """The words of the set's own names as they are written, without those by which a column is called too."""

    @classmethod
    def of(cls, table: Table, language: str) -> "Vocabulary":
        """Return the vocabulary of a set."""
        made = cls(language)
        most = _LONGEST_NAME if table.kind == "statements" else _LONGEST_CELL
        for at, column in enumerate(table.columns):
            has_states = table.kind == "tasks" and column.name == STATE
            name = _APART.sub(" ", column.name)
            for form in (name, _UNIT.sub("", name)):
                made._columns[made._stems(form)].add(at)
            for part in made._parts(_UNIT.sub("", name)):
                made._parts_of_columns[part].add(at)
            made._in_any_order[made._content(keys_of(name))].add(at)
            called = [*_called(column.cells)] if column.cells else []
            called += [column.name] if table.kind == "definitions" and column.name in KINDS else []
            for word in (word for role in called for word in words_of(f"{role}{OF_COLUMN}", (language,))):
                if (stems := made._stemmed(word)) not in made._columns:
                    made._columns[stems].add(at)
            if table.days[at] or (table.numbers[at] and not table.names_things[at]):
                continue
            for number, cell in enumerate(column.cells):
                check()
                for word in words_of(f"{cell}{OF_COLUMN}", (language,)) if has_states else ():
                    made._cells[made._stemmed(word)].add((at, number))
                if len(stems := made._stems(cell)) <= (_MOST_CHARACTERS if CHARACTER.search(cell) else _LONGEST_CELL):
                    made._cells[stems].add((at, number))
                    parts = set(made._parts(cell)) - {stems}
                    for part in parts if 1 < len(stems) <= most else ():
                        made._parts_of_cells[part].add((at, number))
        for name in table.names:
            made._names |= {made._stems(name), *made._parts(name)}
        made._only_names = {*map(keys_of, table.names)} - {keys_of(column.name) for column in table.columns}
        return made

    def find(self, keys: Key) -> Found:
        """Return what words name: as a whole, else a single one as a part of a name, else as a form of a word."""
        stems = self._stemmed(keys)
        if keys in self._only_names and stems not in self._cells:
            return Found(named=True)  # "visits" of the file, though a column has "visitors"
        cells, columns = self._cells.get(stems, ()), self._columns.get(stems, ())
        if cells or columns or stems in self._names:
            return Found(frozenset(cells), frozenset(columns), stems in self._names)
        if columns := self._parts_of_columns.get(stems, ()):
            return Found(columns=frozenset(columns))
        if (
            len(keys) > 1
            and len(content := self._content(keys)) > 1
            and (columns := self._in_any_order.get(content, ()))
        ):
            return Found(columns=frozenset(columns))
        if cells := self._parts_of_cells.get(stems, ()):
            return Found(frozenset(cells), whole=False)
        if len(stems) != 1:
            return Found()
        derived = frozenset(self._derived(stems[0]))
        named = not derived and any(_is_form(stems[0], *key) for key in self._names)
        return Found(columns=derived, named=named, whole=False)

    def _derived(self, stem: str) -> Iterator[int]:
        for part, columns in self._parts_of_columns.items():
            if _is_form(stem, *part):
                yield from columns

    def _content(self, keys: Key) -> Key:
        """Return the words of a phrase that are no small words, sorted; none if it ends in one, or says "not"."""
        small = small_words(self.language)
        told = words_of("not", (self.language,)).isdisjoint(zip(keys)) and keys and keys[-1] not in small
        return tuple(sorted(self._stemmed(tuple(key for key in keys if key not in small)))) if told else ()

    def _stems(self, text: str) -> Key:
        return self._stemmed(keys_of(text))

    def _stemmed(self, keys: Key) -> Key:
        if plural := _PLURALS.get(self.language):
            keys = tuple(plural[0].sub(plural[1], key) for key in keys)
        return tuple(stem_in_language(key, self.language) for key in keys)

    def _parts(self, name: str) -> Iterator[Key]:
        """Yield the words of a name; of a name without spaces those that its language is known to have."""
        for run in _RUN.findall(name):
            unspaced = self.language in ("zh", "ja") and CHARACTER.search(run)
            for keys in map(self._stems, cut_run(run, self.language) if unspaced else (run,)):
                if not CHARACTER.search(run):
                    yield from ((key,) for key in keys)
                elif not is_character(keys):
                    yield keys


def _called(cells: Sequence[str]) -> Iterator[str]:
    """Yield what a column of these cells is called whatever its name is: year, quarter, month, weekday, season."""
    yield from (role for role, periods in _PERIODS.items() if all(map(periods.fullmatch, cells)))
    for name, roles in _NAMED.items():
        known = frozenset().union(*map(words_of, roles))
        if len(cells) > 1 and all(not known.isdisjoint({keys_of(cell), *zip(keys_of(cell))}) for cell in cells):
            yield name


def _is_form(stem: str, *others: str) -> bool:
    """Return whether a stem begins the stem of a name of one word, or the other way round: "rent" and "rental"."""
    if len(others) != 1:
        return False
    shorter, longer = sorted((stem, others[0]), key=len)
    return len(shorter) >= _LEAST_PREFIX and longer.startswith(shorter)
