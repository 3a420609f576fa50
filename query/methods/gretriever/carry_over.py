"""Subgraph carry-over in a conversation: prizes of earlier turns, decayed from turn to turn."""

from collections.abc import Iterable
from dataclasses import replace

from conspectus.query.context import Context
from conspectus.query.types.subgraph import CarriedPrizes, RetrievedSubgraph
from conspectus.query.walk.graph import open_graph

MOST = 50
"""Maximum nodes and maximum edges that are carried over, best first."""
_ANSWERED = 1.0
"""Minimum prize of an answer node: a follow-up is likely to be about it."""
_NEGLIGIBLE = 0.01
DECAY = 0.5
"""Factor of a prize per elapsed turn: after seven turns it is negligible."""


def kept_of(
    found: RetrievedSubgraph, entity_ids: Iterable[str], relation_ids: Iterable[str], answers: Iterable[str]
) -> CarriedPrizes:
    """Return the carry-over of a subgraph from the ids of its nodes and edges; `answers` are the answer entities."""
    answered = {answer.replace("_", " ").casefold() for answer in answers}
    nodes = []
    for id_, prize, name in zip(entity_ids, found.node_prizes, found.text.nodes, strict=True):
        value = max(prize, _ANSWERED) if name.casefold() in answered else prize
        if value > 0:
            nodes.append((id_, value))
    relations = [(id_, prize) for id_, prize in zip(relation_ids, found.edge_prizes, strict=True) if prize > 0]
    return CarriedPrizes(_best(nodes), _best(relations))


def decayed(turns: Iterable[CarriedPrizes], decay: float = DECAY) -> CarriedPrizes:
    """Return the carry-over of several turns (oldest first): the best prize of each part, times `decay` per turn."""
    nodes: dict[str, float] = {}
    relations: dict[str, float] = {}
    for age, kept in enumerate(reversed(list(turns)), start=1):
        for into, parts in ((nodes, kept.nodes), (relations, kept.relations)):
            for id_, prize in parts:
                left = prize * decay**age
                if left >= _NEGLIGIBLE:
                    into[id_] = max(left, into.get(id_, 0.0))
    return CarriedPrizes(_best(nodes.items()), _best(relations.items()))


def _best(parts: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(parts, key=lambda part: (-part[1], part[0]))[:MOST])


def with_kept(context: Context, subgraph: RetrievedSubgraph, answers: Iterable[str]) -> RetrievedSubgraph:
    """Return a subgraph with its carry-over for later questions; `answers` are the answer entities."""
    graph = open_graph(context)
    entities = [graph.entity_ids[row] for row in subgraph.nodes]
    relations = [graph.relation_ids[row] for row in subgraph.relations]
    return replace(subgraph, kept=kept_of(subgraph, entities, relations, answers))
