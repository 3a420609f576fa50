"""What a question called for: a connected part of the graph, with what each of its nodes and edges was worth."""

from dataclasses import dataclass

from conspectus.query.methods.gretriever.carry_over import NOTHING_KEPT, Kept
from conspectus.query.methods.gretriever.textual_graph import TextualGraph


@dataclass(frozen=True, slots=True)
class FoundSubgraph:
    """A subgraph, the best first.

    `nodes` are rows of entities and `relations` rows of relations, in step with the nodes and edges of `text` and with
    their prizes. `beside` counts the nodes and the relations of the neighbourhood that it was found in.
    """

    text: TextualGraph
    nodes: tuple[int, ...]
    relations: tuple[int, ...]
    node_prizes: tuple[float, ...]
    edge_prizes: tuple[float, ...]
    beside: tuple[int, int]
    kept: Kept = NOTHING_KEPT
    """What a conversation keeps of it for the next question."""
