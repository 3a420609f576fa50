"""Merge name mentions and triples of all chunks into entities, relations and mentions.

An entity's key is its NFKC, case-folded name, not its type: one name is one node. Its display name is the most
frequent surface and its type the majority, ties in alphabetical order. Two mentions with one span of one document
(overlapping chunks repeat text) count once in every weight.

Sightings are columns of numbers: keys, places, surfaces and types are numbered once, and what counts once is found by
sorting.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from conspectus.pipelines.steps.extract.find_names import ChunkSightings, Sighting, known_names, see, title_sightings
from conspectus.storage.arrays import Ints, SmallInts, ranks, runs
from conspectus.storage.graph.edges import degrees_of
from conspectus.storage.hashing import entity_id, mention_id, short_id
from conspectus.storage.mapped import TableRows
from conspectus.storage.numbering import numbering
from conspectus.storage.records import Chunk, Document, Entity, Mention, Relation
from conspectus.storage.settings import NameSettings
from conspectus.storage.spilled import SortedRows, few_as_list, in_blocks, rows_by_id, sorted_rows, spilled, text_column
from conspectus.storage.tables import arrow_of, schema
from conspectus.storage.text.identifiers import IDENTIFIERS
from conspectus.storage.text.names import NameMatcher
from conspectus.storage.text.nlp import CONCEPT, TITLE, Annotation, Annotations, Triple
from conspectus.storage.text.normalise import entity_key

if TYPE_CHECKING:
    import pyarrow as pa

_MATCHES = ("exact", "alias", "chunk")
_ALIAS = _MATCHES.index("alias")
_ROWS_AT_ONCE = 50_000
"""Rows made from Python objects at once."""


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The entities, relations and mentions of a corpus, each sorted by id. Descriptions are added in a later step."""

    entities: Sequence[Entity]
    relations: Sequence[Relation]
    mentions: Sequence[Mention]


def merge(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    annotations: Sequence[Annotation],
    settings: NameSettings,
) -> Knowledge:
    """Return the entities, relations and mentions of all chunks (`annotations` in the order of `chunks`)."""
    return knowledge_of(*_read(documents, chunks, annotations, settings))


def _read(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    annotations: Sequence[Annotation],
    settings: NameSettings,
) -> "tuple[Sightings, Statements]":
    """Return what the chunks mention and state; the names looked for are not kept."""
    columns = annotations if isinstance(annotations, Annotations) else Annotations(annotations)
    named = columns.texts_of(lambda kind: kind != CONCEPT and kind not in IDENTIFIERS)
    known = known_names(documents, named, settings)
    matcher = NameMatcher(known)
    sightings = Sightings()
    stated = Statements(chunks)
    for chunk, annotation in zip(chunks, annotations, strict=True):
        seen = see(chunk, annotation, matcher)
        sightings.add(seen.sightings)
        stated.add(statements([seen], [annotation]))
    sightings.add(title_sightings(documents, chunks, known))
    return sightings, stated


class Sightings:
    """Sightings in columns of numbers, in the order in which they were added.

    Keys, surfaces, types, chunks and documents are numbered as they come; -1 is none.
    """

    def __init__(self, sightings: Iterable[Sighting] = ()) -> None:
        self.keys, self.surfaces, self.types, self.chunks, self.documents = (numbering() for _ in range(5))
        self._columns = tuple(array("i") for _ in range(8))
        self.add(sightings)

    def add(self, sightings: Iterable[Sighting]) -> None:
        """Add sightings."""
        key, surface, kind, chunk, document, start, end, match = (column.append for column in self._columns)
        for each in sightings:
            key(self.keys[each.key])
            surface(self.surfaces[each.surface])
            kind(-1 if each.type is None else self.types[each.type])
            chunk(self.chunks[each.chunk.id])
            document(self.documents[each.chunk.document_id])
            start(-1 if each.start is None else each.start)
            end(-1 if each.end is None else each.end)
            match(_MATCHES.index(each.match))

    def columns(self) -> "SightingColumns":
        """Return the columns of what was added, not copied: nothing can be added while they are in use."""
        return SightingColumns(*(np.frombuffer(column, np.int32) for column in self._columns))


