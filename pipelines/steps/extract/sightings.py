"""Entities and their mentions from what chunks mention, in rows of numbers.

Keys, surfaces and types are numbers, and what counts once is found by sorting. The rows are divided by their keys, so
that a part of them is sorted at a time.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from conspectus.pipelines.steps.extract.find_names import Sighting
from conspectus.storage.arrays import Bools, Ints, Rows, SmallInts, distinct, ranks, runs
from conspectus.storage.graph.edges import degrees_among
from conspectus.storage.hashing import entity_id, mention_ids
from conspectus.storage.numbering import ManyNumbers, numbering
from conspectus.storage.parted_rows import PartedRows
from conspectus.storage.records import Chunk, Entity, Mention, Relation
from conspectus.storage.spilled import SortedRows, few_as_list, rows_by_id
from conspectus.storage.tables import arrow_of, batches_of, codes_of, schema, taken
from conspectus.storage.text.nlp import CONCEPT, TITLE

if TYPE_CHECKING:
    import pyarrow as pa

_MATCHES = ("exact", "alias", "chunk")
_ALIAS = _MATCHES.index("alias")
_NUMBER_OF_MATCH = {match: number for number, match in enumerate(_MATCHES)}
_MENTIONS_AT_ONCE = 16_384
"""Mentions made from Python objects at once."""


class SightingColumns(NamedTuple):
    """The numbers of each sighting's key, surface, type and chunk, its span, and its kind of match; -1 is none."""

    key: SmallInts
    surface: SmallInts
    type: SmallInts
    chunk: SmallInts
    start: SmallInts
    end: SmallInts
    match: SmallInts

    def where(self, wanted: Bools | Rows) -> "SightingColumns":
        """Return some of the sightings."""
        return SightingColumns(*(column[wanted] for column in self))


class Sightings:
    """Sightings in rows of numbers, divided by their keys.

    Keys, surfaces and types are numbered as they come; a chunk has the number of its row. `keys` and `surfaces` give a
    text several numbers; what is read has the final ones, the places of `key_texts` and `surface_texts`.

    Args:
        chunks: The chunks, sorted by id if they are a table.
        sightings: The first sightings in them.
    """

    def __init__(self, chunks: Sequence[Chunk], sightings: Iterable[Sighting] = ()) -> None:
        self.chunks = chunks
        self.keys, self.surfaces, self.types = ManyNumbers(), ManyNumbers(), numbering()
        self.row_of = rows_by_id(chunks)
        self._rows = PartedRows(len(SightingColumns._fields))
        self.add(sightings)

    def add(self, sightings: Iterable[Sighting]) -> None:
        """Add sightings."""
        keys, surfaces, types = self.keys, self.surfaces, self.types
        numbers: list[int] = []
        of, row = None, -1
        for chunk, key, surface, kind, start, end, match in sightings:
            if chunk is not of:
                of, row = chunk, self.row_of[chunk.id]
            span = (-1 if start is None else start, -1 if end is None else end)
            type_ = -1 if kind is None else types[kind]
            numbers += (keys[key], surfaces[surface], type_, row, *span, _NUMBER_OF_MATCH[match])
            if len(numbers) > _NUMBERS_AT_ONCE:
                self._rows.add(numbers)
                numbers = []
        self._rows.add(numbers)

    def parts(self) -> Iterator[SightingColumns]:
        """Yield the sightings, all those of a key together, in the order in which they were added."""
        (key_of, _), (surface_of, _) = self.keys.settled, self.surfaces.settled
        for rows in self._rows.parts():
            key, surface, *others = rows.T
            yield SightingColumns(key_of[key], surface_of[surface], *map(np.ascontiguousarray, others))

    @property
    def key_texts(self) -> "pa.Array":
        """The text of each key, once all are numbered."""
        return self.keys.settled[1]

    @property
    def surface_texts(self) -> "pa.Array":
        """The text of each surface, once all are numbered."""
        return self.surfaces.settled[1]

    def key_of(self, numbers: SmallInts) -> SmallInts:
        """Return the final numbers of keys, once all are numbered."""
        return self.keys.settled[0][numbers]

    @cached_property
    def entity_ids(self) -> "pa.Array":
        """The id of the entity of each key, once all are numbered."""
        import pyarrow as pa

        ids = (entity_id.__wrapped__(key.as_py()) for key in self.key_texts)  # each once: a cache would only be filled
        return pa.array(ids, pa.string(), size=len(self.key_texts))

    @cached_property
    def document_of(self) -> SmallInts:
        """The number of the document of each chunk."""
        codes, _ = codes_of(arrow_of(Chunk, self.chunks, ["document_id"])["document_id"])
        return codes.astype(np.int32)

    def kept(self, stated: Bools) -> Bools:
        """Return which keys become entities: all names, and noun phrases with a relation or a second mention.

        Args:
            stated: (keys,) Which keys stand in a relation.
        """
        kept, sighted = np.zeros((2, len(self.key_texts)), np.bool_)
        concept = self.types[CONCEPT]
        for found in self.parts():
            order, starts = runs(found.key, self.document_of[found.chunk], found.start)
            keys, places = np.unique(found.key[order[starts]], return_counts=True)
            kept[keys[places > 1]] = True
            kept[found.key[found.type != concept]] = True
            sighted[keys] = True
        return kept | (sighted & stated)


_NUMBERS_AT_ONCE = 1 << 16


