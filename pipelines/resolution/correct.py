"""Apply corrections to what was extracted, resolved and joined with a graph, and count the places of each.

A correction means an entity by any of its names. Names are split earlier, where they are seen (split_names.py), and
kept apart where names are resolved.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import TypeVar

from conspectus.pipelines.backends.base import Extraction
from conspectus.pipelines.resolution.apply import one_relation
from conspectus.pipelines.resolution.corrections import Rule, entity_of
from conspectus.pipelines.resolution.resolve import merged, moved
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.pipelines.steps.extract.merge_llm import with_predicate
from conspectus.pipelines.steps.extract.split_names import Splits
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Correction, Document, Entity, Mention, Merge, Relation
from conspectus.storage.spilled import few_as_list
from conspectus.storage.sql_engine import Engine
from conspectus.storage.tables import arrow_of, records_of, sorted_by_id
from conspectus.storage.text.normalise import entity_key

Record = TypeVar("Record")
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
    work.merge()
    work.relate(chunks, weighed=weighed)
    split = Splits(rules, documents)
    chunk_of: dict[str, Chunk] = {}
    for rule in rules:
        if rule.kind == "split":
            mentions = work.mentions_of([entity_of(rule.to[0])])
            chunk_of = chunk_of or {chunk.id: chunk for chunk in chunks}
            work.places[rule] = sum(
                entity_key(mention.surface) == entity_key(rule.names[0])
                and split.applies(rule, chunk_of[mention.chunk_id], mention.start)
                for mention in mentions
            )
    rows = [Correction(rule.id, ", ".join(rule.lines), work.places[rule]) for rule in rules]
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
        return _rows_with(Entity, self.found.knowledge.entities, ["id"], ids)

    def mentions_of(self, ids: Iterable[str], column: str = "entity_id") -> list[Mention]:
        """Return the mentions of some entities, or relations."""
        return _rows_with(Mention, self.found.knowledge.mentions, [column], ids)

    def _means(self, name: str) -> str | None:
        return self._now.get(entity_of(name))

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
        self._now = {id_: kept_of.get(now, now) for id_, now in self._now.items()} | {
            id_: id_ for id_ in kept_of.values()
        }
        if kept_of:
            self._merge(kept_of)

    def _count(self, entities_of: Mapping[Rule, Collection[str]]) -> None:
        """Count the places of corrections of entities; one that only a graph has is one place."""
        counted = Counter(each.entity_id for each in self.mentions_of(set().union(*entities_of.values())))
        for rule, ids in entities_of.items():
            self.places[rule] = sum(max(1, counted[id_]) for id_ in ids)

    def _merge(self, kept_of: Mapping[str, str]) -> None:
        knowledge = self.found.knowledge
        old = {entity.id: entity for entity in self._entities({*kept_of, *kept_of.values()})}
        new = [
            replace(old[id_], id=kept, name=self.name_of[kept], description="", frequency=0)
            for id_, kept in sorted(kept_of.items())
            if kept not in old
        ]
        added = {entity.id: entity for entity in new}.values()
        entities = sorted_by_id([*knowledge.entities, *added]) if added else knowledge.entities
        self.found = merged(replace(self.found, knowledge=replace(knowledge, entities=entities)), kept_of)
        pairs = [(merge.alias_id, merge.alias, merge.entity_id, merge) for merge in self.merges if not merge.undone]
        rows = [merge for merge in self.merges if merge.undone]
        for alias_id, alias, entity_id, merge in pairs:
            kept = kept_of.get(entity_id, entity_id)
            if alias_id != kept:
                name = self.name_of.get(kept, merge.name)
                id_ = short_id("merge", alias_id, kept)
                rows.append(replace(merge, id=id_, entity_id=kept, name=name, alias=alias))
        rows += [
            Merge(short_id("merge", id_, kept), kept, self.name_of[kept], id_, old[id_].name, REASON, 1.0, None, False)
            for id_, kept in kept_of.items()
        ]
        self.merges = list({row.id: row for row in rows}.values())

    def relate(self, chunks: Sequence[Chunk], *, weighed: bool) -> None:
        """Forbid and type entities, forbid and fix relations, and give corrected relations the ids of their names."""
        concerns = {
            rule: id_
            for rule in self.rules
            if rule.kind in ("forbid", "type") and len(rule.names) == 1 and (id_ := self._means(rule.names[0]))
        }
        self._count({rule: [id_] for rule, id_ in concerns.items()})
        forbidden = {id_ for rule, id_ in concerns.items() if rule.kind == "forbid"}
        types = {id_: rule.to[0] for rule, id_ in concerns.items() if rule.to}
        remade, changed = self._remade()
        knowledge = self.found.knowledge
        if not (forbidden or types or self.name_of or changed):
            return
        with Engine() as engine:
            for name, record, rows in (
                ("entities", Entity, knowledge.entities),
                ("relations", Relation, knowledge.relations),
                ("mentions", Mention, knowledge.mentions),
                ("remade", Relation, remade),
            ):
                engine.show(name, arrow_of(record, rows))
            engine.show(
                "documents", arrow_of(Chunk, chunks, ["id", "document_id"]).rename_columns(["chunk_id", "document_id"])
            )
            engine.run(_SQL)
            engine.insert("told", ((id_, self.name_of.get(id_), types.get(id_)) for id_ in {*self.name_of, *types}))
            engine.insert("forbidden", ((id_,) for id_ in forbidden))
            engine.insert("changed", changed.items())
            if not weighed:
                weights = dict(
                    zip(*(column.to_pylist() for column in engine.table("FROM weights").columns), strict=True)
                )
                remade = [replace(each, weight=weights.get(each.id, each.weight)) for each in remade]
                engine.show("remade", arrow_of(Relation, remade))
            entities: Sequence[Entity] = few_as_list(engine.rows(Entity, "FROM corrected_entities"))
            relations = engine.rows(Relation, "FROM corrected_relations")
            mentions = engine.rows(Mention, "FROM corrected_mentions")
        self.merges = [
            merge
            for merge in self.merges
            if not forbidden & {merge.entity_id, merge.alias_id if merge.undone else merge.entity_id}
        ]
        new_id, found = {id_: now for id_, now in changed.items() if id_ != now}, self.found
        held = {relation.id for relation in relations} if found.relation_descriptions or found.predicates else set()
        self.found = replace(
            found,
            knowledge=Knowledge(entities, relations, mentions),
            claims=[each for each in found.claims if not forbidden & {each.subject_id, each.object_id}],
            entity_descriptions={id_: told for id_, told in found.entity_descriptions.items() if id_ not in forbidden},
            relation_descriptions={
                id_: sorted(set(told))
                for id_, told in moved(found.relation_descriptions, new_id).items()
                if id_ in held
            },
            predicates={id_: said for id_, said in moved(found.predicates, new_id).items() if id_ in held},
        )

    def _remade(self) -> tuple[list[Relation], dict[str, str]]:
        """Return the relations that corrections concern, as they are now, and the new id of each old one, "" for none.

        A relation of a merged or renamed entity gets the id that it would have if texts used its name.
        """
        knowledge, predicates = self.found.knowledge, self.found.predicates
        rules_of: defaultdict[tuple[str | None, str | None], list[Rule]] = defaultdict(list)
        ends = {*self.name_of}
        for rule in self.rules:
            if rule.kind == "fix" or (rule.kind == "forbid" and len(rule.names) > 1):
                places = [self._means(name) for name in (rule.names[0], rule.names[-1], *rule.to[:1], *rule.to[-1:])]
                if all(places):
                    rules_of[places[0], places[1]].append(rule)
                    if len(rule.names) == 2:
                        rules_of[places[1], places[0]].append(rule)
                    ends.update(filter(None, places))
        rows = _rows_with(Relation, knowledge.relations, ["source_id", "target_id"], ends)
        key_of = {
            entity.id: entity_key(self.name_of.get(entity.id, entity.name))
            for entity in self._entities({id_ for row in rows for id_ in (row.source_id, row.target_id)})
        }
        groups: defaultdict[tuple[str, ...], list[tuple[Relation, Relation]]] = defaultdict(list)
        matched: list[tuple[Rule, str]] = []
        changed: dict[str, str] = {}
        for row in rows:
            shown = entity_key(with_predicate(row, predicates.get(row.id, ())).predicate)
            possible = [*rules_of[row.source_id, row.target_id]]
            if not row.predicate:  # a model's relations have no direction
                possible += rules_of[row.target_id, row.source_id]
            rule = next(
                (each for each in possible if not shown or len(each.names) == 2 or entity_key(each.names[1]) == shown),
                None,
            )
            if rule:
                matched.append((rule, row.id))
            if rule and rule.kind == "forbid":
                changed[row.id] = ""
                continue
            now = row
            if rule:
                source, target = self._means(rule.to[0]) or "", self._means(rule.to[2]) or ""
                now = replace(row, source_id=source, predicate=rule.to[1], target_id=target)
            pair = (now.source_id, now.target_id)
            groups[entity_key(now.predicate), *(pair if now.predicate else sorted(pair))].append((row, now))
        counted = Counter(each.relation_id for each in self.mentions_of((id_ for _, id_ in matched), "relation_id"))
        for rule, id_ in matched:
            self.places[rule] += max(1, counted[id_])
        remade: list[Relation] = []
        for (predicate, *_), members in groups.items():
            if all(row is now and not self.name_of.keys() & {row.source_id, row.target_id} for row, now in members):
                continue
            one = one_relation([now for _, now in members], {}) if len(members) > 1 else members[0][1]
            keys = [key_of[one.source_id], key_of[one.target_id]]
            if all(entity_of(key) == id_ for key, id_ in zip(keys, (one.source_id, one.target_id), strict=True)):
                source, target = keys if predicate else sorted(keys)
                one = replace(one, id=short_id("relation", source, predicate, target))
            is_one = one.source_id == one.target_id
            changed.update((row.id, "" if is_one else one.id) for row, _ in members)
            remade += [] if is_one else [one]
        return remade, changed


def _rows_with(
    record: type[Record], rows: Sequence[Record], columns: Sequence[str], ids: Iterable[str | None]
) -> list[Record]:
    """Return the rows that have one of some ids in one of some columns."""
    import pyarrow as pa
    from pyarrow import compute

    table, wanted = arrow_of(record, rows), pa.array({*ids} - {None}, pa.string())
    masks = [compute.is_in(table[column], wanted) for column in columns]
    return list(records_of(table.filter(reduce(compute.or_, masks)), record))


def _last(id_: str, kept_of: Mapping[str, str]) -> str:
    """Return the entity that an entity is merged into in the end."""
    seen: set[str] = set()
    while id_ in kept_of and id_ not in seen:
        seen.add(id_)
        id_ = kept_of[id_]
    return id_
