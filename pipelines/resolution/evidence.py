"""What the documents say about each name: where it is mentioned, and which documents have it as their title.

Everything is a column of row numbers, made once from the tables; nothing is held by name.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from conspectus.storage.arrays import Bools, Rows, SmallInts, gather
from conspectus.storage.hashing import entity_id
from conspectus.storage.records import Chunk, Document, Entity, Mention
from conspectus.storage.spilled import text_column
from conspectus.storage.tables import arrow_of, rows_among
from conspectus.storage.text.normalise import entity_key

if TYPE_CHECKING:
    import pyarrow as pa

_ELEMENTS_AT_ONCE = 1 << 20
_CHUNKS_AT_ONCE = 4096
_SOME = 64
_RARE = range(2, 13)
"""Numbers of chunks of a name that tells something about the names beside it."""


class Located(NamedTuple):
    """A mention at characters [start, end) of a chunk's document, -1 without a span. Entity and chunk are rows."""

    entity: int
    chunk: int
    start: int
    end: int


class Evidence:
    """The mentions of entities by row, and the titles.

    Args:
        documents: All documents, sorted by id.
        chunks: All chunks, sorted by id.
        entities: The entities, sorted by id.
        mentions: The mentions, sorted by id; those of relations are left out.

    Attributes:
        entity, chunk, start, end: (m,) columns of the mentions, as in `Located`.
        title: (d,) the row of the entity that is the title of each document, -1 for none.
        entity_ids: (n,) the ids of entities; like the texts, each is read when it is asked for.
        texts: (d,) the texts of documents.
        chunk_texts: (c,) the texts of chunks.
        begins: (c,) where each chunk begins in its document.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        entities: Sequence[Entity],
        mentions: Sequence[Mention],
    ) -> None:
        from pyarrow import compute

        self.texts, self.chunk_texts = text_column(documents, "text"), text_column(chunks, "text")
        self.entity_ids = text_column(entities, "id")
        self.begins = int32_of(arrow_of(Chunk, chunks, ["start"])["start"])
        ids = {record: arrow_of(record, rows, ["id"])["id"] for record, rows in
               ((Document, documents), (Chunk, chunks), (Entity, entities))}  # fmt: skip
        table = arrow_of(Mention, mentions, ["entity_id", "chunk_id", "start", "end", "match"])
        owners = rows_among(table["entity_id"], ids[Entity])
        kept = np.flatnonzero(owners >= 0)
        self.entity = owners[kept]
        self.chunk = rows_among(table["chunk_id"], ids[Chunk])[kept]
        self.start, self.end = (int32_of(table[name])[kept] for name in ("start", "end"))
        self._own = compute.not_equal(table["match"], "alias").to_numpy()[kept]
        del owners, kept
        self._of_entity = _Groups.of(len(entities), self.entity)
        self._of_chunk = _Groups.of(len(chunks), self.chunk, self.start, self.end)
        self._is_first = arrow_of(Chunk, chunks, ["ordinal"])["ordinal"].to_numpy() == 0
        self._document = rows_among(arrow_of(Chunk, chunks, ["document_id"])["document_id"], ids[Document])
        self._marked = np.zeros(len(ids[Document]), np.bool_)
        self.title = _titles(documents, ids[Entity])
        self._titled = _Groups.of(len(entities) + 1, self.title + 1)

    def mentions(self, entity: int, *, aliases: bool = False) -> SmallInts:
        """Return the mentions of an entity in the order of their ids, on request also its titles' short forms."""
        found = self._of_entity[entity]
        return found if aliases else found[self._own[found]]

    def titles(self, entity: int) -> frozenset[int]:
        """Return the documents with a title."""
        return frozenset(self._titled[entity + 1].tolist())

    def first_offsets(self, entity: int) -> dict[int, int]:
        """Return the documents that contain a name, and its first offset in each, -1 if it is the title."""
        found = self.mentions(entity)
        places: dict[int, int] = {}
        for document, start in zip(self._document[self.chunk[found]].tolist(), self.start[found].tolist(), strict=True):
            if start < places.get(document, start + 1):
                places[document] = start
        return places

    def after(self, entity: int, most: int, characters: int) -> Iterator[str]:
        """Yield the text after each of the first mentions of an entity that have a span."""
        found = self.mentions(entity)[:most]
        for number, end in zip(self.chunk[found].tolist(), self.end[found].tolist(), strict=True):
            if end >= 0:
                place = end - int(self.begins[number])
                yield self.chunk_texts[number][place : place + characters]

    def in_text(self, first: int, last: int, known: Bools) -> SmallInts:
        """Return the mentions of known names with a span, in the order of the chunks [first, last) and their texts."""
        found = self._of_chunk[first : min(last, len(self.begins))]
        named: SmallInts = found[(self.start[found] >= 0) & self._own[found] & known[self.entity[found]]]
        return named

    def first_row(self, chunk: int, known: Bools) -> int:
        """Return the first row of the table of mentions that names a known name in the text of a chunk."""
        return int(self.in_text(chunk, chunk + 1, known).min())

    def openings(self, known: Bools, within: int) -> SmallInts:
        """Return the first mention in each document with another title, if it is within some characters."""
        found = []
        for start in range(0, len(self.begins), _CHUNKS_AT_ONCE):
            rows = self.in_text(start, start + _CHUNKS_AT_ONCE, known)
            rows = rows[np.flatnonzero(np.diff(self.chunk[rows], prepend=-1))]
            title = self.title[self._document[self.chunk[rows]]]
            other = (title >= 0) & known[title] & (title != self.entity[rows])
            found.append(rows[other & self._is_first[self.chunk[rows]] & (self.start[rows] <= within)])
        return np.concatenate([np.zeros(0, np.int32), *found])

    def document_of(self, chunk: int) -> int:
        """Return the document of a chunk."""
        return int(self._document[chunk])

    def located(self, row: int) -> Located:
        """Return a mention."""
        return Located(*(int(column[row]) for column in (self.entity, self.chunk, self.start, self.end)))

    def share_document(self, left: SmallInts, right: SmallInts) -> Bools:
        """Return whether a document contains both names, for pairs of names (p,)."""
        sizes = np.diff(self._of_entity.starts)
        ends = np.cumsum(sizes[left] + sizes[right])
        parts = np.searchsorted(ends, np.arange(_ELEMENTS_AT_ONCE, ends[-1] if len(ends) else 0, _ELEMENTS_AT_ONCE))
        shared = [
            self._share_document(one, other)
            for one, other in zip(np.split(left, parts), np.split(right, parts), strict=True)
        ]
        return np.concatenate(shared)

    def _share_document(self, left: SmallInts, right: SmallInts) -> Bools:
        (first, mine), (second, yours) = self._documents_of(left), self._documents_of(right)
        n_documents = len(self.title)
        shared = np.zeros(len(left), np.bool_)
        shared[first[np.isin(first * n_documents + mine, second * n_documents + yours)]] = True
        return shared

    def sharing(self, entity: int, others: SmallInts) -> SmallInts:
        """Return those of some names that stand in a document with a name."""
        own = self._document[self.chunk[self.mentions(entity)]]
        places, documents = self._documents_of(others)
        self._marked[own] = True
        shared = np.zeros(len(others), np.bool_)
        shared[places[self._marked[documents]]] = True
        self._marked[own] = False
        return others[shared]

    def _documents_of(self, entities: SmallInts) -> tuple[Rows, SmallInts]:
        """Return (places in `entities`, documents): the documents that contain some names, with repeats."""
        places, found = self._of_entity.of_each(entities)
        own = self._own[found]
        return places[own], self._document[self.chunk[found[own]]]

    def rare_beside_both(self, left: int, right: int) -> int:
        """Return the number of rare names that occur beside both names, in chunks that contain one of the two."""
        mine, yours = (set(self.chunk[self.mentions(each)].tolist()) for each in (left, right))
        both = self._named_in(mine - yours) & self._named_in(yours - mine)
        return sum(map(self._is_rare, both - {left, right}))

    def _named_in(self, chunks: set[int]) -> set[int]:
        return {entity for chunk in chunks for entity in self.entity[self._of_chunk[chunk]].tolist()}

    def _is_rare(self, entity: int) -> bool:
        """Return whether a name is in few chunks, but in more than one. Of a frequent name some mentions tell."""
        found = self._of_entity[entity]
        some = set(self.chunk[found[:_SOME]].tolist())
        return len(some) <= _RARE[-1] and len(np.unique(self.chunk[found])) in _RARE


