"""Map GraphRAG's entities, relationships and covariates to our entities, relations, claims and mentions.

An entity is identified by its name, so rows with one title are one entity. A name that only a relationship or a claim
uses becomes an entity without type and description, and is listed as a failure. Entities and relations are located in
the chunks that GraphRAG lists for them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from conspectus.pipelines.build_report import DANGLING, IMPORT
from conspectus.pipelines.exchange.graphrag.schema import (
    GraphRagCovariate,
    GraphRagEntity,
    GraphRagRelationship,
    Tables,
)
from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.steps.extract.find_names import KnownNames, NamingSentences, Sighting, own_sightings, see
from conspectus.pipelines.steps.extract.merge_llm import quoted
from conspectus.storage.graph.edges import degrees_of
from conspectus.storage.hashing import entity_id, mention_id, short_id
from conspectus.storage.records import Chunk, Claim, Entity, Failure, Mention, Relation
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.names import NameMatcher
from conspectus.storage.text.nlp import Annotation
from conspectus.storage.text.normalise import entity_key, title_names

_NO_NAME = frozenset({"", "NONE", "NULL", "NAN", "N/A"})
"""Values that represent an absent object or date of a claim, in capitals."""
_UNKNOWN_UNIT = "a text unit that does not exist"

ChunksOfUnit = Mapping[str, tuple[str, ...]]
"""The chunk ids of each text unit id."""


@dataclass(slots=True)
class EntityDraft:
    """The content of the tables about one name."""

    name: str
    types: Counter[str] = field(default_factory=Counter)
    descriptions: dict[str, None] = field(default_factory=dict)
    chunk_ids: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """Entities, relations and claims, each sorted by id.

    Attributes:
        drafts: The content of the tables about each name, by the key of the name.
        entity_ids, relation_ids, claim_ids: The id made from each row of the tables, "" for a row that was left out.
        failures: Rows that could not be used as they are.
    """

    entities: list[Entity]
    relations: list[Relation]
    claims: list[Claim]
    drafts: Mapping[str, EntityDraft]
    entity_ids: list[str]
    relation_ids: list[str]
    claim_ids: list[str]
    failures: list[Failure]


def imported_rows(tables: Tables, chunks_of_unit: ChunksOfUnit, chunk_of: Mapping[str, Chunk]) -> ImportedRows:
    """Return the entities, relations and claims of the tables."""
    failures: list[Failure] = []
    claims: dict[str, Claim] = {}
    claim_ids = [_add_claim(row, chunks_of_unit, chunk_of, claims, failures) for row in tables.covariates]
    used = [row for row, claim_id in zip(tables.covariates, claim_ids, strict=True) if claim_id]
    drafts = _drafts(tables.entities, tables.relationships, used, chunks_of_unit, failures)
    relations, relation_ids = _relations(tables.relationships, chunks_of_unit)
    degrees = degrees_of(relations)
    return ImportedRows(
        entities=sorted_by_id(_entity(key, draft, degrees.get(entity_id(key), 0)) for key, draft in drafts.items()),
        relations=relations,
        claims=sorted_by_id(claims.values()),
        drafts=drafts,
        entity_ids=[entity_id(_key(row.title)) for row in tables.entities],
        relation_ids=relation_ids,
        claim_ids=claim_ids,
        failures=failures,
    )


def _name(text: str | None) -> str:
    """Return a name on one line."""
    return " ".join(clean(text or "").split())


def _key(title: str | None) -> str:
    return entity_key(_name(title))


def _drafts(
    entities: Sequence[GraphRagEntity],
    relationships: Sequence[GraphRagRelationship],
    covariates: Sequence[GraphRagCovariate],
    chunks_of_unit: ChunksOfUnit,
    failures: list[Failure],
) -> dict[str, EntityDraft]:
    drafts: dict[str, EntityDraft] = {}

    def chunks_of(unit_ids: Iterable[str], item: str) -> dict[str, None]:
        unknown = [unit_id for unit_id in unit_ids if unit_id not in chunks_of_unit]
        failures.extend(Failure(IMPORT, item, _UNKNOWN_UNIT, clean(unit_id)) for unit_id in unknown)
        return dict.fromkeys(chunk_id for unit_id in unit_ids for chunk_id in chunks_of_unit.get(unit_id, ()))

    for row in entities:
        name = _name(row.title)
        draft = drafts.setdefault(entity_key(name), EntityDraft(name))
        draft.chunk_ids |= chunks_of(row.text_unit_ids or (), f"entity {row.id}")
        draft.types[clean(row.type or "").strip()] += 1
        draft.descriptions[clean(row.description or "").strip()] = None
    with_row = set(drafts)
    stated = [
        *(
            (f"relationship {row.id}", (_name(row.source), _name(row.target)), row.text_unit_ids or ())
            for row in relationships
        ),
        *((f"covariate {row.id}", _names_of(row), (row.text_unit_id or "",)) for row in covariates),
    ]
    for item, names, unit_ids in stated:
        chunk_ids = chunks_of(unit_ids, item)
        for name in names:
            if entity_key(name) not in with_row:
                failures.append(Failure(IMPORT, item, DANGLING, name))
                drafts.setdefault(entity_key(name), EntityDraft(name)).chunk_ids.update(chunk_ids)
    return drafts


def _entity(key: str, draft: EntityDraft, degree: int) -> Entity:
    """Return an entity; the first of several types is the most frequent, ties in alphabetical order."""
    by_frequency = sorted((-count, kind) for kind, count in draft.types.items() if kind)
    types = tuple(kind for _, kind in by_frequency) or ("",)
    description = "\n".join(filter(None, draft.descriptions))
    return Entity(entity_id(key), draft.name, types[0], types, description, len(draft.chunk_ids), degree)


def _relations(rows: Sequence[GraphRagRelationship], chunks_of_unit: ChunksOfUnit) -> tuple[list[Relation], list[str]]:
    """Return one relation for each pair of names, and the relation id of each row.

    Rows of one pair, in either direction, are merged like a model's statements about a pair in several chunks:
    the direction is that of most text units.
    """
    rows_of_pair: defaultdict[tuple[str, str], list[GraphRagRelationship]] = defaultdict(list)
    relation_ids: list[str] = []
    for row in rows:
        first, second = sorted(_ends(row))
        rows_of_pair[first, second].append(row)
        relation_ids.append(short_id("relation", first, "", second))
    return sorted_by_id(_relation(group, chunks_of_unit) for group in rows_of_pair.values()), relation_ids


def _ends(row: GraphRagRelationship) -> tuple[str, str]:
    return _key(row.source), _key(row.target)


def _relation(rows: Sequence[GraphRagRelationship], chunks_of_unit: ChunksOfUnit) -> Relation:
    """Return the relation that the rows of one pair state.

    Its weight is the number of text units, counted as often as they are listed. GraphRAG's weight is the sum of the
    strengths that a model stated, so its mean over the text units is our strength. GraphRAG writes 1.0 for each text
    unit if no strength was stated; such a strength is None.
    """
    n_stated: Counter[tuple[str, str]] = Counter()
    for row in rows:
        n_stated[_ends(row)] += max(1, len(row.text_unit_ids or ()))
    source, target = min(n_stated, key=lambda ends: (-n_stated[ends], ends))
    first, second = sorted((source, target))
    weights = sorted(row.weight for row in rows if row.weight is not None)
    strength = sum(weights) / n_stated.total() if len(weights) == len(rows) else None
    unit_ids = {unit_id for row in rows for unit_id in row.text_unit_ids or ()}
    chunk_ids = {chunk_id for unit_id in unit_ids for chunk_id in chunks_of_unit.get(unit_id, ())}
    return Relation(
        id=short_id("relation", first, "", second),
        source_id=entity_id(source),
        target_id=entity_id(target),
        predicate="",
        description=" ".join(sorted({clean(row.description or "").strip() for row in rows} - {""})),
        weight=float(n_stated.total()),
        chunk_ids=tuple(sorted(chunk_ids)),
        strength=None if strength == 1.0 else strength,
    )


def _names_of(row: GraphRagCovariate) -> tuple[str, ...]:
    """Return the subject of a claim and its object if it has one; nothing if it has no subject."""
    subject, target = _name(row.subject_id), _name(row.object_id)
    if subject.upper() in _NO_NAME:
        return ()
    return (subject,) if target.upper() in _NO_NAME else (subject, target)


def _add_claim(
    row: GraphRagCovariate,
    chunks_of_unit: ChunksOfUnit,
    chunk_of: Mapping[str, Chunk],
    claims: dict[str, Claim],
    failures: list[Failure],
) -> str:
    """Add the claim of a row and return its id, "" if the row is left out.

    A text unit that occurs in several documents represents the first of its chunks.
    """
    names = _names_of(row)
    chunk_ids = chunks_of_unit.get(row.text_unit_id or "", ())
    if not names or not chunk_ids:
        reason = _UNKNOWN_UNIT if names else "a claim without a subject"
        failures.append(Failure(IMPORT, f"covariate {row.id}", reason, clean(row.description or "")[:200]))
        return ""
    keys, chunk = [entity_key(name) for name in names], chunk_of[chunk_ids[0]]
    kind, status, description = (clean(cell or "").strip() for cell in (row.type, row.status, row.description))
    status = status.upper()
    start_date, end_date = _date(row.start_date), _date(row.end_date)
    start, end = quoted(chunk, clean(row.source_text or "").strip()) or (None, None)
    id_ = short_id("claim", chunk.id, *keys, kind, status, description, start_date or "", end_date or "")
    claims[id_] = Claim(
        id=id_,
        subject_id=entity_id(keys[0]),
        object_id=entity_id(keys[1]) if len(keys) > 1 else None,
        type=kind,
        status=status,
        description=description,
        start_date=start_date,
        end_date=end_date,
        chunk_id=chunk.id,
        start=start,
        end=end,
    )
    return id_


def _date(cell: str | None) -> str | None:
    text = clean(cell or "").strip()
    return None if text.upper() in _NO_NAME else text


def mentions_of(
    drafts: Mapping[str, EntityDraft], relations: Sequence[Relation], chunks: Sequence[Chunk]
) -> list[Mention]:
    """Return the mentions of all entities and relations in their chunks, sorted by id.

    An entity is mentioned at every occurrence of its name, with or without a final parenthesis. A relation is mentioned
    by the sentence that names both its ends and shares most words with its description. If nothing matches, the mention
    covers the whole chunk. `drafts` are by the key of the name.
    """
    keys_in: defaultdict[str, list[str]] = defaultdict(list)
    for key, draft in drafts.items():
        for chunk_id in draft.chunk_ids:
            keys_in[chunk_id].append(key)
    stated_in: defaultdict[str, list[Relation]] = defaultdict(list)
    for relation in relations:
        for chunk_id in relation.chunk_ids:
            stated_in[chunk_id].append(relation)
    made: dict[str, Mention] = {}
    for chunk in chunks:
        seen = list(_sightings(chunk, {key: drafts[key].name for key in keys_in[chunk.id]}))
        found = (*map(_entity_mention, seen), *_relation_mentions(chunk, seen, stated_in[chunk.id]))
        made.update((mention.id, mention) for mention in found)
    return sorted_by_id(made.values())


def _sightings(chunk: Chunk, names: Mapping[str, str]) -> Iterator[Sighting]:
    """Yield the places of names, by key, in a chunk; of a name that it does not contain, the chunk as a whole."""
    known = KnownNames()
    for key, name in names.items():
        own, *others = title_names(name)
        known.add(own)
        for other in others:
            if entity_key(other) not in names:
                known.add(other, key)
    found = see(chunk, Annotation((), ()), NameMatcher(known)).sightings
    yield from found
    folded = entity_key(chunk.text)
    # A short form alone may be the name of another entity.
    for key in names.keys() - {each.key for each in found if each.match == "exact"}:
        yield from own_sightings(chunk, key, names[key], folded)


def _entity_mention(seen: Sighting) -> Mention:
    owner, (start, end) = entity_id(seen.key), (seen.start, seen.end)
    id_ = mention_id(seen.chunk.id, owner, start, end)
    return Mention(id_, seen.chunk.id, owner, None, start, end, seen.match, seen.surface, "")


def _relation_mentions(chunk: Chunk, seen: Iterable[Sighting], relations: Sequence[Relation]) -> Iterator[Mention]:
    """Yield the mentions of a chunk's relations."""
    if not relations:
        return
    sentences = NamingSentences(chunk, (each._replace(key=entity_id(each.key)) for each in seen))
    for relation in relations:
        start, end = sentences.of_both(relation.source_id, relation.target_id, relation.description)
        surface = chunk.text[start - chunk.start : end - chunk.start] if start is not None and end is not None else ""
        id_ = mention_id(chunk.id, relation.id, start, end)
        # The description may be based on other chunks too, so this mention does not get it.
        yield Mention(id_, chunk.id, None, relation.id, start, end, "exact" if surface else "chunk", surface, "")
