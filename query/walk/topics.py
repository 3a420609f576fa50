"""Where a walk over the graph begins: entities that a question names, or whose names were given."""

from collections.abc import Sequence

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.tog.span_vectors import span_vectors
from conspectus.query.question.aliases import alias_rows
from conspectus.query.walk.graph import Edges, KnowledgeGraph, open_graph, predicate_vectors, spoken
from conspectus.query.walk.names import Candidate, Told, candidates, told_by
from conspectus.storage.index import per_index
from conspectus.storage.text.normalise import entity_key

_KNOWN = 0.2
"""What it counts that an entity is much spoken of, for each natural logarithm of its triples."""
_ANSWERS = 0.5
"""What it counts that the relations at an entity say what else the question says."""
_LOOKED_AT = 8
"""Of so many candidates the relations are looked at."""
_BESIDE = 0.7
"""Least share of the best topic's worth that another one must have."""


def rows_of(context: Context, names: Sequence[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the rows of the entities of these names, each once, and the names that no entity bears.

    Case and underscores make no difference (see `entity_key`); of entities that then bear one name the one that is
    written like it is meant.
    """
    known = _by_key(context)
    graph = open_graph(context)
    found: dict[int, None] = {}
    missing: list[str] = []
    for name in names:
        rows = known.get(entity_key(spoken(name)), ())
        written = [row for row in rows if graph.names[row] == name]
        if rows:
            found[(written or rows)[0]] = None
        else:
            missing.append(name)
    return tuple(found), tuple(missing)


def link_topics(context: Context, question: str, most: int = 3) -> tuple[int, ...]:
    """Return the rows of up to `most` entities that a question is about, the likeliest first.

    An entity is worth what the words say that may name it (see `names`), times how like its name they are; more
    where it has many triples, and where the predicates of these are near to the question's other words. The best is
    a topic, and others whose names stand in the question beside it and that are worth nearly as much.
    """
    graph = open_graph(context)
    degrees = graph.degrees()
    told = told_by(context, question)
    worth = {
        each: told.of(each.places) * each.likeness * (1 + _KNOWN * float(np.log1p(degrees[each.row])))
        for each in candidates(context, told)
        if degrees[each.row]
    }
    first = sorted(worth, key=lambda each: (-worth[each], each.row))[:_LOOKED_AT]
    answers = _answering(context, graph, told, first)
    ranked = sorted(
        ((worth[each] * (1 + _ANSWERS * share), each) for each, share in zip(first, answers, strict=True)),
        key=lambda pair: (-round(pair[0], 9), pair[1].row),
    )
    kept: list[Candidate] = []
    for value, each in ranked:
        apart = not any(each.places & other.places for other in kept)
        if not kept or (each.whole and apart and value >= _BESIDE * ranked[0][0]):
            kept.append(each)
    return tuple(each.row for each in kept[:most])


def _answering(context: Context, graph: KnowledgeGraph, told: Told, found: Sequence[Candidate]) -> list[float]:
    """Return for each candidate how near the predicates at it are to the other words, beside all predicates: 0 to 1."""
    if not found or not told.content:
        return [0.0] * len(found)
    keys = [told.words[place].key for place in told.content]
    near = np.clip(span_vectors(context)(keys) @ predicate_vectors(context).T - 0.25, 0, None)
    most = near.max(axis=1)
    shares = []
    for each in found:
        edges: Edges = graph.edges_of([each.row])
        others = [at for at, place in enumerate(told.content) if place not in each.places]
        reached = near[others][:, np.unique(edges.predicate)].max(axis=1) if others else np.zeros(0)
        shares.append(float(reached.sum() / (most[others].sum() or 1.0)))
    return shares


@per_index
def _by_key(context: Context) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for row, name in enumerate(open_graph(context).names):
        found.setdefault(entity_key(spoken(name)), []).append(row)
    for alias, row in alias_rows(context).items():
        found.setdefault(entity_key(spoken(alias)), [row])
    return {key: tuple(rows) for key, rows in found.items()}
