"""The subgraph of a question, and what a conversation carries over from it to the next question."""

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
        beside: The number of nodes and the number of relations of the neighbourhood that it was chosen from.
        kept: The prizes that a conversation carries over to the next question.
    """

    text: TextualGraph
    nodes: tuple[int, ...]
    relations: tuple[int, ...]
    node_prizes: tuple[float, ...]
    edge_prizes: tuple[float, ...]
    beside: tuple[int, int]
    kept: CarriedPrizes = NO_PRIZES
