"""Merge name mentions and triples of all chunks into entities, relations and mentions.

An entity's key is its NFKC, case-folded name, not its type: one name is one node. Its display name is the most
frequent surface and its type the majority, ties in alphabetical order. Two mentions with one span of one document
(overlapping chunks repeat text) count once in every weight.

What chunks mention and state is collected in tables, and `merge.sql` counts it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from conspectus.pipelines.resolution.corrections import Rule
from conspectus.pipelines.steps.extract.find_names import (
    ChunkSightings,
    Sighting,
    known_names,
    see,
    title_sightings,
)
from conspectus.pipelines.steps.extract.split_names import NO_SPLITS, Splits
from conspectus.storage.records import Chunk, Document, Entity, Mention, Relation
from conspectus.storage.spilled import few_as_list, in_blocks, spilled
from conspectus.storage.sql_engine import Engine
from conspectus.storage.tables import arrow_of
from conspectus.storage.text.identifiers import IDENTIFIERS
from conspectus.storage.text.names import NameMatcher
from conspectus.storage.text.nlp import CONCEPT, Annotation, Annotations
from conspectus.storage.text.normalise import entity_key

_SQL = Path(__file__).with_suffix(".sql")


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
    rules: Sequence[Rule] = (),
) -> Knowledge:
    """Return the entities, relations and mentions of all chunks (`annotations` in the order of `chunks`).

    `rules` are corrections; names are split by them.
    """
    columns = annotations if isinstance(annotations, Annotations) else Annotations(annotations)
    named = columns.texts_of(lambda kind: kind != CONCEPT and kind not in IDENTIFIERS)
    known = known_names(documents, named)
    matcher = NameMatcher(known)
    with Findings(Splits(rules, documents)) as found:
        for chunk, annotation in zip(chunks, annotations, strict=True):
            seen = see(chunk, annotation, matcher)
            found.add(seen.sightings)
            found.state(statements(seen, annotation))
        found.add(title_sightings(documents, chunks, known))
        return found.knowledge()


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


class Findings(Engine):
    """What chunks mention and state.

    >>> from conspectus.storage.records import Chunk
    >>> chunk = Chunk("c", "d", 0, 0, 9, "Ada slept", 2)
    >>> with Findings() as found:
    ...     found.add([Sighting(chunk, "ada", "Ada", "PERSON", 0, 3, "exact")])
    ...     found.knowledge().entities[0].name
    'Ada'
    """

    def __init__(self, splits: Splits = NO_SPLITS) -> None:
        super().__init__()
        self.run(_SQL)
        self._splits = splits
        self.insert("written", splits.names.items())

    def add(self, sightings: Iterable[Sighting]) -> None:
        """Add sightings."""
        if self._splits:
            sightings = map(self._splits.placed, sightings)
        self.insert("sightings", ((each.chunk.id, each.chunk.document_id, *each[1:]) for each in sightings))

    def state(self, stated: Iterable[StatedTriple]) -> None:
        """Add triples, after the sightings of their chunks."""
        self.insert("statements", map(self._row, stated))

    def named(self, chunk: Chunk, key: str, start: int | None = None, end: int | None = None) -> str:
        """Return the key of what a name means in a sentence of a chunk, or in the whole chunk."""
        return self._splits.stated(chunk, key, start, end) if self._splits else key

    def _row(self, each: StatedTriple) -> tuple[object, ...]:
        chunk, source, predicate, target, start, end, told = each
        sentence = "" if start is None or end is None else chunk.text[start - chunk.start : end - chunk.start]
        source, target = self.named(chunk, source, start, end), self.named(chunk, target, start, end)
        return chunk.id, chunk.document_id, source, predicate, entity_key(predicate), target, start, end, sentence, told

    def knowledge(self) -> Knowledge:
        """Return the entities, the relations between them, and the mentions of both.

        All names are entities, and noun phrases with a relation or a second mention.
        """
        self.run("INSERT INTO kept FROM names_and_repeated_phrases")
        relations = self.rows(Relation, "FROM merged_relations")
        entities = self.entities(relations)
        mentions = self.rows(Mention, "FROM mentions UNION ALL FROM relation_mentions")
        return Knowledge(entities, relations, mentions)

    def entities(self, relations: Sequence[Relation], titles: Iterable[str] = ()) -> Sequence[Entity]:
        """Return the entities of the keys in the table `kept`.

        Args:
            relations: The relations between them.
            titles: The keys of titles, for keys that no sighting has a type for; without any, all of these are titles.
        """
        self.insert("titles", ((title,) for title in titles))
        self.insert_table("ends_of_relations", arrow_of(Relation, relations, ["source_id", "target_id"]))
        return few_as_list(self.rows(Entity, "FROM merged_entities"))


def statements(seen: ChunkSightings, annotation: Annotation) -> Iterator[StatedTriple]:
    """Yield the triples of an annotated chunk between the entities that their phrases refer to."""
    offset = seen.chunk.start
    for triple in annotation.triples:
        source, target = seen.stands_for[triple.subject], seen.stands_for[triple.object]
        if source and target and source != target:
            predicate = " ".join(triple.predicate.split())
            yield StatedTriple(seen.chunk, source, predicate, target, offset + triple.start, offset + triple.end)


def with_descriptions(entities: Iterable[Entity], told: Iterable[str]) -> Sequence[Entity]:
    """Return entities, sorted by id, with what is told of each after the description of a graph."""
    described = (
        replace(entity, description=" ".join(filter(None, (entity.description, of_entity))))
        for entity, of_entity in zip(entities, told, strict=True)
    )
    return few_as_list(spilled(Entity, in_blocks(Entity, described)))
