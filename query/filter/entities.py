"""Entities that hidden documents mention too, rebuilt from their permitted mentions: arrays, not records.

There are as many of them as permitted passages, or more, in most filtered views.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

import numpy as np
import pyarrow as pa
from conspectus.query.filter.bitmaps import Bitmaps, is_in
from conspectus.storage.arrays import Bools, Ints, Rows, distinct, runs
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Entity, Mention
from conspectus.storage.tables import codes_of, schema, taken
from conspectus.storage.text.nlp import CONCEPT, NAME, TITLE
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import DESCRIPTION_TOKENS, count_each
from pyarrow import compute


class ChangedEntities:
    """The c entities that remain and are not intact, and their m permitted mentions, both in table order.

    Args:
        index: the whole index.
        kept: the rows that remain.

    Attributes:
        which: the entities, (entities of the index,).
        mentions: the rows of the mentions, (m,).
        owners: the number of each mention's entity, 0 to c - 1, (m,).
        chunks: the row of its chunk, (m,).
        documents: the row of its document, (m,).
        starts: its first character in the document, -1 for none, (m,).
    """

    def __init__(self, index: StoredIndex, kept: Bitmaps) -> None:
        self._index = index
        self._kept = kept
        self.which: Bools = kept.entities & ~kept.intact
        self._rows = np.flatnonzero(self.which)
        self.mentions = kept.mentions_of(self.which)
        self.owners: Ints = (np.cumsum(self.which) - 1)[kept.joined.entities[self.mentions]]
        self.chunks = kept.joined.chunks[self.mentions]
        self.documents = kept.joined.documents[self.chunks]
        self._table = taken(index.arrow(Mention, "start", "match", "surface"), self.mentions)
        self.starts: Ints = self._table["start"].fill_null(-1).to_numpy()
        self._is_named: Bools = np.asarray(compute.not_equal(self._table["match"], "alias").to_numpy(), np.bool_)

    def table(self) -> pa.Table:
        """Return the entities as their permitted mentions support them, without descriptions and degrees.

        A name is the most frequent one, counted by places as in a build. A mention does not record the type that it
        contributed, so only types that other entities have too remain; an entity that no text names is a title.
        """
        before = taken(self._index.arrow(Entity, "id", "name", "types"), self._rows)
        owners, names = self._names()
        kinds = self._kinds(before["id"], before["types"])
        columns = {
            "id": before["id"],
            "name": put(before["name"], owners, names),
            "type": compute.list_element(kinds, 0),
            "types": kinds,
            "description": pa.repeat("", len(before)),
            "frequency": np.bincount(distinct(self.owners << 32 | self.chunks) >> 32, minlength=len(before)),
            "degree": np.zeros(len(before), np.int64),
        }
        return pa.table(columns, schema(Entity))

    def descriptions(self) -> list[str]:
        """Return the description of each entity.

        It is the model's descriptions in permitted chunks, else the first sentence of the permitted documents that
        mentions it, else "".
        """
        texts = [""] * len(self._rows)
        for owner, sentence in self._sentences():
            texts[owner] = sentence
        told: defaultdict[int, list[str]] = defaultdict(list)
        if self._kept.graph and self._kept.details:
            ids = taken(self._index.arrow(Entity, "id"), self._rows)["id"].to_pylist()
            for owner, id_ in enumerate(ids):
                rows = self._kept.details.get(id_, ())
                told[owner] += [row["description"] for row in rows if "description" in row]
        own = taken(self._index.arrow(Mention, "description"), self.mentions)["description"]
        with_one = np.flatnonzero(compute.not_equal(own, "").to_numpy())
        for owner, text in zip(self.owners[with_one].tolist(), own.take(with_one).to_pylist(), strict=True):
            told[owner] += text.split("\n")  # a line for each description
        for owner, parts in told.items():
            texts[owner] = joined_texts(parts) or texts[owner]
        return texts

    def _sentences(self) -> Iterator[tuple[int, str]]:
        """Yield the number of each entity that a text mentions, and the first sentence that does."""
        placed = np.flatnonzero(self.starts >= 0)
        order = np.lexsort((self.starts[placed], self.documents[placed], self.owners[placed]))
        firsts = placed[order[np.unique(self.owners[placed[order]], return_index=True)[1]]]
        firsts = firsts[np.argsort(self.chunks[firsts], kind="stable")]
        surfaces = self._table["surface"].take(firsts).to_pylist()
        chunks, of_first = np.unique(self.chunks[firsts].astype(np.int64), return_inverse=True)
        table = taken(self._index.arrow(Chunk, "start", "text"), chunks)
        starts, texts = table["start"].to_pylist(), table["text"].to_pylist()
        spans: list[tuple[int, int]] = []
        before = -1
        for first, chunk, surface in zip(firsts.tolist(), of_first.tolist(), surfaces, strict=True):
            text, at = texts[chunk], int(self.starts[first]) - starts[chunk]
            if chunk != before:
                spans, before = sentence_spans(text), chunk
            around = next((text[start:end] for start, end in spans if start <= at < end), surface)
            yield int(self.owners[first]), " ".join(around.split())

    def _names(self) -> tuple[Ints, pa.Array]:
        """Return the number of each entity that has a mention, and its name."""
        # If only merged names remain, the canonical name is the one that hidden documents use.
        has_name = np.bincount(self.owners[self._is_named], minlength=len(self._rows)) > 0
        counted = np.flatnonzero(self._is_named | ~has_name[self.owners])
        codes, written = codes_of(self._table["surface"].take(counted))
        surfaces = [" ".join(surface.split()) for surface in written]
        known = sorted(set(surfaces))
        number_of = {surface: number for number, surface in enumerate(known)}
        numbers = np.array([number_of[surface] for surface in surfaces], np.int64)[codes]

        owners = self.owners[counted]
        name_of = np.full(len(self._rows), -1)
        name_of[owners] = numbers
        has_several = np.zeros(len(self._rows), np.bool_)
        has_several[owners[name_of[owners] != numbers]] = True
        among = np.flatnonzero(has_several[owners])
        places = (array[counted[among]] for array in (self.owners, self.documents, self.starts))
        ends = taken(self._index.arrow(Mention, "end"), self.mentions[counted[among]])["end"].fill_null(-1)
        order, first = runs(*places, ends.to_numpy())
        once = among[order[first]]
        order, first = runs(owners[once], numbers[once])
        counts = np.diff(first, append=len(order))
        owners, numbers = owners[once[order[first]]], numbers[once[order[first]]]
        best = np.lexsort((-numbers, counts, owners))
        name_of[owners[best]] = numbers[best]  # the last, and so the best, of each
        named = np.flatnonzero(name_of >= 0)
        return named, pa.array(known, pa.string()).take(name_of[named])

    def _kinds(self, ids: pa.ChunkedArray, before: pa.ChunkedArray) -> pa.ChunkedArray:
        kept, details = self._kept, self._kept.details
        in_texts = np.zeros(len(ids), np.bool_)
        in_texts[self.owners[self._is_named & (self.starts >= 0)]] = True
        is_title: Bools = kept.titled[self._rows] & ~in_texts
        known = _plain_types(self._index, kept.intact)
        codes, kinds = codes_of(compute.list_flatten(before))
        lengths = compute.list_value_length(before).to_numpy()
        is_kept = np.array([kind in known and kind != TITLE for kind in kinds], np.bool_)[codes]
        owners = np.repeat(np.arange(len(lengths)), lengths)
        differs = is_title | (lengths == 0) | (np.bincount(owners[~is_kept], minlength=len(lengths)) > 0)
        if details:
            differs |= is_in(ids, details)
        rows = np.flatnonzero(differs)
        found = []
        changed = zip(ids.take(rows).to_pylist(), before.take(rows).to_pylist(), is_title[rows].tolist(), strict=True)
        for id_, own, title in changed:
            types = _types(known, details[id_], kept.graph) if id_ in details else known
            found.append([TITLE] if title else [kind for kind in own if kind in types and kind != TITLE] or [NAME])
        return put(before, rows, pa.array(found, before.type))


def put(column: pa.ChunkedArray, rows: Rows, values: pa.Array) -> pa.ChunkedArray:
    """Return a column with other values at some rows."""
    order = np.arange(len(column))
    order[rows] = len(column) + np.arange(len(rows))
    return pa.chunked_array([*column.chunks, values.cast(column.type)]).combine_chunks().take(order)


def _plain_types(index: StoredIndex, intact: Bools) -> frozenset[str]:
    """Return the types that reveal nothing of hidden documents: the extractor's, and those of intact entities."""
    configured = index.manifest.settings["extraction"].get("entity_types") or ()
    own = compute.list_flatten(index.arrow(Entity, "types").column("types").filter(intact)).unique().to_pylist()
    return frozenset([CONCEPT, NAME, *map(entity_key, configured), *own])


def _types(types: AbstractSet[str], details: Iterable[Mapping[str, str]], graph: bool) -> AbstractSet[str]:
    """Return the types that an entity may keep: those of an imported graph only if the graph is permitted."""
    imported = {kind for row in details for kind in _listed_types(row.get("types", ""))}
    return types | imported if graph else types - imported


def _listed_types(text: str) -> tuple[str, ...]:
    """Return the types of a JSON list; a graph's own attribute of that name may be any text."""
    try:
        values = json.loads(text) if text.startswith("[") else []
    except (ValueError, RecursionError):
        return ()
    return tuple(value for value in values if isinstance(value, str))


def joined_texts(texts: Iterable[str]) -> str:
    """Return distinct texts, sorted, until the next would exceed `DESCRIPTION_TOKENS`; at least one of them."""
    known = sorted(set(texts) - {""})
    total = 0
    for place, length in enumerate(count_each(known)):
        total += length
        if place and total > DESCRIPTION_TOKENS:
            return " ".join(known[:place])
    return " ".join(known)
