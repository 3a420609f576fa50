"""Merge name mentions and triples of all chunks into entities, relations and mentions.

An entity's key is its NFKC, case-folded name, not its type: one name is one node. Its display name is the most
frequent surface and its type the majority, ties in alphabetical order. Two mentions with one span of one document
(overlapping chunks repeat text) count once in every weight.

Sightings (sightings.py) and triples are rows of numbers: what counts once is found by sorting.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from conspectus.pipelines.steps.extract.find_names import ChunkSightings, known_names, see, title_sightings
from conspectus.pipelines.steps.extract.sightings import Sightings, entities_of, mention_table
from conspectus.storage.arrays import Bools, SmallInts, runs
from conspectus.storage.hashing import mention_ids, short_id
from conspectus.storage.mapped import TableRows
from conspectus.storage.numbering import ManyNumbers, numbering
from conspectus.storage.parted_rows import PartedRows
from conspectus.storage.records import Chunk, Document, Entity, Mention, Relation
from conspectus.storage.spilled import SortedRows, few_as_list, in_blocks, spilled
from conspectus.storage.tables import arrow_of, batches_of, taken
from conspectus.storage.text.identifiers import IDENTIFIERS
from conspectus.storage.text.names import NameMatcher
from conspectus.storage.text.nlp import CONCEPT, Annotation, Annotations, Triple
from conspectus.storage.text.normalise import entity_key

if TYPE_CHECKING:
    pass

_RELATIONS_AT_ONCE = 8192
"""Relations made from Python objects at once."""


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
) -> Knowledge:
    """Return the entities, relations and mentions of all chunks (`annotations` in the order of `chunks`)."""
    return knowledge_of(*_read(documents, chunks, annotations))


def _read(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    annotations: Sequence[Annotation],
) -> "tuple[Sightings, Statements]":
    """Return what the chunks mention and state; the names looked for are not kept."""
    columns = annotations if isinstance(annotations, Annotations) else Annotations(annotations)
    named = columns.texts_of(lambda kind: kind != CONCEPT and kind not in IDENTIFIERS)
    known = known_names(documents, named)
    matcher = NameMatcher(known)
    sightings = Sightings(chunks)
    stated = Statements(sightings)
    for chunk, annotation in zip(chunks, annotations, strict=True):
        seen = see(chunk, annotation, matcher)
        sightings.add(seen.sightings)
        stated.add(statements([seen], [annotation]))
    sightings.add(title_sightings(documents, chunks, known))
    return sightings, stated


def knowledge_of(sightings: Sightings, stated: "Statements") -> Knowledge:
    """Return the entities, the relations between retained entities, and the mentions of both."""
    kept, mentions = sightings.kept(stated.has_key()), SortedRows(Mention)
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
    """Triples that chunks state, in rows of numbers, divided by the source; -1: an unknown offset.

    A chunk has the number of its row, keys have those of the sightings; predicates and words told are numbered as they
    come. What is read has final numbers, like sightings.

    Args:
        sightings: What the chunks mention.
        stated: The first triples.
    """

    def __init__(self, sightings: Sightings, stated: Iterable[StatedTriple] = ()) -> None:
        self.sightings = sightings
        self.predicates, self.told = ManyNumbers(), ManyNumbers()
        self._rows = PartedRows(7)
        self.add(stated)

    def add(self, stated: Iterable[StatedTriple]) -> None:
        """Add triples."""
        keys, row_of = self.sightings.keys, self.sightings.row_of
        numbers: list[int] = []
        for chunk, source, predicate, target, start, end, told in stated:
            span = (-1 if start is None else start, -1 if end is None else end)
            said = self.predicates[predicate], keys[target], row_of[chunk.id]
            numbers += (keys[source], *said, *span, self.told[told])
        self._rows.add(numbers)

    def parts(self) -> Iterator[SmallInts]:
        """Yield source, predicate, target, chunk, start, end and words told of triples, (k, 7) in each part."""
        (predicate_of, _), (told_of, _) = self.predicates.settled, self.told.settled
        for part in self._rows.parts():
            source, predicate, target, chunk, start, end, told = part.T
            ends = self.sightings.key_of(source), self.sightings.key_of(target)
            yield np.column_stack([ends[0], predicate_of[predicate], ends[1], chunk, start, end, told_of[told]])

    def has_key(self) -> Bools:
        """Return which keys are an end of a triple, (keys,)."""
        found = np.zeros(len(self.sightings.key_texts), np.bool_)
        for rows in self.parts():
            found[rows[:, [0, 2]]] = True
        return found


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


def _relations(stated: Statements, kept: Bools, mentions: "SortedRows[Mention]") -> TableRows[Relation]:
    """Return the relations between entities, sorted by id, and add their mentions to `mentions`."""
    folded = numbering()
    same = np.array([folded[entity_key(text.as_py())] for text in stated.predicates.settled[1]], np.int64)
    relations, make = SortedRows(Relation), _RelationMaker(stated, mentions)
    for part in stated.parts():
        rows = part[kept[part[:, 0]] & kept[part[:, 2]]]
        order, starts = runs(rows[:, 0], same[rows[:, 1]], rows[:, 2])
        for first in range(0, len(starts), _RELATIONS_AT_ONCE):
            bounds = np.append(starts, len(order))[first : first + _RELATIONS_AT_ONCE + 1]
            found = make.relations(rows[order[bounds[0] : bounds[-1]]], (bounds - bounds[0]).tolist())
            relations.add(arrow_of(Relation, found))
    return relations.rows()


class _RelationMaker:
    """Makes relations of statements, and adds their mentions to others."""

    def __init__(self, stated: Statements, mentions: "SortedRows[Mention]") -> None:
        self._mentions = mentions
        self._keys = stated.sightings.key_texts
        (_, self._predicates), (_, self._told) = stated.predicates.settled, stated.told.settled
        self._entity_ids = stated.sightings.entity_ids
        self._chunks = arrow_of(Chunk, stated.sightings.chunks, ["id", "document_id", "start", "text"])
        self._batches = batches_of(self._chunks)

    def relations(self, rows: SmallInts, bounds: Sequence[int]) -> list[Relation]:
        """Return the relation of the statements from each of `bounds` to the next."""
        import pyarrow as pa

        of_chunks = taken(self._chunks, rows[:, 3].astype(np.int64), self._batches)
        chunks, documents, begins, texts = (column.to_pylist() for column in of_chunks.columns)
        starts, ends = ([None if place < 0 else place for place in rows[:, column].tolist()] for column in (4, 5))
        sentences = [
            "" if start is None or end is None else text[start - begin : end - begin]
            for start, end, begin, text in zip(starts, ends, begins, texts, strict=True)
        ]
        said = self._predicates.take(pa.array(rows[:, 1])).to_pylist()
        in_words = self._told.take(pa.array(rows[:, 6])).to_pylist()
        ends_of_relations = [pa.array(column) for column in rows[bounds[:-1]][:, [0, 2]].T]
        sources, targets = (self._entity_ids.take(end).to_pylist() for end in ends_of_relations)
        ids = [
            short_id("relation", source, entity_key(said[row]), target)
            for row, source, target in zip(
                bounds[:-1], *(self._keys.take(end).to_pylist() for end in ends_of_relations), strict=True
            )
        ]
        owners = [id_ for id_, (first, last) in zip(ids, pairwise(bounds), strict=True) for _ in range(first, last)]
        mentions = mention_ids(chunks, owners, starts, ends)
        found, kept = [], list[int]()
        for id_, source, target, (first, last) in zip(ids, sources, targets, pairwise(bounds), strict=True):
            own = range(first, last)
            places = {(chunks[row] if starts[row] is None else documents[row], starts[row], ends[row]) for row in own}
            told = set(sentences[first:last]) - {""} or set(in_words[first:last])
            shortest = min(told, key=lambda text: (len(text), text))
            description, chunk_ids = " ".join(shortest.split()), tuple(sorted(set(chunks[first:last])))
            weight, predicate = float(len(places)), min(said[first:last])
            found.append(Relation(id_, source, target, predicate, description, weight, chunk_ids))
            kept += {mentions[row]: row for row in reversed(own)}.values()
        match = ["chunk" if start is None else "exact" for start in starts]
        table = mention_table(mentions, chunks, None, owners, starts, ends, match, sentences)
        self._mentions.add(table.take(pa.array(kept, pa.int64())))
        return found


def with_descriptions(entities: Iterable[Entity], told: Iterable[str]) -> Sequence[Entity]:
    """Return entities, sorted by id, with what is told of each after the description of a graph."""
    described = (
        replace(entity, description=" ".join(filter(None, (entity.description, of_entity))))
        for entity, of_entity in zip(entities, told, strict=True)
    )
    return few_as_list(spilled(Entity, in_blocks(Entity, described)))