class SightingColumns(NamedTuple):
    """The numbers of each sighting's key, surface, type, chunk and document, its span, and its kind of match."""

    key: SmallInts
    surface: SmallInts
    type: SmallInts
    chunk: SmallInts
    document: SmallInts
    start: SmallInts
    end: SmallInts
    match: SmallInts

    def distinct(self, rows: Ints, *names: str) -> Ints:
        """Return the first of some rows for each distinct combination of columns, in the order of the combinations."""
        return rows[_distinct(*(getattr(self, name)[rows] for name in names))]


def _distinct(*columns: SmallInts) -> Ints:
    """Return the first place of each distinct combination, in the order of the combinations."""
    order, starts = runs(*columns)
    return order[starts]


class _Ranked:
    """The texts of the values of each group, the most frequent first, ties in alphabetical order."""

    def __init__(self, groups: SmallInts, values: Ints | SmallInts, texts: Sequence[str], n_groups: int) -> None:
        pairs, counts = np.unique(groups * np.int64(len(texts) or 1) + values, return_counts=True)
        group, value = np.divmod(pairs, len(texts) or 1)
        order = np.lexsort((ranks(texts)[value], -counts, group))
        self._texts, self._values = texts, value[order]
        self._starts = np.searchsorted(group[order], np.arange(n_groups + 1))

    def __getitem__(self, group: int) -> list[str]:
        own = self._values[self._starts[group] : self._starts[group + 1]].tolist()
        return [self._texts[each] for each in own]


def knowledge_of(sightings: Sightings, stated: "Statements") -> Knowledge:
    """Return the entities, the relations between retained entities, and the mentions of both."""
    kept, mentions = _kept_keys(sightings, stated), SortedRows(Mention)
    relations = _relations(stated, kept, mentions)
    entities = entities_of(sightings, relations, mentions, kept=kept)
    return Knowledge(entities, relations, mentions.rows())


class StatedTriple(NamedTuple):
    """A triple of one chunk between entity keys; [start, end) is its sentence, in document offsets.

    If the sentence is unknown, both are None, and `told` contains the words of the triple.
    """

    chunk: Chunk
    source: str
    predicate: str
    target: str
    start: int | None
    end: int | None
    told: str = ""


class Statements:
    """Triples that chunks state, in columns of numbers, in the order in which they were added; -1: an unknown offset.

    A chunk has the number of its row; keys, predicates and words told are numbered as they come.
    """

    def __init__(self, chunks: Sequence[Chunk], stated: Iterable[StatedTriple] = ()) -> None:
        self.chunks = chunks
        self.keys, self.predicates, self.told = (numbering() for _ in range(3))
        self._row_of = rows_by_id(chunks)
        self._columns = tuple(array("i") for _ in range(7))
        self.add(stated)

    def add(self, stated: Iterable[StatedTriple]) -> None:
        """Add triples."""
        for each in stated:
            ends = (-1 if each.start is None else each.start, -1 if each.end is None else each.end)
            keys = (self.keys[each.source], self.predicates[each.predicate], self.keys[each.target])
            row = (self._row_of[each.chunk.id], *keys, *ends, self.told[each.told])
            for column, value in zip(self._columns, row, strict=True):
                column.append(value)

    def columns(self) -> tuple[SmallInts, ...]:
        """Return chunk, source, predicate, target, start, end and words told of each triple."""
        return tuple(np.frombuffer(column, np.int32) for column in self._columns)


def statements(seen: Sequence[ChunkSightings], annotations: Sequence[Annotation]) -> Iterable[StatedTriple]:
    """Yield the triples of annotated chunks between the entities that their phrases refer to."""
    for one, annotation in zip(seen, annotations, strict=True):
        for triple in annotation.triples:
            statement = _statement(one, triple)
            if statement.source and statement.target and statement.source != statement.target:
                yield statement


def _statement(one: ChunkSightings, triple: Triple) -> StatedTriple:
    offset = one.chunk.start
    source, target = one.stands_for[triple.subject], one.stands_for[triple.object]
    return StatedTriple(
        one.chunk,
        source,
        " ".join(triple.predicate.split()),
        target,
        offset + triple.start,
        offset + triple.end,
    )


