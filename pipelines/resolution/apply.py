"""Rewrite mentions, relations and counts so that aliases belong to their canonical entity."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.storage.arrays import runs
from conspectus.storage.graph.edges import degrees_of
from conspectus.storage.hashing import short_id
from conspectus.storage.mapped import TableRows
from conspectus.storage.records import Claim, Entity, Mention, Qualifier, Relation
from conspectus.storage.spilled import blocks_of, few_as_list, replaced
from conspectus.storage.tables import arrow_of, codes_of, records_of
from conspectus.storage.text.nlp import CONCEPT, TITLE
from conspectus.storage.text.normalise import entity_key

if TYPE_CHECKING:
    import pyarrow as pa

_TELLING_LEAST = frozenset({TITLE, CONCEPT})


def applied(found: Knowledge, kept_of: Mapping[str, str]) -> tuple[Knowledge, dict[str, str]]:
    """Return the knowledge with each alias (a key of `kept_of`) merged into its value, and the new ids of relations.

    A mention of an alias keeps its span, is assigned to the canonical entity and gets `match` "alias"; if both are
    mentioned at one span, that of the canonical name remains. Relations that become identical are merged: weights
    are added, chunks united, and the shortest description remains. A relation of an entity with itself is dropped with
    its mentions. Nothing else changes.
    """
    if not kept_of:
        return found, {}
    relations, new_id = _relations(found, kept_of)
    mentions = _mentions(found.mentions, kept_of, new_id)
    entities = _entities(found.entities, relations, mentions, kept_of)
    return Knowledge(entities, relations, mentions), new_id


def claims_applied(claims: Sequence[Claim], kept_of: Mapping[str, str]) -> list[Claim]:
    """Return the claims, rewritten to the canonical entities."""
    return [
        replace(
            claim,
            subject_id=kept_of.get(claim.subject_id, claim.subject_id),
            object_id=None if claim.object_id is None else kept_of.get(claim.object_id, claim.object_id),
        )
        for claim in claims
    ]


def _relations(found: Knowledge, kept_of: Mapping[str, str]) -> tuple[TableRows[Relation], dict[str, str]]:
    """Return the relations between canonical entities, and the new id of each changed relation, "" if dropped.

    Only those that share their ends with a relation of an alias are made to records.
    """
    table = arrow_of(Relation, found.relations)
    ends = [codes_of(table[name]) for name in ("source_id", "target_id")]
    rank = {id_: place for place, id_ in enumerate(sorted({kept_of.get(id_, id_) for _, ids in ends for id_ in ids}))}
    source, target = (np.array([rank[kept_of.get(id_, id_)] for id_ in ids], np.int64)[of] for of, ids in ends)
    of_alias = np.logical_or(*(np.array([id_ in kept_of for id_ in ids], np.bool_)[of] for of, ids in ends))
    said, predicates = codes_of(table["predicate"])
    folded = {key: place for place, key in enumerate(dict.fromkeys(map(entity_key, predicates)))}
    predicate = np.array([folded[entity_key(each)] for each in predicates], np.int64)[said]
    # A model's relations have no direction: see extract/merge_llm.py.
    turned = np.array([not each for each in predicates], np.bool_)[said] & (target < source)
    source, target = np.where(turned, target, source), np.where(turned, source, target)
    order, starts = runs(source, predicate, target)
    moved = np.logical_or.reduceat(of_alias[order], starts) if len(starts) else of_alias
    untouched = np.ones(len(table), np.bool_)
    new_id: dict[str, str] = {}
    merged: list[Relation] = []
    rows = TableRows(table, Relation)
    ends_of_runs = np.append(starts[1:], len(order))
    for start, end in zip(starts[moved].tolist(), ends_of_runs[moved].tolist(), strict=True):
        members = np.sort(order[start:end])  # by id
        untouched[members] = False
        group = rows.at(members)
        one = None if source[members[0]] == target[members[0]] else _one_relation(group, kept_of)
        merged += [one] if one else []
        new_id.update({member.id: one.id if one else "" for member in group})
    return replaced(Relation, blocks_of(table), untouched, arrow_of(Relation, merged)), new_id


def _one_relation(group: Sequence[Relation], kept_of: Mapping[str, str]) -> Relation:
    ways = Counter[tuple[str, str]]()
    for member in group:
        ends = kept_of.get(member.source_id, member.source_id), kept_of.get(member.target_id, member.target_id)
        ways[ends] += max(1, round(member.weight))
    source, target = min(ways, key=lambda way: (-ways[way], way))
    predicate = entity_key(group[0].predicate)
    own = [member for member in group if member.source_id not in kept_of and member.target_id not in kept_of]
    # The id that this relation gets if only canonical names are used.
    id_ = (
        min(mention.id for mention in own) if own else short_id("relation", "merged", source, f"{predicate}\n{target}")
    )
    strengths = [(member.strength, member.weight) for member in group if member.strength is not None]
    total = sum(weight for _, weight in strengths)
    descriptions = sorted({member.description for member in group} - {""}, key=lambda text: (len(text), text))
    return Relation(
        id=id_,
        source_id=source,
        target_id=target,
        predicate=min(member.predicate for member in group),
        description=(" ".join(sorted(descriptions)) if not predicate else descriptions[0]) if descriptions else "",
        weight=float(sum(member.weight for member in group)),
        chunk_ids=tuple(sorted({chunk for member in group for chunk in member.chunk_ids})),
        strength=sum(strength * weight for strength, weight in strengths) / total if total else None,
        qualifiers=_all_qualifiers(group),
    )


def _all_qualifiers(group: Sequence[Relation]) -> tuple[Qualifier, ...]:
    """Return the qualifiers of all members, the statements of each numbered after those of the member before."""
    found: list[Qualifier] = []
    for member in sorted(group, key=lambda each: each.id):
        first = found[-1].statement + 1 if found else 0
        found += [replace(qualifier, statement=first + qualifier.statement) for qualifier in member.qualifiers]
    return tuple(found)


def _mentions(
    mentions: Sequence[Mention], kept_of: Mapping[str, str], new_relation: Mapping[str, str]
) -> TableRows[Mention]:
    """Return the mentions under their new owners.

    Those of an owner that nothing was merged into are at different places already.
    """
    import pyarrow as pa
    from pyarrow import compute

    table = arrow_of(Mention, mentions)
    changed = pa.array({*kept_of, *kept_of.values(), *new_relation, *new_relation.values()}, pa.string())
    of_changed = np.logical_or(
        *(compute.is_in(table[name], changed).to_numpy() for name in ("entity_id", "relation_id"))
    )
    moved = _moved(table.filter(pa.array(of_changed)), kept_of, new_relation)
    return replaced(Mention, blocks_of(table), ~of_changed, moved)


def _moved(table: "pa.Table", kept_of: Mapping[str, str], new_relation: Mapping[str, str]) -> "pa.Table":
    """Return mentions under their new owners; only those at one place are made to records."""
    import pyarrow as pa

    (entity, entities), (relation, relations) = (codes_of(table[name]) for name in ("entity_id", "relation_id"))
    dropped = np.array([*(new_relation.get(id_, id_) == "" for id_ in relations), False], np.bool_)[relation]
    is_alias = np.array([*(id_ in kept_of for id_ in entities), False], np.bool_)[entity]
    match = np.where(is_alias, "alias", table["match"].to_numpy())
    owners = [*(kept_of.get(id_, id_) for id_ in entities), *(new_relation.get(id_, id_) for id_ in relations)]
    for name, column in (
        ("entity_id", pa.array(owners[: len(entities)], pa.string()).take(pa.array(entity, mask=entity < 0))),
        ("relation_id", pa.array(owners[len(entities) :], pa.string()).take(pa.array(relation, mask=relation < 0))),
        ("match", pa.array(match, pa.string())),
    ):
        table = table.set_column(table.column_names.index(name), table.field(name), column)
    number = {id_: place for place, id_ in enumerate(dict.fromkeys(owners))}
    owner = np.array([number[id_] for id_ in owners], np.int64)[np.where(entity < 0, relation + len(entities), entity)]
    wording = np.where(relation < 0, 0, 1 + codes_of(table["description"])[0])
    chunk, start, end = (codes_of(table[name])[0] for name in ("chunk_id", "start", "end"))
    kept = np.flatnonzero(~dropped)
    order, starts = runs(*(column[kept] for column in (owner, chunk, start, end, wording)))
    order = kept[order]
    sizes = np.diff(np.append(starts, len(order)))
    rows = TableRows(table, Mention)
    merged = [
        reduce(_one_mention, rows.at(order[start : start + size]))
        for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True)
    ]
    told = np.concatenate([order[starts[sizes == 1]], len(table) + np.arange(len(merged))])
    return pa.concat_tables([table, arrow_of(Mention, merged)]).take(told)


def _one_mention(one: Mention, other: Mention) -> Mention:
    """Return one of two mentions at one span: that of the canonical name, with the descriptions of both."""
    first, second = sorted((one, other), key=lambda item: (item.match == "alias", item.id))
    if first.relation_id is not None:
        return first
    lines = sorted({line for text in (first.description, second.description) for line in text.split("\n")} - {""})
    return replace(first, description="\n".join(lines))


def _entities(
    entities: Sequence[Entity], relations: Sequence[Relation], mentions: Sequence[Mention], kept_of: Mapping[str, str]
) -> Sequence[Entity]:
    """Return the entities that remain; only those of a merge are made to records."""
    import pyarrow as pa
    from pyarrow import compute

    table = arrow_of(Entity, entities)
    of_merge = compute.is_in(table["id"], pa.array({*kept_of, *kept_of.values()}, pa.string())).to_numpy()
    members: defaultdict[str, list[Entity]] = defaultdict(list)
    for entity in records_of(table.filter(pa.array(of_merge)), Entity):
        members[kept_of.get(entity.id, entity.id)].append(entity)
    frequency = _frequencies(list(members), mentions)
    merged = []
    for id_, group in members.items():
        own = next(member for member in group if member.id == id_)
        types = _types(own, group)
        descriptions = " ".join(sorted({member.description for member in group} - {""}))
        merged.append(replace(own, type=types[0], types=types, frequency=frequency[id_], description=descriptions))
    degrees = degrees_of(relations)

    def with_degrees(block: "pa.Table") -> "pa.Table":
        found = pa.array([degrees.get(id_, 0) for id_ in block["id"].to_pylist()], pa.int64())
        return block.set_column(block.column_names.index("degree"), block.field("degree"), found)

    degreed = map(with_degrees, blocks_of(table))
    return few_as_list(replaced(Entity, degreed, ~of_merge, with_degrees(arrow_of(Entity, merged))))


def _frequencies(ids: Sequence[str], mentions: Sequence[Mention]) -> dict[str, int]:
    """Return the number of chunks that mention each entity."""
    import pyarrow as pa
    from pyarrow import compute

    table = arrow_of(Mention, mentions, ["entity_id", "chunk_id"])
    table = table.filter(compute.is_in(table["entity_id"], pa.array(ids, pa.string())))
    counted = table.group_by("entity_id").aggregate([("chunk_id", "count_distinct")]).to_pylist()
    return dict.fromkeys(ids, 0) | {row["entity_id"]: row["chunk_id_count_distinct"] for row in counted}


def _types(own: Entity, group: Sequence[Entity]) -> tuple[str, ...]:
    """Return the types of a group, the most frequent by chunks first and the least specific (title, phrase) last.

    A short form is easily mistyped ("Haddon" as a firm), so if the canonical name has a specific type, the types of
    other names count only if these are more frequent.
    """
    tells = own.type not in _TELLING_LEAST
    votes: Counter[str] = Counter()
    for member in group:
        if member is not own and tells and member.frequency <= own.frequency:
            continue
        votes[member.type] += member.frequency
        for other in member.types[1:]:
            votes[other] += 0
    return tuple(sorted(votes, key=lambda kind: (kind in _TELLING_LEAST, -votes[kind], kind)))
