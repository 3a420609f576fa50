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
        searched: Number of nodes and of relations in the region that it was selected from.
        kept: Prizes carried over to the next question of a conversation.
    """

    text: TextualGraph
    nodes: tuple[int, ...]
    relations: tuple[int, ...]
    node_prizes: tuple[float, ...]
    edge_prizes: tuple[float, ...]
    searched: tuple[int, int]
    kept: CarriedPrizes = NO_PRIZES


@dataclass(frozen=True, slots=True)
class CitedParts:
    """The citations of a subgraph: the valid node and edge numbers, without duplicates, and how many of each were
    cited.

    `nodes_cited` and `edges_cited` count distinct numbers, valid or not.
    """

    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    nodes_cited: int
    edges_cited: int

    @property
    def dropped(self) -> int:
        """How many cited numbers belong to no node or edge."""
        return self.nodes_cited + self.edges_cited - len(self.nodes) - len(self.edges)

    @property
    def fully_valid(self) -> bool:
        """Whether there are citations and all of them are valid."""
        return bool(self.nodes or self.edges) and not self.dropped

    def __str__(self) -> str:
        return (
            f"{len(self.nodes)} of {self.nodes_cited} cited nodes and {len(self.edges)} of {self.edges_cited} cited "
            f"edges are valid; fully valid: {'yes' if self.fully_valid else 'no'}"
        )