def _kept_keys(sightings: Sightings, stated: Statements) -> set[str]:
    """Return the keys that become entities: all names, and noun phrases with a relation or a second mention."""
    found = sightings.columns()
    places = found.key[_distinct(found.key, found.document, found.start)]
    kept = np.bincount(places, minlength=len(sightings.keys)) > 1
    kept[found.key[found.type != sightings.types[CONCEPT]]] = True
    return {key for key, number in sightings.keys.items() if kept[number] or key in stated.keys}


def entities_of(
    sightings: Sightings,
    relations: Sequence[Relation],
    mentions: "SortedRows[Mention]",
    untyped: Callable[[str], str] = lambda _: TITLE,
    kept: set[str] | None = None,
) -> Sequence[Entity]:
    """Return the entities, sorted by id, and add their mentions, without repeats, to `mentions`.

    `untyped` gives the type of a key that no sighting has a type for; `kept` are the keys of entities (all if None).
    """
    keys, found = list(sightings.keys), sightings.columns()
    is_kept = np.array([kept is None or key in kept for key in keys], np.bool_)
    rows = np.flatnonzero(is_kept[found.key])
    entities = sorted_rows(Entity, _entities(keys, rows, sightings, degrees_of(relations), untyped))
    _add_mentions(np.sort(found.distinct(rows, "chunk", "key", "start", "end")), sightings, mentions)
    return few_as_list(entities)


def _entities(
    keys: Sequence[str],
    rows: Ints,
    sightings: Sightings,
    degrees: Mapping[str, int],
    untyped: Callable[[str], str],
) -> Iterator[Entity]:
    """Yield the entities of some sightings."""
    found = sightings.columns()
    named = found.distinct(rows[found.match[rows] != _ALIAS], "key", "document", "start", "end")
    written = numbering()
    spelt = np.array([written[" ".join(surface.split())] for surface in sightings.surfaces], np.int64)
    names = _Ranked(found.key[named], spelt[found.surface[named]], list(written), len(keys))
    typed = found.distinct(rows[found.type[rows] >= 0], "key", "document", "start", "end", "type")
    types = _Ranked(found.key[typed], found.type[typed], list(sightings.types), len(keys))
    del written, spelt, named, typed
    frequency = np.bincount(found.key[found.distinct(rows, "key", "chunk")], minlength=len(keys))
    for number, key in enumerate(keys):
        if times := int(frequency[number]):
            id_, kinds = entity_id(key), tuple(types[number] or [untyped(key)])
            name = (names[number] or [key])[0]
            yield Entity(id_, name, kinds[0], kinds, "", times, degrees.get(id_, 0))


def _add_mentions(rows: Ints, sightings: Sightings, mentions: "SortedRows[Mention]") -> None:
    """Add the mentions of entities at some sightings."""
    import pyarrow as pa

    found, kinds = sightings.columns(), pa.array(_MATCHES)
    chunk_ids, owners = list(sightings.chunks), list(map(entity_id, sightings.keys))
    chunks, entities, surfaces = (pa.array(each, pa.string()) for each in (chunk_ids, owners, list(sightings.surfaces)))
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        chunk, key, surface, start, end, match = (
            column[rows[first : first + _ROWS_AT_ONCE]]
            for column in (found.chunk, found.key, found.surface, found.start, found.end, found.match)
        )
        starts, ends = (pa.array(column, pa.int64(), mask=start < 0) for column in (start, end))
        places = zip(chunk.tolist(), key.tolist(), starts.to_pylist(), ends.to_pylist(), strict=True)
        ids = pa.array([mention_id(chunk_ids[of], owners[by], *span) for of, by, *span in places], pa.string())
        of_chunk, owner, written = chunks.take(chunk), entities.take(key), surfaces.take(surface)
        mentions.add(_mention_table(ids, of_chunk, owner, None, starts, ends, kinds.take(match), written))


def _mention_table(
    ids: "pa.Array", chunks: "pa.Array", entities: "pa.Array | None", relations: "pa.Array | None", *others: "pa.Array"
) -> "pa.Table":
    """Return mentions of entities or of relations; the last columns are start, end, match and surface."""
    import pyarrow as pa

    nothing, no_text = pa.nulls(len(ids), pa.string()), pa.repeat("", len(ids))
    columns = [ids, chunks, entities or nothing, relations or nothing, *others, no_text]
    return pa.table(columns, schema=schema(Mention))


