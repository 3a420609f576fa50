"""The subgraph of a question, and the prizes that a conversation carries over from it."""

from collections.abc import Iterable
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


MOST = 50
"""Maximum nodes and maximum edges that are carried over, best first."""
_NEGLIGIBLE, DECAY = 0.01, 0.5
"""The factor of a prize per elapsed turn, and what is no prize any more: after seven turns it is negligible."""


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
    return CarriedPrizes(best_prizes(nodes.items()), best_prizes(relations.items()))


def best_prizes(parts: Iterable[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """Return the best prizes by id, at most `MOST`."""
    return tuple(sorted(parts, key=lambda part: (-part[1], part[0]))[:MOST])