def entities_of(
    sightings: Sightings,
    relations: Sequence[Relation],
    mentions: "SortedRows[Mention]",
    untyped: Callable[[str], str] = lambda _: TITLE,
    kept: Bools | None = None,
) -> Sequence[Entity]:
    """Return the entities, sorted by id, and add their mentions, without repeats, to `mentions`.

    `untyped` gives the type of a key that no sighting has a type for; `kept` are the keys of entities (all if None).
    """
    entities, make = SortedRows(Entity), _EntityMaker(sightings, relations, untyped)
    for found in sightings.parts():
        own = found if kept is None else found.where(kept[found.key])
        keys, key = np.unique(own.key, return_inverse=True)
        entities.add(make.entities(own, keys, key))
        make.add_mentions(own, key, mentions)
    return few_as_list(entities.rows())


class _EntityMaker:
    """Makes entities and mentions of the sightings of some keys. `keys` are their numbers, `key` the place of each
    sighting's key among these."""

    def __init__(self, sightings: Sightings, relations: Sequence[Relation], untyped: Callable[[str], str]) -> None:
        self._keys, self._surfaces, self._types = sightings.key_texts, sightings.surface_texts, list(sightings.types)
        self._ids, self._document_of, self._untyped = sightings.entity_ids, sightings.document_of, untyped
        self._degrees = degrees_among(relations, self._ids)
        self._chunks = arrow_of(Chunk, sightings.chunks, ["id"])
        self._batches = batches_of(self._chunks)

    def entities(self, found: SightingColumns, keys: SmallInts, key: Ints) -> "pa.Table":
        """Return the entities of some keys."""
        import pyarrow as pa

        order, starts = runs(key, self._document_of[found.chunk], found.start, found.end)
        place = np.empty(len(order), np.int64)
        place[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
        names, types = self._names(found, key, place, order, len(keys)), self._types_of(found, key, place, len(keys))
        in_chunks = np.bincount(distinct(key << 32 | found.chunk) >> 32, minlength=len(keys))
        texts = self._keys.take(pa.array(keys)).to_pylist()
        kinds = [found or [self._untyped(text)] for found, text in zip(types.lists(), texts, strict=True)]
        columns = [
            self._ids.take(pa.array(keys)),
            [found[0] if found else text for found, text in zip(names.lists(1), texts, strict=True)],
            [found[0] for found in kinds],
            kinds,
            [""] * len(keys),
            in_chunks,
            self._degrees[keys],
        ]
        return pa.table(columns, schema=schema(Entity))

    def _names(self, found: SightingColumns, key: Ints, place: Ints, order: Rows, n_keys: int) -> "_Ranked":
        """Return the forms of each name: the first at each place, unless it is the short form of a title."""
        import pyarrow as pa

        named = order[found.match[order] != _ALIAS]
        named = named[np.diff(place[named], prepend=-1) != 0]
        numbers, surface = np.unique(found.surface[named], return_inverse=True)
        forms = numbering()
        surfaces = self._surfaces.take(pa.array(numbers)).to_pylist()
        form = np.array([forms[" ".join(text.split())] for text in surfaces], np.int64)
        return _Ranked(key[named], form[surface], list(forms), n_keys)

    def _types_of(self, found: SightingColumns, key: Ints, place: Ints, n_keys: int) -> "_Ranked":
        typed = np.flatnonzero(found.type >= 0)
        typed = typed[np.unique(place[typed] * len(self._types) + found.type[typed], return_index=True)[1]]
        return _Ranked(key[typed], found.type[typed], self._types, n_keys)

    def add_mentions(self, found: SightingColumns, key: Ints, mentions: "SortedRows[Mention]") -> None:
        """Add the mentions of some keys: the first at each place of a chunk."""
        import pyarrow as pa

        kinds = pa.array(_MATCHES)
        order, starts = runs(key << 32 | found.chunk, found.start, found.end)
        rows = np.sort(order[starts])
        for first in range(0, len(rows), _MENTIONS_AT_ONCE):
            some = found.where(rows[first : first + _MENTIONS_AT_ONCE])
            chunks = taken(self._chunks, some.chunk.astype(np.int64), self._batches)["id"].combine_chunks()
            owners = self._ids.take(pa.array(some.key))
            span = [pa.array(column, pa.int64(), mask=some.start < 0) for column in (some.start, some.end)]
            ids = mention_ids(*(column.to_pylist() for column in (chunks, owners, *span)))
            surfaces = self._surfaces.take(pa.array(some.surface)).to_pylist()
            match = kinds.take(pa.array(some.match))
            mentions.add(mention_table(ids, chunks, owners, None, *span, match, surfaces))


class _Ranked:
    """The texts of the values of each group, the most frequent first, ties in alphabetical order."""

    def __init__(self, groups: Ints, values: SmallInts | Ints, texts: Sequence[str], n_groups: int) -> None:
        pairs, counts = np.unique(groups * (len(texts) or 1) + values, return_counts=True)
        group, value = np.divmod(pairs, len(texts) or 1)
        order = np.lexsort((ranks(texts)[value], -counts, group))
        self._texts, self._values = texts, value[order].tolist()
        self._bounds = np.searchsorted(group[order], np.arange(n_groups + 1)).tolist()

    def lists(self, most: int | None = None) -> Iterator[list[str]]:
        """Yield the texts of each group, or only the first ones."""
        start = 0
        for end in self._bounds[1:]:
            last = end if most is None else min(end, start + most)
            yield [self._texts[value] for value in self._values[start:last]]
            start = end


def mention_table(
    ids: Sequence[str],
    chunks: "pa.Array | Sequence[str]",
    entities: "pa.Array | None",
    relations: "Sequence[str] | None",
    *others: "pa.Array | Sequence[str]",
) -> "pa.Table":
    """Return mentions of entities or of relations; the last columns are start, end, match and surface."""
    import pyarrow as pa

    nothing, no_text = pa.nulls(len(ids), pa.string()), pa.repeat("", len(ids))
    owners = (nothing if entities is None else entities, nothing if relations is None else relations)
    return pa.table([ids, chunks, *owners, *others, no_text], schema=schema(Mention))
