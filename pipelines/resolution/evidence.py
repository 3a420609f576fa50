"""What the documents say about each name: where it is mentioned, and which documents have it as their title.

Everything is a column of row numbers, made once from the tables; nothing is held by name.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from conspectus.storage.arrays import Bools, Ints, SmallInts
from conspectus.storage.hashing import entity_id
from conspectus.storage.joins import Groups
from conspectus.storage.records import Chunk, Document, Entity, Mention
from conspectus.storage.spilled import text_column
from conspectus.storage.tables import arrow_of, rows_among
from conspectus.storage.text.normalise import entity_key

if TYPE_CHECKING:
    import pyarrow as pa


class Located(NamedTuple):
    """A mention at characters [start, end) of the text of a chunk, -1 without a span. Entity and chunk are rows."""

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
        entity, chunk, start, end: (m,) columns of the mentions; the characters are those of the document.
        title: (d,) the row of the entity that is the title of each document, -1 for none.
        entity_ids: (n,) the ids of entities; like the texts, each is read when it is asked for.
        texts: (d,) the texts of documents.
        chunk_texts: (c,) the texts of chunks.
        begins: (c,) where each chunk begins in its document.
        document: (c,) the document of each chunk.
        titled: the documents with each entity as title.
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
        of_chunks = arrow_of(Chunk, chunks, ["id", "document_id", "start"])
        documents_, ids = arrow_of(Document, documents, ["id", "title"]), arrow_of(Entity, entities, ["id"])["id"]
        self.begins = int32_of(of_chunks["start"])
        self.document = rows_among(of_chunks["document_id"], documents_["id"])
        table = arrow_of(Mention, mentions, ["entity_id", "chunk_id", "start", "end", "match"])
        owners = rows_among(table["entity_id"], ids)
        kept = np.flatnonzero(owners >= 0)
        self.entity = owners[kept]
        self.chunk = rows_among(table["chunk_id"], of_chunks["id"])[kept]
        self.start, self.end = (int32_of(table[name])[kept] for name in ("start", "end"))
        self._own = compute.not_equal(table["match"], "alias").to_numpy()[kept]
        del owners, kept
        self._of_entity = Groups.of(self.entity, None, len(entities))
        self._of_chunk = Groups.of(self.chunk, None, len(chunks))
        self.title = _titles(documents_["title"], ids)
        self.titled = Groups.of(self.title, None, len(entities))
        self._marked = np.zeros(len(self.title), np.bool_)

    def mentions(self, entity: int, *, aliases: bool = False) -> Ints:
        """Return the mentions of an entity in the order of their ids, on request also its titles' short forms."""
        found = self._of_entity[entity]
        return found if aliases else found[self._own[found]]

    def first_offsets(self, entity: int) -> dict[int, int]:
        """Return the documents that contain a name, and its first offset in each, -1 if it is the title."""
        found = self.mentions(entity)
        places: dict[int, int] = {}
        for document, start in zip(self.document[self.chunk[found]].tolist(), self.start[found].tolist(), strict=True):
            if start < places.get(document, start + 1):
                places[document] = start
        return places

    def after(self, entity: int, most: int, characters: int) -> Iterator[str]:
        """Yield the text after each of the first mentions of an entity that have a span."""
        for mention in self.located(self.mentions(entity)[:most]):
            if mention.start >= 0:
                yield self.chunk_texts[mention.chunk][mention.end : mention.end + characters]

    def in_text(self, chunk: int, known: Bools) -> list[Located]:
        """Return the mentions of known names with a span in a chunk, in the order of its text."""
        found = self._of_chunk[chunk]
        found = found[(self.start[found] >= 0) & self._own[found] & known[self.entity[found]]]
        return sorted(self.located(found), key=lambda mention: (mention.start, mention.end))

    def located(self, mentions: Ints) -> list[Located]:
        """Return some mentions."""
        chunks, starts, ends = self.chunk[mentions], self.start[mentions], self.end[mentions]
        begins = np.where(starts < 0, 0, self.begins[chunks])
        columns = (self.entity[mentions], chunks, starts - begins, ends - begins)
        return list(map(Located._make, zip(*(column.tolist() for column in columns), strict=True)))

    def sharing(self, entity: int, others: Sequence[int]) -> list[int]:
        """Return those of some names that stand in a document with a name, without itself."""
        own = self.document[self.chunk[self.mentions(entity)]]
        rows = np.array(others, np.int64)
        places, found = self._of_entity.of_each(rows)
        self._marked[own] = True
        of_others = self._own[found] & self._marked[self.document[self.chunk[found]]]
        self._marked[own] = False
        shared: list[int] = rows[np.unique(places[of_others])].tolist()
        return [other for other in shared if other != entity]


def int32_of(column: "pa.ChunkedArray") -> SmallInts:
    """Return a column of whole numbers, -1 for null."""
    parts = (np.asarray(part.fill_null(-1).to_numpy(zero_copy_only=False), np.int32) for part in column.chunks)
    return np.concatenate([np.zeros(0, np.int32), *parts])


def _titles(titles: "pa.ChunkedArray", ids: "pa.ChunkedArray") -> SmallInts:
    """Return the entity that is the title of each document, -1 for none."""
    import pyarrow as pa

    named = (
        [entity_id(entity_key(each)) if each.strip() else None for each in part.to_pylist()] for part in titles.chunks
    )
    return rows_among(pa.chunked_array([pa.array(part, pa.string()) for part in named], pa.string()), ids)
