"""Merge a language model's extractions from all chunks into entities, relations, claims and mentions.

Identities are those of the extraction without a model (see merge.py): an entity is its NFKC, case-folded name, and all
names and titles are searched in all chunks. Nothing that a model states is dropped silently: an end of a relationship
that has no record becomes an entity too, and a record that names nothing is a failure.

A relation is a pair of entities in either direction: GraphRAG's graph is undirected (Edge et al. 2024, section
3.1.4), and a model that states one relationship in several chunks varies its direction. As separate relations, the two
directions would share the weight and have two summaries. `source_id` and `target_id` follow the most frequent
direction. The weight is the number of instances; a sentence that overlapping chunks share counts once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conspectus.pipelines.resolution.corrections import Rule
from conspectus.pipelines.steps.extract.find_names import (
    KnownName,
    NamingSentences,
    Sighting,
    known_names,
    own_sightings,
    see,
    title_sightings,
)
from conspectus.pipelines.steps.extract.llm import LOST_RECORD, STAGE, ChunkExtraction
from conspectus.pipelines.steps.extract.merge import Findings, Knowledge
from conspectus.pipelines.steps.extract.split_names import Splits
from conspectus.pipelines.steps.extract.validate import flaw, name_key
from conspectus.prompts.replies.records import ClaimRecord, EntityRecord, RelationRecord
from conspectus.storage.hashing import entity_id, short_id
from conspectus.storage.made_rows import RowsFrom
from conspectus.storage.mapped import MAPPED_ROWS, ById, TableRows
from conspectus.storage.records import Chunk, Claim, Document, Failure, Mention, Relation
from conspectus.storage.spilled import few_as_list, rows_by_id, values_of
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.names import NameMatcher
from conspectus.storage.text.nlp import Annotation
from conspectus.storage.text.normalise import entity_key

_SQL = Path(__file__).with_suffix(".sql")


@dataclass(frozen=True, slots=True)
class ModelKnowledge:
    """The merged extractions of a model.

    The descriptions are those of the single instances by the id of the entity or relation, sorted and distinct; a later
    step summarises them, and until then an entity of `knowledge` has none. `predicates` are those of the instances of a
    relation, each with the id of its source. Of many, all three are read when they are asked for. `claims` and
    `failures` are sorted like tables.
    """

    knowledge: Knowledge
    claims: list[Claim]
    entity_descriptions: Mapping[str, Sequence[str]]
    relation_descriptions: Mapping[str, Sequence[str]]
    predicates: Mapping[str, Sequence[tuple[str, str]]]
    failures: list[Failure]


def merge_extractions(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    extractions: Sequence[ChunkExtraction],
    rules: Sequence[Rule] = (),
) -> ModelKnowledge:
    """Return the knowledge of all chunks (`extractions` in the order of `chunks`), independent of that order.

    `rules` are corrections; names are split by them.
    """
    ids = values_of(chunks, "id")
    order = sorted(range(len(ids)), key=ids.__getitem__)

    def stated() -> Iterator[_Stated]:  # twice, rather than to hold what all chunks state
        return (_stated(chunks[row], extractions[row]) for row in order)

    known = known_names(documents, (name for one in stated() for name in one.names.values()))
    matcher = NameMatcher(known)

    claims: list[Claim] = []
    failures: list[Failure] = []
    with Findings(Splits(rules, documents)) as findings:
        findings.run(_SQL)
        for one in stated():
            seen = _seen(one, matcher)
            findings.add(seen)
            findings.insert("instances", _instances(one, seen, findings))
            told = ((one.chunk.id, findings.named(one.chunk, key), told) for key, told in one.descriptions)
            findings.insert("descriptions", told)
            claims += (_claim(one.chunk, claim, findings) for claim in one.claims)
            failures += one.failures
        findings.add(title_sightings(documents, (chunks[row] for row in order), known))
        findings.run("INSERT INTO kept SELECT DISTINCT key FROM sightings")
        relations = few_as_list(findings.rows(Relation, "FROM merged_pairs"))
        entities = findings.entities(relations, (entity_key(document.title) for document in documents))
        mentions = few_as_list(findings.rows(Mention, "FROM all_mentions"))
        entity_descriptions = _by_id(findings.rows(_Told, "FROM entity_descriptions"))
        relation_descriptions = _by_id(findings.rows(_Told, "FROM relation_descriptions"))
        predicates = _by_id(findings.rows(_Said, "FROM predicates"))
    claims = without_repeats(claims, dict(zip(ids, values_of(chunks, "document_id"), strict=True)))
    return ModelKnowledge(
        Knowledge(entities, relations, mentions),
        sorted_by_id({claim.id: claim for claim in claims}.values()),
        entity_descriptions,
        relation_descriptions,
        predicates,
        sorted_by_id(failures),
    )


@dataclass(frozen=True, slots=True)
class _Told:
    """The descriptions of an entity or a relation."""

    id: str
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Said:
    """The source and the predicate of each instance of a relation."""

    id: str
    told: tuple[tuple[str, ...], ...]


def _by_id(rows: TableRows[Any]) -> Mapping[str, Any]:
    if len(rows) < MAPPED_ROWS:
        return {each.id: each.told for each in rows}
    return ById(rows_by_id(rows), RowsFrom(range(len(rows)), lambda row: rows[row].told))


@dataclass(frozen=True, slots=True)
class _Stated:
    """The distinct usable records of a chunk. `names`: every name by its key, as first written."""

    chunk: Chunk
    names: dict[str, str]
    types: list[tuple[str, str]]
    descriptions: list[tuple[str, str]]
    relations: list[RelationRecord]
    claims: list[ClaimRecord]
    failures: list[Failure]


def _stated(chunk: Chunk, extraction: ChunkExtraction) -> _Stated:
    one = _Stated(chunk, {}, [], [], [], [], [])

    def usable(record: EntityRecord | RelationRecord | ClaimRecord) -> bool:
        found = flaw(record)
        if found:
            one.failures.append(Failure(STAGE, chunk.id, LOST_RECORD, found))
        return not found

    for entity in filter(usable, dict.fromkeys(extraction.entities)):
        key = name_key(entity.name)
        one.names.setdefault(key, entity.name)
        one.types.append((key, entity_key(entity.type)))
        one.descriptions.append((key, entity.description))
    for relation in filter(usable, dict.fromkeys(extraction.relations)):
        one.names.setdefault(name_key(relation.source), relation.source)
        one.names.setdefault(name_key(relation.target), relation.target)
        one.relations.append(relation)
    for claim in filter(usable, dict.fromkeys(extraction.claims)):
        for name in (claim.subject, claim.object or ""):
            if name_key(name):
                one.names.setdefault(name_key(name), name)
        one.claims.append(claim)
    return one


def _seen(one: _Stated, matcher: NameMatcher[KnownName]) -> list[Sighting]:
    """Return the sightings of known names in a chunk; each name extracted from the chunk has at least one."""
    found = list(see(one.chunk, Annotation((), ()), matcher).sightings)
    first: dict[str, Sighting] = {}
    for sighting in found:
        if sighting.match == "exact":
            first.setdefault(sighting.key, sighting)
    folded = entity_key(one.chunk.text) if one.names.keys() - first.keys() else ""
    for key, name in one.names.items():
        if key not in first:
            own = list(own_sightings(one.chunk, key, name, folded))
            found += own
            first[key] = own[0]
    # A second sighting at the same span does not count again; it only adds the type.
    return found + [first[key]._replace(type=kind) for key, kind in one.types if kind]


def _instances(one: _Stated, seen: Sequence[Sighting], findings: Findings) -> Iterator[tuple[object, ...]]:
    """Yield each relationship that a chunk states, with its evidence: the sentence that names both ends, if any."""
    if not one.relations:
        return
    chunk, sentences = one.chunk, NamingSentences(one.chunk, seen)
    for relation in one.relations:
        source, target = entity_key(relation.source), entity_key(relation.target)
        start, end = sentences.of_both(source, target, relation.description)
        told = " ".join(relation.predicate.split()), relation.description, relation.strength
        sentence = "" if start is None or end is None else chunk.text[start - chunk.start : end - chunk.start]
        source, target = findings.named(chunk, source, start, end), findings.named(chunk, target, start, end)
        yield chunk.id, chunk.document_id, source, target, *told, start, end, sentence


def with_predicate(relation: Relation, stated: Sequence[tuple[str, str]]) -> Relation:
    """Return a relation with its most frequent predicate in its direction; ties go to the shortest.

    The pair remains one relation whatever its predicates: models vary the wording of one fact.
    """
    counted = Counter(predicate for source, predicate in stated if source == relation.source_id)
    if relation.predicate or not counted:
        return relation
    return replace(relation, predicate=min(counted, key=lambda each: (-counted[each], len(each), each)))


def _claim(chunk: Chunk, record: ClaimRecord, findings: Findings) -> Claim:
    span = quoted(chunk, record.quote or "") or (None, None)
    subject, target = (findings.named(chunk, name_key(name), *span) for name in (record.subject, record.object or ""))
    start, end = record.start_date, record.end_date
    said = (subject, target, record.type, record.status, start or "", end or "", record.description)
    return Claim(
        id=short_id("claim", chunk.id, *said),
        subject_id=entity_id(subject),
        object_id=entity_id(target) if target else None,
        type=record.type,
        status=record.status.upper(),
        description=record.description,
        start_date=start,
        end_date=end,
        chunk_id=chunk.id,
        start=span[0],
        end=span[1],
    )


def without_repeats(claims: Iterable[Claim], document_of: Mapping[str, str]) -> list[Claim]:
    """Return the claims; of those that overlapping chunks make of one quoted place the first remains."""
    kept: dict[tuple[object, ...], Claim] = {}
    for claim in sorted(claims, key=lambda each: each.id):
        place = (document_of[claim.chunk_id], claim.start, claim.end) if claim.start is not None else claim.id
        said = (claim.subject_id, claim.object_id, claim.type.casefold(), claim.status)
        kept.setdefault((place, *said), claim)
    return list(kept.values())


def quoted(chunk: Chunk, quote: str) -> tuple[int, int] | None:
    """Locate a quotation in a document: exactly, or ignoring spaces and punctuation between words."""
    at = chunk.text.find(quote)
    if quote and at >= 0:
        return chunk.start + at, chunk.start + at + len(quote)
    for match in NameMatcher({quote: None}).find(chunk.text):
        return chunk.start + match.start, chunk.start + match.end
    return None
