"""Merge an imported knowledge graph with the graph extracted from the documents.

Things of both are matched by their names (see `entity_key`): one name is one entity. A statement with the same ends and
predicate is one relation. The relations of documents retain their chunks; those of the graph alone have none. The
graph's content about a thing or a relation precedes that of documents; the greater of two weights counts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from conspectus.pipelines.exchange.kg.builder import ForeignRow, ImportedGraph, ThingAttributes, TripleAttributes
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.storage.arrays import distinct
from conspectus.storage.hashing import short_id, short_id_of, sized
from conspectus.storage.records import GRAPH_FILE, Entity, Merge, Origin, Qualifier, Relation
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.nlp import CONCEPT, NAME
from conspectus.storage.text.normalise import entity_key


def ids_of_graph(graph: ImportedGraph) -> frozenset[str]:
    """Return the ids of the entities of a graph."""
    return frozenset(short_id("entity", entity_key(name)) for name in graph.names)


def join(found: Knowledge, graph: ImportedGraph) -> Knowledge:
    """Return the merged knowledge of the documents and the graph, each list sorted by id."""
    keys = [entity_key(name) for name in graph.names]
    ids = [short_id("entity", key) for key in keys]
    relations = _relations(found.relations, graph, keys, ids)
    return Knowledge(_entities(found, graph, ids), relations, found.mentions)


def _relations(
    stated: Sequence[Relation], graph: ImportedGraph, keys: Sequence[str], ids: Sequence[str]
) -> list[Relation]:
    known = {relation.id for relation in stated}
    predicates = graph.predicates
    # short_id("relation", source, predicate, target): the predicate is unchanged, so two that differ only in case are
    # distinct.
    head, ends, middles = sized("relation"), list(map(sized, keys)), list(map(sized, predicates))
    rows = zip(graph.sources.tolist(), graph.stated.tolist(), graph.targets.tolist(), strict=True)
    told, nothing = graph.triple_attributes, TripleAttributes()
    added = (
        Relation(
            short_id_of(head + ends[source] + middles[said] + ends[target]),
            ids[source],
            ids[target],
            predicates[said],
            (says := told.get(row, nothing)).description,
            says.weight,
            (),
            says.strength,
            _qualifiers(says),
        )
        for row, (source, said, target) in enumerate(rows)
    )
    if not told:
        return sorted_by_id([*stated, *(relation for relation in added if relation.id not in known)])
    by_id = {relation.id: relation for relation in stated}
    for relation in added:
        by_id[relation.id] = _stated_too(by_id[relation.id], relation) if relation.id in by_id else relation
    return sorted_by_id(by_id.values())


def _qualifiers(says: TripleAttributes) -> tuple[Qualifier, ...]:
    return tuple(
        Qualifier(number, predicate, value)
        for number, statement in enumerate(says.statements)
        for predicate, value in statement
    )


def _stated_too(stated: Relation, brought: Relation) -> Relation:
    """Return a relation that both the documents and the graph have."""
    return replace(
        stated,
        description=" ".join(filter(None, (brought.description, stated.description))),
        weight=max(stated.weight, brought.weight),
        strength=brought.strength if stated.strength is None else stated.strength,
        qualifiers=brought.qualifiers,
    )


def _entities(found: Knowledge, graph: ImportedGraph, ids: Sequence[str]) -> list[Entity]:
    seen = found.entities
    row_of = {id_: row for row, id_ in enumerate(dict.fromkeys([*(entity.id for entity in seen), *ids]))}
    rows = np.array([row_of[id_] for id_ in ids], np.int64)
    stated = np.array(
        [(row_of[relation.source_id], row_of[relation.target_id]) for relation in found.relations], np.int64
    )
    ends = np.concatenate([stated.reshape(-1, 2), np.stack([rows[graph.sources], rows[graph.targets]], axis=1)])
    pairs = distinct(np.concatenate([ends @ [len(row_of), 1], ends @ [1, len(row_of)]]))
    degrees = np.bincount(pairs // len(row_of), minlength=len(row_of)).tolist()
    place_of = {id_: place for place, id_ in enumerate(ids)}
    both = [
        _told_too(replace(entity, degree=degrees[row_of[entity.id]]), graph.thing_attributes.get(place_of[entity.id]))
        if entity.id in place_of
        else entity
        for entity in seen
    ]
    seen_ids = {entity.id for entity in seen}
    alone = [
        _told_alone(Entity(id_, name, NAME, (NAME,), "", 0, degrees[row_of[id_]]), graph.thing_attributes.get(place))
        for place, (id_, name) in enumerate(zip(ids, graph.names, strict=True))
        if id_ not in seen_ids
    ]
    return sorted_by_id([*both, *alone])


def _told_too(entity: Entity, told: ThingAttributes | None) -> Entity:
    """Return an entity that both the documents and the graph have."""
    brought = told.types if told else ()
    types = tuple(dict.fromkeys([*_types(entity.types, brought), *brought]))
    return replace(entity, type=types[0], types=types, description=told.description if told else entity.description)


def _told_alone(entity: Entity, told: ThingAttributes | None) -> Entity:
    """Return an entity that only the graph has."""
    if told is None:
        return entity
    types = told.types or entity.types
    return replace(entity, type=types[0], types=types, description=told.description)


def _types(types: tuple[str, ...], brought: tuple[str, ...]) -> tuple[str, ...]:
    """Return the merged types of an entity: a thing of a graph has a name, whatever phrase the texts use."""
    return types if any(kind != CONCEPT for kind in types) else (*(brought or (NAME,)), *types)


def further_names(graph: ImportedGraph, entities: Iterable[Entity]) -> list[Merge]:
    """Return the further names of a graph's things as merges; a name that an entity has is left out."""
    name_of = {entity.id: entity.name for entity in entities}
    made: dict[str, Merge] = {}
    for name, row in graph.other_names:
        id_, alias_id = (short_id("entity", entity_key(each)) for each in (graph.names[row], name))
        if entity_key(name) and alias_id not in name_of:
            merge_id = short_id("merge", alias_id, id_)
            made[merge_id] = Merge(merge_id, id_, name_of[id_], alias_id, name, "label in the graph", 1.0, None, False)
    return list(made.values())


def origins(graph: ImportedGraph, found: Knowledge) -> list[Origin]:
    """Return the origins of a graph's things and triples, if its files state more about them than names.

    `found` is the merged knowledge; only rows that are in it are listed.
    """
    keys = [entity_key(name) for name in graph.names]
    entities, relations = {entity.id for entity in found.entities}, {relation.id for relation in found.relations}
    made: dict[str, Origin] = {}
    for place, thing in graph.thing_attributes.items():
        item = short_id("entity", keys[place])
        if item in entities:
            made |= {origin.id: origin for origin in _origins("entities", item, thing.rows)}
    for place, triple in graph.triple_attributes.items():
        ends = keys[graph.sources[place]], keys[graph.targets[place]]
        item = short_id("relation", ends[0], graph.predicates[graph.stated[place]], ends[1])
        if item in relations:
            made |= {origin.id: origin for origin in _origins("relations", item, triple.rows)}
    return sorted_by_id(made.values())


def _origins(table: str, item: str, rows: Iterable[ForeignRow]) -> Iterator[Origin]:
    for row in rows:
        details = {**row.details, GRAPH_FILE: row.file}
        id_ = short_id("origin", table, item, row.source_id, str(row.ordinal), *chain(*sorted(details.items())))
        yield Origin(id_, table, item, row.source_id, row.ordinal, details)
