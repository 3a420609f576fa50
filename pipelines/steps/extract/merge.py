"""Merge name mentions and triples of all chunks into entities, relations and mentions.

An entity's key is its NFKC, case-folded name, not its type: one name is one node. Its display name is the most
frequent surface and its type the majority, ties in alphabetical order. Two mentions with one span of one document
(overlapping chunks repeat text) count once in every weight.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from conspectus.pipelines.steps.extract.find_names import ChunkSightings, Sighting, known_names, see, title_sightings
from conspectus.storage.graph.edges import degrees_of
from conspectus.storage.hashing import entity_id, mention_id, short_id
from conspectus.storage.records import Chunk, Document, Entity, Mention, Relation
from conspectus.storage.settings import NameSettings
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.identifiers import IDENTIFIERS
from conspectus.storage.text.names import NameMatcher
from conspectus.storage.text.nlp import CONCEPT, TITLE, Annotation, Triple
from conspectus.storage.text.normalise import entity_key


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The entities, relations and mentions of a corpus, each sorted by id. Descriptions are added in a later step."""

    entities: list[Entity]
    relations: list[Relation]
    mentions: list[Mention]


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
    seen = [see(chunk, annotation, matcher) for chunk, annotation in zip(chunks, annotations, strict=True)]
    sightings = [sighting for one in seen for sighting in one.sightings]
    sightings += title_sightings(documents, chunks, known)
    return knowledge_of(sightings, list(statements(seen, annotations)))


def knowledge_of(sightings: Sequence[Sighting], stated: Sequence["StatedTriple"]) -> Knowledge:
    """Return the entities, the relations between retained entities, and the mentions of both."""
    kept = _kept_keys(sightings, stated)
    relations, relation_mentions = _relations(stated, kept)
    entities, entity_mentions = entities_of((sighting for sighting in sightings if sighting.key in kept), relations)
    return Knowledge(entities, relations, sorted_by_id([*entity_mentions, *relation_mentions]))


@dataclass(frozen=True, slots=True)
class StatedTriple:
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


def _kept_keys(sightings: Iterable[Sighting], stated: Iterable[StatedTriple]) -> set[str]:
    """Return the keys that become entities: all names, and noun phrases with a relation or a second mention."""
    names: set[str] = set()
    places: defaultdict[str, set[tuple[str, int | None]]] = defaultdict(set)
    for sighting in sightings:
        if sighting.type != CONCEPT:
            names.add(sighting.key)
        places[sighting.key].add((sighting.chunk.document_id, sighting.start))
    used = {key for statement in stated for key in (statement.source, statement.target)}
    return {key for key in names | used | {key for key, spans in places.items() if len(spans) > 1} if key in places}


@dataclass(slots=True)
class _Votes:
    """Counts of surfaces and types over the sightings of one key."""

    surfaces: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    chunks: set[str] = field(default_factory=set)


def entities_of(
    sightings: Iterable[Sighting], relations: Iterable[Relation], untyped: Callable[[str], str] = lambda _: TITLE
) -> tuple[list[Entity], list[Mention]]:
    """Return the entities, sorted by id, and their mentions without repeats.

    `untyped` gives the type of a key that no sighting has a type for.
    """
    votes: defaultdict[str, _Votes] = defaultdict(_Votes)
    mentions: dict[str, Mention] = {}
    spans: set[tuple[str, str, int | None, int | None]] = set()
    typed: set[tuple[str, str, int | None, int | None, str]] = set()
    for sighting in sightings:
        vote = votes[sighting.key]
        vote.chunks.add(sighting.chunk.id)
        span = (sighting.key, sighting.chunk.document_id, sighting.start, sighting.end)
        if sighting.match != "alias" and span not in spans:
            vote.surfaces[" ".join(sighting.surface.split())] += 1
            spans.add(span)
        if sighting.type is not None and (*span, sighting.type) not in typed:
            vote.types[sighting.type] += 1
            typed.add((*span, sighting.type))
        mention = _entity_mention(sighting)
        mentions.setdefault(mention.id, mention)
    degrees = degrees_of(relations)
    entities = [_entity(key, vote, degrees.get(entity_id(key), 0), untyped) for key, vote in votes.items()]
    return sorted_by_id(entities), list(mentions.values())


def _entity_mention(each: Sighting) -> Mention:
    owner = entity_id(each.key)
    id_ = mention_id(each.chunk.id, owner, each.start, each.end)
    return Mention(id_, each.chunk.id, owner, None, each.start, each.end, each.match, each.surface, "")


def _entity(key: str, vote: _Votes, degree: int, untyped: Callable[[str], str]) -> Entity:
    types = tuple(kind for kind, _ in _ranked(vote.types)) or (untyped(key),)
    name = _ranked(vote.surfaces)[0][0] if vote.surfaces else key
    return Entity(entity_id(key), name, types[0], types, "", len(vote.chunks), degree)


def _ranked(votes: Counter[str]) -> list[tuple[str, int]]:
    return sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))


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
