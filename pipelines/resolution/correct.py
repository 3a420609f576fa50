"""Apply corrections to what was extracted, resolved and joined with a graph, and count the places of each.

A correction means an entity by any of its names. Names are split earlier, where they are seen (split_names.py), and
kept apart where names are resolved.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from conspectus.pipelines.backends.base import Extraction
from conspectus.pipelines.resolution.corrections import Rule, entity_of
from conspectus.pipelines.resolution.resolve import distinct, merged, moved
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.pipelines.steps.extract.merge_llm import with_predicate
from conspectus.pipelines.steps.extract.split_names import Splits
from conspectus.storage.hashing import short_id
from conspectus.storage.mapped import Changed
from conspectus.storage.records import Chunk, Correction, Document, Entity, Mention, Merge, Relation
from conspectus.storage.spilled import few_as_list
from conspectus.storage.sql_engine import Engine
from conspectus.storage.tables import arrow_of, records_of, sorted_by_id
from conspectus.storage.text.normalise import entity_key

Record = TypeVar("Record")
Value = TypeVar("Value")
_SQL = Path(__file__).with_suffix(".sql")
REASON = "correction"
"""The reason of a merge that a correction asks for."""


def corrected(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    found: Extraction,
    merges: Sequence[Merge],
    rules: Sequence[Rule],
    *,
    weighed: bool,
) -> tuple[Extraction, list[Merge], list[Correction]]:
    """Return the corrected extraction and merges, and each correction with the number of its places.

    Args:
        documents: All documents.
        chunks: All chunks.
        found: The extraction, its names resolved and joined with an imported graph.
        merges: The merges of names.
        rules: The corrections.
        weighed: Whether an imported graph gives relations weights of its own.
    """
    if not rules:
        return found, list(merges), []
    work = _Work(found, merges, rules)
    work.count_splits(Splits(rules, documents), chunks)
    work.merge()
    work.relate(chunks, weighed=weighed)
    rows = [Correction(short_id("correction", *rule.lines), ", ".join(rule.lines), work.places[rule]) for rule in rules]
    return work.found, sorted_by_id(work.merges), sorted_by_id(rows)


@dataclass(slots=True)
class _Work:
    """The state of correcting: the extraction, the merges, and the places of each correction."""

    found: Extraction
    merges: Sequence[Merge]
    rules: Sequence[Rule]
    places: Counter[Rule] = field(default_factory=Counter)
    name_of: dict[str, str] = field(default_factory=dict)
    """The names that entities get, by id."""
    _now: dict[str, str] = field(default_factory=dict)
    """The entity that each name of a correction means, by the id of the name."""

    def __post_init__(self) -> None:
        names = {entity_of(name) for rule in self.rules for name in (*rule.names, *rule.to)}
        alias_of = {merge.alias_id: merge.entity_id for merge in self.merges if not merge.undone}
        known = {entity.id: entity for entity in self._entities({*names, *map(alias_of.get, names)})}
        self._now = {id_: now for id_ in names if (now := id_ if id_ in known else alias_of.get(id_, "")) in known}

    def _entities(self, ids: Iterable[str | None]) -> list[Entity]:
        return _rows_with(Entity, self.found.knowledge.entities, "id", ids)

    def _mentions_of(self, ids: Iterable[str | None]) -> list[Mention]:
        return _rows_with(Mention, self.found.knowledge.mentions, "entity_id", ids)

    def _means(self, name: str) -> str | None:
        return self._now.get(entity_of(name))

    def count_splits(self, splits: Splits, chunks: Sequence[Chunk]) -> None:
        """Count the places of splits."""
        rules = [rule for rule in self.rules if rule.kind == "split"]
        chunk_of = {chunk.id: chunk for chunk in chunks} if rules else {}
        for rule in rules:
            self.places[rule] = sum(
                entity_key(each.surface) == entity_key(rule.names[0])
                and splits.applies(rule, chunk_of[each.chunk_id], each.start)
                for each in self._mentions_of({self._means(rule.to[0])})
            )

    def merge(self) -> None:
        """Merge and rename entities, and count the places of corrections of entities."""
        kept_of: dict[str, str] = {}
        members_of: dict[Rule, set[str]] = {}
        for rule in self.rules:
            names = rule.one_entity or rule.names
            members = {id_ for id_ in map(self._means, names) if id_}
            kept = entity_of(names[0])
            if rule.one_entity and any(map(self._means, rule.one_entity[1:])):
                self.name_of[kept] = names[0]
                for id_ in members - {kept}:
                    kept_of.setdefault(id_, kept)
                members_of[rule] = members - {kept} or members
            elif rule.kind == "apart" and len(members) == len(names):
                members_of[rule] = members - {self._means(names[0]) or ""}
        self._count(members_of)
        kept_of = {id_: _last(id_, kept_of) for id_ in kept_of}
        now_of = {**self._now, **{id_: id_ for id_ in kept_of.values()}}
        self._now = {id_: kept_of.get(now, now) for id_, now in now_of.items()}
        if kept_of:
            self._merge(kept_of)

    def _count(self, entities_of: Mapping[Rule, Collection[str]]) -> None:
        """Count the places of corrections of entities; one that only a graph has is one place."""
        counted = Counter(each.entity_id for each in self._mentions_of(set().union(*entities_of.values())))
        for rule, ids in entities_of.items():
            self.places[rule] = sum(max(1, counted[id_]) for id_ in ids)

    def _merge(self, kept_of: Mapping[str, str]) -> None:
        knowledge = self.found.knowledge
        old = {entity.id: entity for entity in self._entities({*kept_of, *kept_of.values()})}
        added = {
            kept: replace(old[id_], id=kept, name=self.name_of[kept], description="", frequency=0)
            for id_, kept in sorted(kept_of.items())
            if kept not in old
        }
        entities = sorted_by_id([*knowledge.entities, *added.values()]) if added else knowledge.entities
        self.found = merged(replace(self.found, knowledge=replace(knowledge, entities=entities)), kept_of)
        rows = [merge for merge in self.merges if merge.undone]
        for merge in self.merges:
            kept = kept_of.get(merge.entity_id, merge.entity_id)
            if not merge.undone and merge.alias_id != kept:
                id_, name = short_id("merge", merge.alias_id, kept), self.name_of.get(kept, merge.name)
                rows.append(replace(merge, id=id_, entity_id=kept, name=name))
        rows += [
            Merge(short_id("merge", id_, kept), kept, self.name_of[kept], id_, old[id_].name, REASON, 1.0, None, False)
            for id_, kept in kept_of.items()
        ]
        self.merges = list({row.id: row for row in rows}.values())

    def relate(self, chunks: Sequence[Chunk], *, weighed: bool) -> None:
        """Forbid and type entities, forbid and fix relations, and give corrected relations the ids of their names."""
        concerns: dict[Rule, str] = {}
        rows: list[tuple[object, ...]] = []
        for nth, rule in enumerate(self.rules):
            ends = [self._means(name) for name in (rule.names[0], rule.names[-1], *rule.to[:1], *rule.to[-1:])]
            if rule.kind in ("forbid", "type") and len(rule.names) == 1 and ends[0]:
                concerns[rule] = ends[0]
            elif rule.kind == "fix" and all(ends):
                rows.append((nth, ends[0], entity_key(rule.names[1]), ends[1], ends[2], rule.to[1], ends[3]))
            elif rule.kind == "forbid" and len(rule.names) > 1 and all(ends):
                predicate = entity_key(rule.names[1]) if len(rule.names) == 3 else None
                rows.append((nth, ends[0], predicate, ends[1], None, None, None))
        self._count({rule: [id_] for rule, id_ in concerns.items()})
        forbidden = {id_ for rule, id_ in concerns.items() if rule.kind == "forbid"}
        types = {id_: rule.to[0] for rule, id_ in concerns.items() if rule.to}
        if not (concerns or rows or self.name_of):
            return
        found, tables = self.found, self.found.knowledge
        stated = [each for each in tables.relations if each.id in found.predicates] if found.predicates else []
        with Engine() as engine:
            engine.add_function("entity_key", entity_key)
            engine.show("entities", arrow_of(Entity, tables.entities))
            engine.show("relations", arrow_of(Relation, tables.relations))
            engine.show("mentions", arrow_of(Mention, tables.mentions))
            engine.show("chunks", arrow_of(Chunk, chunks, ["id", "document_id"]))
            engine.run(f"SET VARIABLE weighed = {weighed}")
            engine.run(_SQL)
            engine.insert("told", ((id_, self.name_of.get(id_), types.get(id_)) for id_ in {*self.name_of, *types}))
            engine.insert("forbidden", ((id_,) for id_ in forbidden))
            engine.insert(
                "said", ((each.id, with_predicate(each, found.predicates[each.id]).predicate) for each in stated)
            )
            engine.insert("rules", rows)
            engine.run(
                "INSERT INTO matched FROM matching; INSERT INTO joined FROM joining; INSERT INTO changed FROM changes"
            )
            for row in engine.table("FROM places").to_pylist():
                self.places[self.rules[row["nth"]]] = row["places"]
            new_id = {row["id"]: row["now"] for row in engine.table("FROM changed").to_pylist()}
            entities: Sequence[Entity] = few_as_list(engine.rows(Entity, "FROM corrected_entities"))
            relations = engine.rows(Relation, "FROM corrected_relations")
            mentions = engine.rows(Mention, "FROM corrected_mentions")
        self.merges = [each for each in self.merges if not forbidden & {each.entity_id, each.alias_id}]
        held = {relation.id for relation in relations} if found.relation_descriptions or found.predicates else set()
        self.found = replace(
            found,
            knowledge=Knowledge(entities, relations, mentions),
            claims=[each for each in found.claims if not forbidden & {each.subject_id, each.object_id}],
            entity_descriptions=Changed(found.entity_descriptions, dict.fromkeys(forbidden)),
            relation_descriptions=_only(moved(found.relation_descriptions, new_id, distinct), held),
            predicates=_only(moved(found.predicates, new_id, sorted), held),
        )


def _only(values: Mapping[str, Value], ids: Collection[str]) -> Mapping[str, Value]:
    return Changed(values, dict.fromkeys(id_ for id_ in values if id_ not in ids))


def _rows_with(record: type[Record], rows: Sequence[Record], column: str, ids: Iterable[str | None]) -> list[Record]:
    """Return the rows that have one of some ids in a column."""
    import pyarrow as pa
    from pyarrow import compute

    table = arrow_of(record, rows)
    return list(records_of(table.filter(compute.is_in(table[column], pa.array({*ids} - {None}, pa.string()))), record))


def _last(id_: str, kept_of: Mapping[str, str]) -> str:
    """Return the entity that an entity is merged into in the end."""
    seen: set[str] = set()
    while id_ in kept_of and id_ not in seen:
        seen.add(id_)
        id_ = kept_of[id_]
    return id_