@dataclass(frozen=True, slots=True, eq=False)
class _Groups:
    """Rows by group: those of group i are `rows[starts[i] : starts[i + 1]]`."""

    starts: Rows
    rows: SmallInts

    @classmethod
    def of(cls, n_groups: int, groups: SmallInts, *minor: SmallInts) -> "_Groups":
        """Return the rows by group; within a group by other columns, then ascending."""
        starts = np.zeros(n_groups + 1, np.int64)
        np.cumsum(np.bincount(groups, minlength=n_groups), out=starts[1:])
        return cls(starts, np.lexsort((*minor[::-1], groups)).astype(np.int32))

    def __getitem__(self, groups: int | slice) -> SmallInts:
        """Return the rows of a group, or of a run of groups."""
        first, last = (groups.start, groups.stop) if isinstance(groups, slice) else (groups, groups + 1)
        return self.rows[self.starts[first] : self.starts[last]]

    def of_each(self, groups: SmallInts) -> tuple[Rows, SmallInts]:
        """Return (places in `groups`, rows): the rows of some groups, one group after the other."""
        counts, entries = gather(self.starts, groups.astype(np.int64))
        return np.repeat(np.arange(len(groups)), counts), self.rows[entries]


def int32_of(column: "pa.ChunkedArray") -> SmallInts:
    """Return a column of whole numbers, -1 for null."""
    parts = (np.asarray(part.fill_null(-1).to_numpy(zero_copy_only=False), np.int32) for part in column.chunks)
    return np.concatenate([np.zeros(0, np.int32), *parts])


def _titles(documents: Sequence[Document], ids: "pa.ChunkedArray") -> SmallInts:
    """Return the entity that is the title of each document, -1 for none."""
    import pyarrow as pa

    titles = arrow_of(Document, documents, ["title"])["title"].chunks
    named = ([entity_id(entity_key(each)) if each.strip() else None for each in part.to_pylist()] for part in titles)
    return rows_among(pa.chunked_array([pa.array(part, pa.string()) for part in named], pa.string()), ids)
