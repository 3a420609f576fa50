"""G-Retriever's subgraph retrieval on a textual graph that comes with its question (GraphQA).

He et al. 2024, sections 5.2 and 5.3: the k nodes and edges nearest to the question have prizes k, k - 1, ..., 1, and
the connected subgraph with the highest prizes minus costs is selected.
"""

from dataclasses import dataclass

import numpy as np
from conspectus.query.methods.gretriever.retrieval import best_part, edge_prizes, lowered, rank_prizes
from conspectus.query.methods.gretriever.soft.graph_encodings import Encode
from conspectus.query.types.textual_graph import TextualGraph
from conspectus.query.walk.graph import graph_of


@dataclass(frozen=True, slots=True)
class Cutting:
    """Retrieval parameters: number of nodes and edge texts with a prize, and edge cost."""

    nodes: int = 3
    edges: int = 3
    edge_cost: float = 1.0


def cut(graph: TextualGraph, question: str, encode: Encode, how: Cutting) -> TextualGraph:
    """Return the connected subgraph with the highest profit for a question, in the original order.

    Edges with the same text share its prize. A graph without edges or without prizes is returned unchanged.
    """
    if not graph.edges or not (how.nodes or how.edges):
        return graph
    asked = encode([question])[0]
    near = np.argsort(-(encode(graph.nodes) @ asked), kind="stable")
    texts = sorted({edge.text for edge in graph.edges})
    number = {text: place for place, text in enumerate(texts)}
    said = np.array([number[edge.text] for edge in graph.edges], np.int64)
    closeness = (encode(texts) @ asked).astype(np.float64)
    prizes = edge_prizes(said, closeness[said], how.edges)
    whole = graph_of(
        graph.nodes,
        texts,
        np.array(graph.sources, np.int64),
        np.array(graph.targets, np.int64),
        said.astype(np.int32),
        (),
        (),
        (),
    )
    every = np.arange(len(graph.edges), dtype=np.int64)
    worth = rank_prizes(near.tolist(), how.nodes)
    part = best_part(whole, every, worth, prizes, lowered(how.edge_cost, prizes))
    return graph.part(part.nodes.tolist(), part.relations.tolist())
