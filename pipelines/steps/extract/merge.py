"""Merge name mentions and triples of all chunks into entities, relations and mentions.

An entity's key is its NFKC, case-folded name, not its type: one name is one node. Its display name is the most
frequent surface and its type the majority, ties in alphabetical order. Two mentions with one span of one document
(overlapping chunks repeat text) count once in every weight.

Sightings are columns of numbers: keys, places, surfaces and types are numbered once, and what counts once is found by
sorting.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from conspectus.pipelines.steps.extract.find_names import ChunkSightings, Sighting, known_names, see, title_sightings
from conspectus.storage.arrays import Bools, Ints, runs
from conspectus.storage.graph.edges import degrees_of
from conspectus.storage.hashing import entity_id, mention_id, short_id
from conspectus.storage.mapped import TableRows
from conspectus.storage.records import Chunk, Document, Entity, Mention, Relation
from conspectus.storage.settings import NameSettings
from conspectus.storage.tables import arrow_of, by_id, schema, sorted_by_id
from conspectus.storage.text.identifiers import IDENTIFIERS
from conspectus.storage.text.names import NameMatcher
from conspectus.storage.text.nlp import CONCEPT, TITLE, Annotation, Triple
from conspectus.storage.text.normalise import entity_key

if TYPE_CHECKING:
    import pyarrow as pa

_MATCHES = ("exact", "alias", "chunk")
_ALIAS = _MATCHES.index("alias")


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The entities, relations and mentions of a corpus, each sorted by id. Descriptions are added in a later step."""

    entities: list[Entity]
    relations: list[Relation]
    mentions: Sequence[Mention]


def merge(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    annotations: Sequence[Annotation],
    settings: NameSettings,
) -> Knowledge:
    """Return the entities, relations and mentions of all chunks (`annotations` in the order of `chunks`)."""
    phrases = (phrase for annotation in annotations for phrase in annotation.phrases)
    named = (phrase.text for phrase in phrases if phrase.type != CONCEPT and phrase.type not in IDENTIFIERS)
    known = known_names(documents, named, settings)
    matcher = NameMatcher(known)
    sightings = Sightings()
    stated: list[StatedTriple] = []
    for chunk, annotation in zip(chunks, annotations, strict=True):
        seen = see(chunk, annotation, matcher)
        sightings.add(seen.sightings)
        stated += statements([seen], [annotation])
    sightings.add(title_sightings(documents, chunks, known))
    return knowledge_of(sightings, stated)


class Sightings:
    """Sightings in columns of numbers, in the order in which they were added.

    Keys, surfaces, types, chunks and documents are numbered as they come; -1 is none.
    """

    def __init__(self, sightings: Iterable[Sighting] = ()) -> None:
        self.keys, self.surfaces, self.types, self.chunks, self.documents = (_numbers() for _ in range(5))
        self._columns = tuple(array("q") for _ in range(8))
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
        """Return the columns of what was added."""
        return SightingColumns(*(np.array(column, np.int64) for column in self._columns))


class SightingColumns(NamedTuple):
    """The numbers of each sighting's key, surface, type, chunk and document, its span, and its kind of match."""

    key: Ints
    surface: Ints
    type: Ints
    chunk: Ints
    document: Ints
    start: Ints
    end: Ints
    match: Ints

    def where(self, kept: Bools | Ints) -> "SightingColumns":
        """Return some of the sightings."""
        return SightingColumns(*(column[kept] for column in self))


def _numbers() -> defaultdict[str, int]:
    """Return a mapping that numbers its keys as they are asked for."""
    return defaultdict(count().__next__)


def _distinct(*columns: Ints) -> Ints:
    """Return the first place of each distinct combination, in the order of the combinations."""
    order, starts = runs(*columns)
    return order[starts]


