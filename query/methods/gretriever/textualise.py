"""Textualization of a subgraph: node and edge tables in order of value, within a token budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from conspectus.query.types.subgraph import RetrievedSubgraph
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.query.walk.graph import KnowledgeGraph, is_id, predicate_words, spoken
from conspectus.storage.text.tokens import count_tokens

_PAGE = 3
"""Edges of one predicate at one node that come before those of a lower prize: a long list does not push others out."""
_ROOM = 1e-6
"""What an edge is worth, times its closeness, that no prize speaks for: less than any prize."""
_ROW = 3
"""Tokens of a row beside its texts, a rough count: the whole is counted in the end."""

Place = tuple[int, float, int]
"""Where an edge stands in the order: its page, its worth (less is better), and how far from the best node it is."""


@dataclass(frozen=True, slots=True)
class _Placed:
    relation: int
    place: Place


def textualised(
    graph: KnowledgeGraph,
    nodes: Sequence[int],
    relations: Sequence[int],
    prizes: Mapping[int, float],
    edge_prizes: Mapping[int, float],
    budget: int,
    beside: tuple[int, int],
    room: Mapping[int, float] = MappingProxyType({}),
) -> RetrievedSubgraph:
    """Return a connected subgraph as text of at most `budget` tokens, best parts first.

    The best node is always included. The value of an edge is the best prize behind it, seen from the best node, so the
    least valuable parts are dropped and the rest stays connected.

    Args:
        graph: the whole graph.
        nodes: entity rows.
        relations: relation rows between them.
        prizes: of entities, 0 where there is none.
        edge_prizes: of relations, the same.
        budget: most tokens of the text.
        beside: see `RetrievedSubgraph`.
        room: further relations, which fill the room that is left, with how close they are, -1 to 1.
    """
    if not nodes:
        return RetrievedSubgraph(TextualGraph((), ()), (), (), (), (), beside)
    best = min(nodes, key=lambda row: (-prizes.get(row, 0.0), row))
    worth = {row: _ROOM * (1 + closeness) for row, closeness in room.items()} | dict(edge_prizes)
    relations = list(dict.fromkeys([*relations, *room]))
    order = _in_order(graph, best, relations, prizes, worth)
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
    alone = [row for row in nodes if not relations and row not in place]
    for row in alone:  # without any relation the nodes stand side by side
        place[row] = len(place)
    found = _told(graph, list(place), kept, prizes, edge_prizes, beside)
    while len(found.relations) > 0 and count_tokens(found.text.to_text()) > budget:
        kept = kept[: max(0, len(kept) - max(1, len(kept) // 20))]
        rows = {best: None} | {int(end): None for item in kept for end in (graph.sources[item], graph.targets[item])}
        found = _told(graph, list(rows), kept, prizes, edge_prizes, beside)
    return found


def node_text(graph: KnowledgeGraph, entity: int) -> str:
    """Return the text of a node: its readable name, or its bare id."""
    name = graph.names[entity]
    return name if is_id(name) else spoken(name)


def edge_text(graph: KnowledgeGraph, relation: int) -> str:
    """Return the text of an edge: its predicate in words, or else its description."""
    said = predicate_words(graph.predicates[graph.stated[relation]])
    return said or graph.descriptions[relation]


def _told(
    graph: KnowledgeGraph,
    nodes: Sequence[int],
    relations: Sequence[int],
    prizes: Mapping[int, float],
    edge_prizes: Mapping[int, float],
    beside: tuple[int, int],
) -> RetrievedSubgraph:
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
        beside,
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
    led: dict[int, int] = {}
    above: dict[int, int] = {best: -1}
    reached = [best]
    for node in reached:
        for entry in sorted(at.get(node, ()), key=lambda row: (-edge_prizes.get(row, 0.0), row)):
            other = int(graph.targets[entry]) if int(graph.sources[entry]) == node else int(graph.sources[entry])
            if other not in above:
                above[other] = node
                led[other] = entry
                reached.append(other)
    worth = {node: max(prizes.get(node, 0.0), edge_prizes.get(led.get(node, -1), 0.0)) for node in reached}
    for node in reversed(reached[1:]):
        worth[above[node]] = max(worth[above[node]], worth[node])
    entered: dict[int, Place] = {best: (0, -np.inf, 0)}
    placed: list[_Placed] = []
    count: dict[tuple[int, int], int] = {}
    for node in sorted(reached[1:], key=lambda row: (_depth(row, above), -worth[row], led[row])):
        group = (above[node], int(graph.stated[led[node]]))
        count[group] = count.get(group, 0) + 1
        own = ((count[group] - 1) // _PAGE, -worth[node], _depth(node, above))
        above_it = entered[above[node]]
        entered[node] = (max(own[0], above_it[0]), max(own[1], above_it[1]), own[2])
        placed.append(_Placed(led[node], entered[node]))
    leading = set(led.values())
    for element in relations:
        source, target = int(graph.sources[element]), int(graph.targets[element])
        if element not in leading and source in entered and target in entered:
            first, second = entered[source], entered[target]
            worth_it = max(first[1], second[1], -edge_prizes.get(element, 0.0))
            placed.append(_Placed(element, (max(first[0], second[0]), worth_it, max(first[2], second[2]) + 1)))
    return [entry.relation for entry in sorted(placed, key=lambda item: (item.place, item.relation))]


def _depth(node: int, above: Mapping[int, int]) -> int:
    depth = 0
    while above[node] >= 0:
        node = above[node]
        depth += 1
    return depth
