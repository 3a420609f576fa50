"""A graph that was brought along, joined with what the documents say.

Things of both meet by their names (see `entity_key`): one name is one entity. What both state of two things with one
predicate is one relation. The relations of documents keep their chunks; those of the graph alone have none.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pipelines.interchange.kg_collect import ImportedGraph
from pipelines.steps.entities import Knowledge
from storage.hashing import short_id, short_id_of, sized
from storage.records import Entity, Relation
from storage.tables import sorted_by_id
from storage.text.nlp import CONCEPT, NAME
from storage.text.normalise import entity_key


def join(found: Knowledge, graph: ImportedGraph) -> Knowledge:
    """Return what the documents and the graph say together, each list sorted by id."""
    keys = [entity_key(name) for name in graph.names]
    ids = [short_id("entity", key) for key in keys]
    relations = _relations(found.relations, graph, keys, ids)
    return Knowledge(_entities(found, graph, ids), relations, found.mentions)


def _relations(
    stated: Sequence[Relation], graph: ImportedGraph, keys: Sequence[str], ids: Sequence[str]
) -> list[Relation]:
    known = {each.id for each in stated}
    predicates = graph.predicates
    # short_id("relation", source, predicate, target): the predicate as it stands, so that two which differ in the case
    # of their letters are two.
    head, ends, middles = sized("relation"), list(map(sized, keys)), list(map(sized, predicates))
    rows = zip(graph.sources.tolist(), graph.stated.tolist(), graph.targets.tolist(), strict=True)
    added = (
        Relation(
            short_id_of(head + ends[source] + middles[said] + ends[target]),
            ids[source],
            ids[target],
            predicates[said],
            "",
            1.0,
            (),
        )
        for source, said, target in rows
    )
    return sorted_by_id([*stated, *(each for each in added if each.id not in known)])


def _entities(found: Knowledge, graph: ImportedGraph, ids: Sequence[str]) -> list[Entity]:
    seen = found.entities
    row_of = {id_: row for row, id_ in enumerate(dict.fromkeys([*(each.id for each in seen), *ids]))}
    rows = np.array([row_of[each] for each in ids], np.int64)
    stated = np.array([(row_of[each.source_id], row_of[each.target_id]) for each in found.relations], np.int64)
    ends = np.concatenate([stated.reshape(-1, 2), np.stack([rows[graph.sources], rows[graph.targets]], axis=1)])
    pairs = np.unique(np.concatenate([ends @ [len(row_of), 1], ends @ [1, len(row_of)]]))
    degrees = np.bincount(pairs // len(row_of), minlength=len(row_of)).tolist()
    in_graph = set(ids)
    both = [
        replace(each, types=_types(each.types), type=_types(each.types)[0], degree=degrees[row_of[each.id]])
        if each.id in in_graph
        else each
        for each in seen
    ]
    seen_ids = {each.id for each in seen}
    alone = [
        Entity(id_, name, NAME, (NAME,), "", 0, degrees[row_of[id_]])
        for id_, name in zip(ids, graph.names, strict=True)
        if id_ not in seen_ids
    ]
    return sorted_by_id([*both, *alone])


def _types(types: tuple[str, ...]) -> tuple[str, ...]:
    """Return the types of an entity that a graph has too: it is a thing with a name, whatever phrase the texts use."""
    return types if any(each != CONCEPT for each in types) else (NAME, *types)