def _ranked(groups: Ints, values: Ints, texts: Sequence[str]) -> dict[int, list[str]]:
    """Return the texts of each group's values, the most frequent first, ties in alphabetical order."""
    rank = np.empty(len(texts), np.int64)
    rank[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    pairs, counts = np.unique(groups * (len(texts) or 1) + values, return_counts=True)
    group, value = np.divmod(pairs, len(texts) or 1)
    order = np.lexsort((rank[value], -counts, group))
    ordered = zip(group[order].tolist(), value[order].tolist(), strict=True)
    return {key: [texts[each] for _, each in own] for key, own in groupby(ordered, lambda pair: pair[0])}


def knowledge_of(sightings: Sightings, stated: Sequence["StatedTriple"]) -> Knowledge:
    """Return the entities, the relations between retained entities, and the mentions of both."""
    import pyarrow as pa

    kept = _kept_keys(sightings, stated)
    relations, relation_mentions = _relations(stated, kept)
    entities, mentions = entities_of(sightings, relations, kept=kept)
    told = pa.concat_tables([mentions, arrow_of(Mention, relation_mentions)])
    return Knowledge(entities, relations, TableRows(by_id(told), Mention))


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

    @property
    def sentence(self) -> str:
        """The text of the sentence; "" if unknown."""
        if self.start is None or self.end is None:
            return ""
        return self.chunk.text[self.start - self.chunk.start : self.end - self.chunk.start]

    @property
    def place(self) -> tuple[str, int | None, int | None]:
        """The location of the statement: two statements at one location count once."""
        return (self.chunk.document_id if self.start is not None else self.chunk.id, self.start, self.end)


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


def _kept_keys(sightings: Sightings, stated: Iterable[StatedTriple]) -> set[str]:
    """Return the keys that become entities: all names, and noun phrases with a relation or a second mention."""
    found = sightings.columns()
    places = found.key[_distinct(found.key, found.document, found.start)]
    kept = np.bincount(places, minlength=len(sightings.keys)) > 1
    kept[found.key[found.type != sightings.types[CONCEPT]]] = True
    used = {key for statement in stated for key in (statement.source, statement.target)}
    return {key for key, number in sightings.keys.items() if kept[number] or key in used}


def entities_of(
    sightings: Sightings,
    relations: Iterable[Relation],
    untyped: Callable[[str], str] = lambda _: TITLE,
    kept: set[str] | None = None,
) -> "tuple[list[Entity], pa.Table]":
    """Return the entities, sorted by id, and their mentions without repeats, a table of `Mention` in no order.

    `untyped` gives the type of a key that no sighting has a type for; `kept` are the keys of entities (all if None).
    """
    keys, found = list(sightings.keys), sightings.columns()
    if kept is not None:
        found = found.where(np.array([key in kept for key in keys], np.bool_)[found.key])
    named = found.where(found.match != _ALIAS)
    named = named.where(_distinct(named.key, named.document, named.start, named.end))
    written = _numbers()
    spelt = np.array([written[" ".join(surface.split())] for surface in sightings.surfaces], np.int64)
    names = _ranked(named.key, spelt[named.surface], list(written))
    typed = found.where(found.type >= 0)
    typed = typed.where(_distinct(typed.key, typed.document, typed.start, typed.end, typed.type))
    types = _ranked(typed.key, typed.type, list(sightings.types))
    frequency = np.bincount(found.key[_distinct(found.key, found.chunk)], minlength=len(keys)).tolist()
    degrees = degrees_of(relations)
    entities = [
        Entity(id_, names.get(number, [key])[0], kinds[0], kinds, "", frequency[number], degrees.get(id_, 0))
        for number, key in enumerate(keys)
        if frequency[number]
        for id_, kinds in [(entity_id(key), tuple(types.get(number) or [untyped(key)]))]
    ]
    once = found.where(np.sort(_distinct(found.chunk, found.key, found.start, found.end)))
    return sorted_by_id(entities), _mentions(once, sightings)


def _mentions(found: SightingColumns, sightings: Sightings) -> "pa.Table":
    """Return the mentions of entities at some sightings."""
    import pyarrow as pa

    chunk_ids, owners = list(sightings.chunks), list(map(entity_id, sightings.keys))
    nothing = found.start < 0
    starts, ends = (pa.array(column, mask=nothing) for column in (found.start, found.end))
    places = zip(found.chunk.tolist(), found.key.tolist(), starts.to_pylist(), ends.to_pylist(), strict=True)
    ids = [mention_id(chunk_ids[chunk], owners[key], start, end) for chunk, key, start, end in places]

    def texts(values: Sequence[str], numbers: Ints) -> pa.Array:
        return pa.array(values, pa.string()).take(numbers)

    columns = {
        "id": pa.array(ids, pa.string()),
        "chunk_id": texts(chunk_ids, found.chunk),
        "entity_id": texts(owners, found.key),
        "relation_id": pa.nulls(len(ids), pa.string()),
        "start": starts,
        "end": ends,
        "match": texts(_MATCHES, found.match),
        "surface": texts(list(sightings.surfaces), found.surface),
        "description": texts([""], np.zeros(len(ids), np.int64)),
    }
    return pa.table(list(columns.values()), schema=schema(Mention))


def _relations(stated: Iterable[StatedTriple], kept: set[str]) -> tuple[list[Relation], list[Mention]]:
    grouped: defaultdict[tuple[str, str, str], list[StatedTriple]] = defaultdict(list)
    for item in stated:
        if item.source in kept and item.target in kept:
            grouped[item.source, entity_key(item.predicate), item.target].append(item)
    relations: list[Relation] = []
    mentions: dict[str, Mention] = {}
    for (source, predicate, target), group in sorted(grouped.items()):
        relation = _relation(source, predicate, target, group)
        relations.append(relation)
        for instance in group:
            mention = _relation_mention(relation.id, instance)
            mentions.setdefault(mention.id, mention)
    return sorted_by_id(relations), list(mentions.values())


def _relation(source: str, predicate: str, target: str, group: Sequence[StatedTriple]) -> Relation:
    sentences = {instance.sentence for instance in group} - {""} or {instance.told for instance in group}
    shortest = min(sentences, key=lambda text: (len(text), text))
    return Relation(
        id=short_id("relation", source, predicate, target),
        source_id=entity_id(source),
        target_id=entity_id(target),
        predicate=min(instance.predicate for instance in group),
        description=" ".join(shortest.split()),
        weight=float(len({instance.place for instance in group})),
        chunk_ids=tuple(sorted({instance.chunk.id for instance in group})),
    )


def _relation_mention(relation_id: str, each: StatedTriple) -> Mention:
    id_ = mention_id(each.chunk.id, relation_id, each.start, each.end)
    match = "exact" if each.start is not None else "chunk"
    return Mention(id_, each.chunk.id, None, relation_id, each.start, each.end, match, each.sentence, "")


def with_descriptions(entities: Iterable[Entity], descriptions: dict[str, str]) -> list[Entity]:
    """Return the entities with descriptions (by entity id) appended to those of an imported graph."""
    return [
        replace(entity, description=" ".join(filter(None, (entity.description, descriptions.get(entity.id, "")))))
        for entity in entities
    ]
