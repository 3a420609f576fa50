"""Graph encoder: a graph neural network over text encodings, mean-pooled to one vector per graph.

G-Retriever (He et al. 2024, section 5.4 and appendix B.1): graph transformer (Shi et al. 2021), 4 layers of 4 heads;
appendix B.4 has GAT (Veličković et al. 2018) and GCN (Kipf and Welling 2017), too. GCN has no place for what edges
say; the other two attend over it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.methods.gretriever.soft.checkpoint import Encoder
from conspectus.query.types.textual_graph import TextualGraph
from conspectus.storage.arrays import Ints, Vectors
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, TransformerConv, global_mean_pool

Encode = Callable[[Sequence[str]], Vectors]
"""Gives a vector for each text, float32 (n, d)."""


@dataclass(frozen=True, slots=True)
class EncodedGraph:
    """A graph as arrays: encodings of nodes (n, d) and edges (m, d), and the ends of the edges, int64 (2, m)."""

    nodes: Vectors
    ends: Ints
    edges: Vectors


_KIND = "graph encodings"
_AT_ONCE = 4096
_MOST_KNOWN = 500_000
"""Encodings kept in memory, three quarters of a gigabyte of MiniLM's: the memo has the others."""


class RememberedEncodings:
    """Encodings of texts by an embedder, each made once: kept here, and in a memo where one is named.

    A text that is longer than the embedder reads has the normalised sum of its windows' vectors.
    """

    def __init__(self, embedder: Embedder, memo: Path | None = None) -> None:
        self._embedder = embedder
        self._memo = Memo(memo) if memo else None
        self._known: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        """The embedder's name: encodings of one name are the same."""
        return self._embedder.name

    @property
    def width(self) -> int:
        """The length of a vector."""
        return self._embedder.dimension

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return float32 (n, width), a vector for each text."""
        self.prepare(texts)
        return np.stack([self._known[text] for text in texts]) if texts else np.zeros((0, self.width), np.float32)

    def prepare(self, texts: Sequence[str]) -> None:
        """Make the encodings of texts that are not known yet: many at once are faster than few."""
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if self._known and len(self._known) + len(new) > _MOST_KNOWN:
            self._known = {}
            new = list(dict.fromkeys(texts))
        for start in range(0, len(new), _AT_ONCE):
            self._learn(new[start : start + _AT_ONCE])

    def _learn(self, texts: Sequence[str]) -> None:
        kind = f"{_KIND} {self.name}"
        keys = {text: digest(text) for text in texts}
        stored = self._memo.get_many(kind, keys.values()) if self._memo else {}
        self._known |= {text: np.frombuffer(stored[key], np.float32) for text, key in keys.items() if key in stored}
        new = [text for text, key in keys.items() if key not in stored]
        if not new:
            return
        pieces = [self._embedder.windows(text) for text in new]
        vectors = iter(self._embedder.embed([piece for of_text in pieces for piece in of_text]))
        made = {text: _one([next(vectors) for _ in of_text]) for text, of_text in zip(new, pieces, strict=True)}
        self._known |= made
        if self._memo:
            self._memo.put_many(kind, {keys[text]: vector.tobytes() for text, vector in made.items()})


def _one(windows: Sequence[Vectors]) -> Vectors:
    if len(windows) == 1:
        return windows[0]
    total: Vectors = np.stack(windows).sum(axis=0)
    return (total / np.linalg.norm(total)).astype(np.float32)


def encoded(graph: TextualGraph, encode: Encode) -> EncodedGraph:
    """Return a graph with what its nodes and edges say encoded."""
    ends = np.array([graph.sources, graph.targets], np.int64).reshape(2, -1)
    return EncodedGraph(encode(graph.nodes), ends, encode([edge.text for edge in graph.edges]))


def texts_of(graphs: Iterable[TextualGraph]) -> list[str]:
    """Return what the nodes and edges of graphs say, each text once."""
    return list(
        dict.fromkeys(text for graph in graphs for text in (*graph.nodes, *(edge.text for edge in graph.edges)))
    )


@dataclass(frozen=True, slots=True)
class GraphBatch:
    """Several graphs as one that falls apart: `graph` is the number of the graph that each node is of."""

    nodes: Tensor
    ends: Tensor
    edges: Tensor
    graph: Tensor
    count: int


def batched(graphs: Sequence[EncodedGraph], device: torch.device) -> GraphBatch:
    """Return graphs as one, in the order given; a graph may have no edge, and none of its nodes."""
    sizes = [len(graph.nodes) for graph in graphs]
    starts = np.cumsum([0, *sizes[:-1]])
    ends = np.concatenate([graph.ends + start for graph, start in zip(graphs, starts, strict=True)], axis=1)
    return GraphBatch(
        torch.from_numpy(np.concatenate([graph.nodes for graph in graphs])).to(device),
        torch.from_numpy(ends).to(device),
        torch.from_numpy(np.concatenate([graph.edges for graph in graphs])).to(device),
        torch.from_numpy(np.repeat(np.arange(len(graphs)), sizes)).to(device),
        len(graphs),
    )


class GraphEncoder(nn.Module):
    """A graph network and the mean over nodes: (graphs, `width_out`) from encodings of `width_in`.

    Between layers the activations are normalised, rectified and dropped out, as usual in
    such networks; the last layer is left as it is. A graph without nodes is the zero vector.
    """

    def __init__(
        self, kind: Encoder, width_in: int, width: int, width_out: int, layers: int, heads: int, dropout: float
    ) -> None:
        super().__init__()
        widths = [width_in, *[width] * (layers - 1), width_out]
        self.layers = nn.ModuleList(_layer(kind, one, other, heads, width_in) for one, other in pairwise(widths))
        self.norms = nn.ModuleList(nn.LayerNorm(item) for item in widths[1:-1])
        self.dropout = nn.Dropout(dropout)
        self.told_edges = kind != "gcn"

    def forward(self, batch: GraphBatch) -> Tensor:
        """Return a vector for each graph of a batch, (graphs, width_out)."""
        said = {"edge_attr": batch.edges} if self.told_edges else {}
        hidden = batch.nodes
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden, batch.ends, **said)
            if number < len(self.norms):
                hidden = self.dropout(torch.relu(self.norms[number](hidden)))
        pooled: Tensor = global_mean_pool(hidden, batch.graph, batch.count)
        return pooled


def _layer(kind: Encoder, width_in: int, width_out: int, heads: int, edge_width: int) -> nn.Module:
    made: nn.Module
    if kind == "gcn":
        made = GCNConv(width_in, width_out)
    elif kind == "gat":
        made = GATConv(width_in, width_out // heads, heads, edge_dim=edge_width)
    else:
        made = TransformerConv(width_in, width_out // heads, heads, edge_dim=edge_width)
    return made
