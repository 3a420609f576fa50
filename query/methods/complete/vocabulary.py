"""What a set can be asked by: the names of its columns, its cells of text, and its own names, by their words."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import regex
from conspectus.query.methods.complete.sets import Table
from conspectus.storage.cancellation import check
from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.names import word_keys

_LONGEST_CELL = 8
"""Words of a cell that a question can name."""
_LONGEST_NAME = 3
"""Words of a part of a statement that one of its words can name."""
_LEAST_PREFIX = 4
"""Letters of a stem that another one may begin with: rented and Rentals."""
_APART = regex.compile(r"(?<=\p{Ll})(?=\p{Lu})|[_/]")
_UNIT = regex.compile(r"[(\[][^)\]]*[)\]]|\s+in\s+\S+$")

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
    _parts_of_cells: defaultdict[str, set[Cell]] = field(default_factory=lambda: defaultdict(set))
    _parts_of_columns: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    _names: set[Key] = field(default_factory=set)

    @classmethod
    def of(cls, table: Table, language: str) -> "Vocabulary":
        """Return the vocabulary of a set."""
        made = cls(language)
        most = _LONGEST_NAME if table.kind == "statements" else _LONGEST_CELL
        for at, column in enumerate(table.columns):
            name = _APART.sub(" ", column.name)
            for form in (name, _UNIT.sub("", name)):
                made._columns[made._stems(form)].add(at)
            for stem in made._stems(_UNIT.sub("", name)):
                made._parts_of_columns[stem].add(at)
            if table.days[at] or (table.numbers[at] and not table.names_things[at]):
                continue
            for number, cell in enumerate(column.cells):
                check()
                if len(stems := made._stems(cell)) <= _LONGEST_CELL:
                    made._cells[stems].add((at, number))
                    for stem in set(stems) if 1 < len(stems) <= most else ():
                        made._parts_of_cells[stem].add((at, number))
        for name in table.names:
            made._names |= {made._stems(name), *((stem,) for stem in made._stems(name))}
        return made

    def find(self, keys: Key) -> Found:
        """Return what words name: as a whole, else a single one as a part of a name, else as a form of a word."""
        stems = self._stems(" ".join(keys))
        cells, columns = self._cells.get(stems, ()), self._columns.get(stems, ())
        if cells or columns or stems in self._names or len(stems) != 1:
            return Found(frozenset(cells), frozenset(columns), stems in self._names)
        if columns := self._parts_of_columns.get(stems[0], ()):
            return Found(columns=frozenset(columns))
        if cells := self._parts_of_cells.get(stems[0], ()):
            return Found(frozenset(cells), whole=False)
        derived = frozenset(self._derived(stems[0]))
        named = not derived and any(_is_form(stems[0], *key) for key in self._names)
        return Found(columns=derived, named=named, whole=False)

    def _derived(self, stem: str) -> Iterator[int]:
        for part, columns in self._parts_of_columns.items():
            if _is_form(stem, part):
                yield from columns

    def _stems(self, text: str) -> Key:
        return tuple(stem_in_language(key, self.language) for key in word_keys(text))


def _is_form(stem: str, *others: str) -> bool:
    """Return whether a stem begins the stem of a name of one word, or the other way round: "rent" and "rental"."""
    if len(others) != 1:
        return False
    shorter, longer = sorted((stem, others[0]), key=len)
    return len(shorter) >= _LEAST_PREFIX and longer.startswith(shorter)
