"""The names of chunks, and the names of entities by their words, in a filtered view."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from conspectus.query.filter.bitmaps import Bitmaps, restricted, with_column
from conspectus.query.filter.rows import PermittedRows
from conspectus.storage.arrays import Rows
from conspectus.storage.index import StoredIndex
from conspectus.storage.mapped import TableRows
from conspectus.storage.name_tables import are_names, entity_table
from conspectus.storage.records import Chunk, Document, Entity, Name
from conspectus.storage.tables import taken
from conspectus.storage.text.names import NameMatcher, Word, word_keys
from conspectus.storage.text.normalise import entity_key
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


def permitted_names(index: StoredIndex, known: PermittedRows) -> TableRows[Name]:
    """Return the names of permitted chunks; one that hidden chunks have too is written as permitted ones write it."""
    whole = index.arrow(Name)
    table = restricted(whole, "chunk_ids", known.chunks.table.column("id"))
    left, before = (compute.list_value_length(each["chunk_ids"]).to_numpy() for each in (table, whole))
    names = table["name"].to_pylist()
    row_of, title_of = index.ids(Chunk), index.by_id(Document, "title")
    for row in np.flatnonzero((left > 0) & (left < before)).tolist():
        matcher = NameMatcher({names[row]: None})
        chunks = (index.each(Chunk)[row_of[id_]] for id_ in table["chunk_ids"][row].as_py())
        texts = [title_of[chunk.document_id].strip() or chunk.text for chunk in chunks]
        found = (text[match.start : match.end] for text in texts for match in matcher.find(text)[:1])
        names[row] = min((" ".join(name.split()) for name in found), default=entity_key(names[row]))
    return TableRows(with_column(table, "name", pa.array(names, pa.string())).filter(left > 0), Name)