def _relations(stated: Statements, kept: set[str], mentions: "SortedRows[Mention]") -> TableRows[Relation]:
    """Return the relations between entities, sorted by id, and add their mentions to `mentions`."""
    import pyarrow as pa

    keys, folded = list(stated.keys), numbering()
    same = np.array([folded[entity_key(predicate)] for predicate in stated.predicates], np.int64)
    is_kept = np.array([key in kept for key in keys], np.bool_)
    columns = stated.columns()
    _, source, predicate, target, *_ = columns
    rows = np.flatnonzero(is_kept[source] & is_kept[target])
    order, starts = runs(source[rows], same[predicate[rows]], target[rows])
    rows = rows[order]
    relations, instances = SortedRows(Relation), _Instances(stated)
    for first in range(0, len(starts), _ROWS_AT_ONCE):
        block = starts[first : first + _ROWS_AT_ONCE + 1].tolist()
        block += [len(rows)] if len(block) <= _ROWS_AT_ONCE else []
        found = list(zip(*(column[rows[block[0] : block[-1]]].tolist() for column in columns), strict=True))
        stated_here: list[Relation] = []
        told_here: list[_RelationMention] = []
        for start, end in pairwise(block):
            relation, told = instances.relation(found[start - block[0] : end - block[0]])
            stated_here.append(relation)
            told_here += told
        ids, chunks, owners, *others = zip(*told_here, strict=True)
        of_type = zip(others, (pa.int64(), pa.int64(), pa.string(), pa.string()), strict=True)
        texts = [pa.array(each, pa.string()) for each in (ids, chunks, owners)]
        mentions.add(_mention_table(texts[0], texts[1], None, texts[2], *(pa.array(*each) for each in of_type)))
        relations.add(arrow_of(Relation, stated_here))
    return relations.rows()


_RelationMention = tuple[str, str, str, int | None, int | None, str, str]
"""A mention's id, chunk, relation, start, end, match and surface."""


class _Instances:
    """Reads the statements of one relation from columns."""

    def __init__(self, stated: Statements) -> None:
        self._ids, self._documents, self._texts = (
            text_column(stated.chunks, name) for name in ("id", "document_id", "text")
        )
        self._starts = arrow_of(Chunk, stated.chunks, ["start"])["start"].to_numpy()
        self._keys, self._predicates, self._told = list(stated.keys), list(stated.predicates), list(stated.told)

    def relation(self, group: Sequence[tuple[int, ...]]) -> tuple[Relation, list[_RelationMention]]:
        """Return the relation of some statements, and a mention for each place."""
        _, source, predicate, target, *_ = group[0]
        subject, object_, said = self._keys[source], self._keys[target], self._predicates[predicate]
        id_ = short_id("relation", subject, entity_key(said), object_)
        sentences, told, places = set(), set(), set()
        mentions: dict[str, _RelationMention] = {}
        for chunk, _, predicate, _, start, end, words in group:
            chunk_id, offset = self._ids[chunk], int(self._starts[chunk])
            first, last = (None if start < 0 else start), (None if end < 0 else end)
            known = first is not None and last is not None
            sentence = self._texts[chunk][start - offset : end - offset] if known else ""
            sentences.add(sentence)
            told.add(self._told[words])
            said = min(said, self._predicates[predicate])
            places.add((chunk_id if first is None else self._documents[chunk], first, last))
            mention = mention_id(chunk_id, id_, first, last)
            match = "chunk" if first is None else "exact"
            mentions.setdefault(mention, (mention, chunk_id, id_, first, last, match, sentence))
        shortest = min(sentences - {""} or told, key=lambda text: (len(text), text))
        chunk_ids = tuple(sorted({mention[1] for mention in mentions.values()}))
        ends = (entity_id(subject), entity_id(object_))
        return Relation(id_, *ends, said, " ".join(shortest.split()), float(len(places)), chunk_ids), list(
            mentions.values()
        )


def with_descriptions(entities: Iterable[Entity], told: Callable[[str], str]) -> Sequence[Entity]:
    """Return entities, sorted by id, with what is told of each, by its id, after the description of a graph."""
    described = (
        replace(entity, description=" ".join(filter(None, (entity.description, told(entity.id)))))
        for entity in entities
    )
    return few_as_list(spilled(Entity, in_blocks(Entity, described)))
