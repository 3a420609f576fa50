"""What an answer cites of the subgraph it was made from, checked: what G-Retriever measures hallucination by."""

from collections.abc import Sequence
from dataclasses import dataclass

from conspectus.query.types.textual_graph import TextualGraph


@dataclass(frozen=True, slots=True)
class CitedParts:
    """The numbers of nodes and edges that are there, each once, and how many of each were cited.

    `nodes_cited` and `edges_cited` count every number that was given, once.
    """

    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    nodes_cited: int
    edges_cited: int

    @property
    def dropped(self) -> int:
        """How many numbers are of no node or edge."""
        return self.nodes_cited + self.edges_cited - len(self.nodes) - len(self.edges)

    @property
    def fully_valid(self) -> bool:
        """Whether all that was cited is there, and something was."""
        return bool(self.nodes or self.edges) and not self.dropped

    def __str__(self) -> str:
        return (
            f"{len(self.nodes)} of {self.nodes_cited} cited nodes and {len(self.edges)} of {self.edges_cited} cited "
            f"edges are valid; fully valid: {'yes' if self.fully_valid else 'no'}"
        )


def cited_parts(graph: TextualGraph, nodes: Sequence[int], edges: Sequence[int]) -> CitedParts:
    """Return what of the cited numbers is there: nodes and edges are numbered from 0, as the tables have them.

    >>> str(cited_parts(TextualGraph(("a",), ()), [0, 7], []))
    '1 of 2 cited nodes and 0 of 0 cited edges are valid; fully valid: no'
    """
    some_nodes, some_edges = tuple(dict.fromkeys(nodes)), tuple(dict.fromkeys(edges))
    return CitedParts(
        tuple(each for each in some_nodes if 0 <= each < len(graph.nodes)),
        tuple(each for each in some_edges if 0 <= each < len(graph.edges)),
        len(some_nodes),
        len(some_edges),
    )
