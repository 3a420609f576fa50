"""Textualization of a subgraph: node and edge tables within a token budget, best parts first (section 5.4)."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from conspectus.query.types.subgraph import RetrievedSubgraph
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.query.walk.graph import KnowledgeGraph, is_id, predicate_words, spoken
from conspectus.storage.text.tokens import count_tokens

_PAGE = 3
"""Edges of one predicate and node per page. Pages are ordered first, so that a long list displaces no others."""
_FILLING = 1e-6
"""Value of a filling edge, times its similarity: lower than any prize."""
_ROW = 3
"""Approximate tokens of a row besides its texts; the final text is counted exactly."""

Order = tuple[int, float, int]
"""Sort key of an edge: its page, its negative value, and its distance from the best node."""


def textualised(
    graph: KnowledgeGraph,
    nodes: Sequence[int],
    relations: Sequence[int],
    prizes: Mapping[int, float],
    edge_prizes: Mapping[int, float],
    budget: int,
    searched: tuple[int, int],
    filling: Mapping[int, float] = MappingProxyType({}),
) -> RetrievedSubgraph:
    """Return a connected subgraph as text of at most `budget` tokens, best parts first.

    The best node is always included. The value of an edge is the best prize beyond it, seen from the best node, so the
    least valuable parts are dropped and the rest stays connected.

    Args:
        graph: The whole graph.
        nodes: Entity rows of the subgraph.
        relations: Its relation rows.
        prizes: Prizes by entity row; missing ones are 0.
        edge_prizes: Prizes by relation row; missing ones are 0.
        budget: Maximum tokens of the text.
        searched: Number of nodes and edges of the candidate region, for the report.
        filling: Further relations that fill the remaining budget, with their similarity, -1 to 1.
    """
    if not nodes:
        return RetrievedSubgraph(TextualGraph((), ()), (), (), (), (), searched)
    best = min(nodes, key=lambda row: (-prizes.get(row, 0.0), row))
    value = {row: _FILLING * (1 + closeness) for row, closeness in filling.items()} | dict(edge_prizes)
    relations = list(dict.fromkeys([*relations, *filling]))
    order = _in_order(graph, best, relations, prizes, value)
    kept: list[int] = []
    place = {best: 0}
    left = budget - count_tokens(node_text(graph, best)) - 4 * _ROW
    for relation in order:
        ends = (int(graph.sources[relation]), int(graph.targets[relation]))
        new = [end for end in dict.fromkeys(ends) if end not in place]
        left -= count_tokens(edge_text(graph, relation)) + 2 * _ROW
        left -= sum(count_tokens(node_text(graph, end)) + _ROW for end in new)
        if left < 0:
            break
        for end in new:
            place[end] = len(place)
        kept.append(relation)
    found = subgraph_of(graph, list(place), kept, prizes, edge_prizes, searched)
    while len(found.relations) > 0 and count_tokens(found.text.to_text()) > budget:
        kept = kept[: max(0, len(kept) - max(1, len(kept) // 20))]
        rows = {best: None} | {int(end): None for item in kept for end in (graph.sources[item], graph.targets[item])}
        found = subgraph_of(graph, list(rows), kept, prizes, edge_prizes, searched)
    return found


def node_text(graph: KnowledgeGraph, entity: int) -> str:
    """Return the text of a node: its readable name, or its bare id."""
    name = graph.names[entity]
    return name if is_id(name) else spoken(name)


def edge_text(graph: KnowledgeGraph, relation: int) -> str:
    """Return the text of an edge: its predicate in words, or else its description."""
    predicate = predicate_words(graph.predicates[graph.stated[relation]])
    return predicate or graph.descriptions[relation]


def subgraph_of(
    graph: KnowledgeGraph,
    nodes: Sequence[int],
    relations: Sequence[int],
    prizes: Mapping[int, float],
    edge_prizes: Mapping[int, float],
    searched: tuple[int, int],
) -> RetrievedSubgraph:
    """Return nodes and relations as a subgraph with texts; missing prizes are 0."""
    number = {row: place for place, row in enumerate(nodes)}
    edges = tuple(
        TextualEdge(
            number[int(graph.sources[relation])], edge_text(graph, relation), number[int(graph.targets[relation])]
        )
        for relation in relations
    )
    return RetrievedSubgraph(
        TextualGraph(tuple(node_text(graph, row) for row in nodes), edges),
        tuple(nodes),
        tuple(relations),
        tuple(prizes.get(row, 0.0) for row in nodes),
        tuple(edge_prizes.get(relation, 0.0) for relation in relations),
        searched,
    )


def _in_order(
    graph: KnowledgeGraph,
    best: int,
    relations: Sequence[int],
    prizes: Mapping[int, float],
    edge_prizes: Mapping[int, float],
) -> list[int]:
    """Return relations in connected order: each after the first shares an end with earlier ones; others are dropped.

    Every relation extends the tree from the best node or joins two nodes already reached.
    """
    at: dict[int, list[int]] = {}
    for relation in relations:
        for end in {int(graph.sources[relation]), int(graph.targets[relation])}:
            at.setdefault(end, []).append(relation)
    entry_edge: dict[int, int] = {}
    above: dict[int, int] = {best: -1}
    reached = [best]
    for node in reached:
        for entry in sorted(at.get(node, ()), key=lambda row: (-edge_prizes.get(row, 0.0), row)):
            other = int(graph.targets[entry]) if int(graph.sources[entry]) == node else int(graph.sources[entry])
            if other not in above:
                above[other] = node
                entry_edge[other] = entry
                reached.append(other)
    value = {node: max(prizes.get(node, 0.0), edge_prizes.get(entry_edge.get(node, -1), 0.0)) for node in reached}
    for node in reversed(reached[1:]):
        value[above[node]] = max(value[above[node]], value[node])
    entered: dict[int, Order] = {best: (0, -np.inf, 0)}
    placed: list[tuple[Order, int]] = []
    count: dict[tuple[int, int], int] = {}
    for node in sorted(reached[1:], key=lambda row: (_depth(row, above), -value[row], entry_edge[row])):
        group = (above[node], int(graph.stated[entry_edge[node]]))
        count[group] = count.get(group, 0) + 1
        own = ((count[group] - 1) // _PAGE, -value[node], _depth(node, above))
        parent = entered[above[node]]
        entered[node] = (max(own[0], parent[0]), max(own[1], parent[1]), own[2])
        placed.append((entered[node], entry_edge[node]))
    in_tree = set(entry_edge.values())
    for element in relations:
        source, target = int(graph.sources[element]), int(graph.targets[element])
        if element not in in_tree and source in entered and target in entered:
            first, second = entered[source], entered[target]
            better = max(first[1], second[1], -edge_prizes.get(element, 0.0))
            placed.append(((max(first[0], second[0]), better, max(first[2], second[2]) + 1), element))
    return [relation for _, relation in sorted(placed)]


def _depth(node: int, above: Mapping[int, int]) -> int:
    depth = 0
    while above[node] >= 0:
        node = above[node]
        depth += 1
    return depth
