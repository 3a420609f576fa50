"""The names of the entities of a filtered view by their words, from the table of the names of the whole index."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from conspectus.query.filter.bitmaps import Bitmaps
from conspectus.query.filter.rows import PermittedRows
from conspectus.storage.arrays import Rows
from conspectus.storage.index import StoredIndex
from conspectus.storage.name_tables import are_names, entity_table
from conspectus.storage.records import Entity
from conspectus.storage.tables import taken
from conspectus.storage.text.names import Word, word_keys
from pyarrow import compute


class PermittedNames:
    """Finds the entities that remain by the words of their names; see `NameTable.in_words`.

    Args:
        index: the whole index, which is large.
        kept: the rows that remain.
        known: these rows.
    """

    def __init__(self, index: StoredIndex, kept: Bitmaps, known: PermittedRows) -> None:
        self._whole = entity_table(index)
        rows = np.flatnonzero(kept.entities)
        self._row_of: Rows = np.full(len(kept.entities), -1)
        self._row_of[rows] = np.arange(len(rows))
        # A name is in the table of the whole index as it is there, or not at all.
        changed = np.flatnonzero(~kept.intact[rows])
        before = taken(index.arrow(Entity, "name", "types"), rows[changed])
        after = taken(known.entities.table.select(["name", "types"]), changed)
        is_name = are_names(after["types"])
        renamed = compute.not_equal(before["name"], after["name"]).to_numpy() | (are_names(before["types"]) != is_name)
        self._row_of[rows[changed[renamed]]] = -1
        self._other: defaultdict[str, list[int]] = defaultdict(list)
        other = renamed & is_name
        for row, name in zip(changed[other].tolist(), after["name"].filter(other).to_pylist(), strict=True):
            for key in word_keys(name)[:1]:
                self._other[key].append(row)

    def in_words(self, found: Sequence[Word]) -> list[int]:
        """Return the rows of the entities whose names may consist of consecutive words of a text, ascending."""
        numbers = [number for number in self._whole.in_words(found) if number < len(self._row_of)]
        rows = {row for row in self._row_of[numbers].tolist() if row >= 0}
        return sorted(rows.union(*(self._other.get(word.key, ()) for word in found)))
