"""The subgraph of a question, and the prizes that a conversation carries over from it."""

from dataclasses import dataclass

from conspectus.query.types.textual_graph import TextualGraph


@dataclass(frozen=True, slots=True)
class CarriedPrizes:
    """Prizes of entities and of relations, as pairs of id and prize; every prize is positive."""

    nodes: tuple[tuple[str, float], ...] = ()
    relations: tuple[tuple[str, float], ...] = ()


NO_PRIZES = CarriedPrizes()


@dataclass(frozen=True, slots=True)
class RetrievedSubgraph:
    """A connected subgraph of the knowledge graph, its nodes and edges best first.

    Attributes:
        text: The subgraph as texts.
        nodes: The entity row of each node of `text`.
        relations: The relation row of each edge of `text`.
        node_prizes: The prize of each node.
        edge_prizes: The prize of each edge.
        searched: Numbers of nodes and relations of the region that it was selected from.
        kept: Prizes carried over to the next question of a conversation.
    """

    text: TextualGraph
    nodes: tuple[int, ...]
    relations: tuple[int, ...]
    node_prizes: tuple[float, ...]
    edge_prizes: tuple[float, ...]
    searched: tuple[int, int]
    kept: CarriedPrizes = NO_PRIZES
