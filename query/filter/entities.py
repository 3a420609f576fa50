"""Entities that hidden documents mention too, rebuilt from their permitted mentions: arrays, not records.

There are as many of them as permitted passages, or more, in most filtered views.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

import numpy as np
import pyarrow as pa
from conspectus.query.filter.bitmaps import Bitmaps
from conspectus.storage.arrays import Bools, Ints, runs
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Entity, Mention
from conspectus.storage.tables import codes_of, schema, taken
from conspectus.storage.text.nlp import CONCEPT, NAME, TITLE
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each
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
        self.owners: Ints = np.searchsorted(self._rows, kept.joined.entities[self.mentions])
        self.chunks = kept.joined.chunks[self.mentions]
        self.documents = kept.joined.documents[self.chunks]
        self._table = taken(index.arrow(Mention, "start", "end", "match", "surface"), self.mentions)
        self.starts, self._ends = (self._table[name].fill_null(-1).to_numpy() for name in ("start", "end"))
        self._is_named: Bools = np.asarray(compute.not_equal(self._table["match"], "alias").to_numpy(), np.bool_)

    def table(self) -> pa.Table:
        """Return the entities as their permitted mentions support them, without descriptions and degrees.

        A name is the most frequent one, counted by places as in a build. A mention does not record the type that it
        contributed, so only types that other entities have too remain; an entity that no text names is a title.
        """
        before = taken(self._index.arrow(Entity, "id", "name", "types"), self._rows)
        ids = before["id"].to_pylist()
        names: list[str] = before["name"].to_pylist()
        for row, name in self._names():
            names[row] = name
        kinds = self._kinds(ids, before["types"].to_pylist())
        order, first = runs(self.owners, self.chunks)
        columns = {
            "id": ids,
            "name": names,
            "type": [each[0] for each in kinds],
            "types": kinds,
            "description": [""] * len(ids),
            "frequency": np.bincount(self.owners[order[first]], minlength=len(ids)),
            "degree": np.zeros(len(ids), np.int64),
        }
        return pa.table(columns, schema(Entity))

    def descriptions(self, most_tokens: int) -> list[str]:
        """Return the description of each entity.

        It is the model's descriptions in permitted chunks, else the first sentence of the permitted documents that
        mentions it, else "".

        Args:
            most_tokens: the most tokens of model descriptions that are joined into one.
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
            texts[owner] = joined_texts(parts, most_tokens) or texts[owner]
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

    def _names(self) -> Iterable[tuple[int, str]]:
        """Yield the number and the name of each entity that has a mention."""
        # If only merged names remain, the canonical name is the one that hidden documents use.
        has_name = np.bincount(self.owners[self._is_named], minlength=len(self._rows)) > 0
        counted = np.flatnonzero(self._is_named | ~has_name[self.owners])
        places = (array[counted] for array in (self.owners, self.documents, self.starts, self._ends))
        order, first = runs(*places)
        once = counted[order[first]]
        owners = self.owners[once]
        codes, written = codes_of(self._table["surface"].take(once))
        surfaces = [" ".join(surface.split()) for surface in written]
        known = sorted(set(surfaces))
        number_of = {surface: number for number, surface in enumerate(known)}
        numbers = np.array([number_of[surface] for surface in surfaces], np.int64)[codes]

        order, first = runs(owners, numbers)
        counts = np.diff(first, append=len(order))
        owners, numbers = owners[order[first]], numbers[order[first]]
        best = np.lexsort((numbers, -counts, owners))
        best = best[np.unique(owners[best], return_index=True)[1]]
        return (
            (owner, known[number]) for owner, number in zip(owners[best].tolist(), numbers[best].tolist(), strict=True)
        )

    def _kinds(self, ids: list[str], before: list[list[str]]) -> list[list[str]]:
        kept = self._kept
        in_texts = np.zeros(len(ids), np.bool_)
        in_texts[self.owners[self._is_named & (self.starts >= 0)]] = True
        is_title = (kept.titled[self._rows] & ~in_texts).tolist()
        known = _plain_types(self._index, kept.intact)
        details = kept.details
        found = []
        for id_, kinds, title in zip(ids, before, is_title, strict=True):
            own = _types(known, details[id_], kept.graph) if id_ in details else known
            found.append([TITLE] if title else [kind for kind in kinds if kind in own and kind != TITLE] or [NAME])
        return found


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


def joined_texts(texts: Iterable[str], most_tokens: int) -> str:
    """Return distinct texts, sorted, until the next would exceed `most_tokens`; at least one of them."""
    distinct = sorted(set(texts) - {""})
    total = 0
    for place, length in enumerate(count_each(distinct)):
        total += length
        if place and total > most_tokens:
            return " ".join(distinct[:place])
    return " ".join(distinct)
