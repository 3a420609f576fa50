"""Graph encoder: a graph neural network over text encodings, mean-pooled to one vector per graph.

G-Retriever (He et al. 2024, section 5.4 and appendix B.1): graph transformer (Shi et al. 2021), 4 layers of 4 heads;
appendix B.4 also has GAT (Veličković et al. 2018) and GCN (Kipf and Welling 2017). GCN ignores the text of
edges; the other two attend to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from conspectus.query.methods.gretriever.soft.checkpoint import Encoder
from conspectus.query.methods.gretriever.soft.graph_encodings import EncodedGraph
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, TransformerConv, global_mean_pool


@dataclass(frozen=True, slots=True)
class GraphBatch:
    """A batch of graphs as one disconnected graph; `graph` is the graph number of each node."""

    nodes: Tensor
    ends: Tensor
    edges: Tensor
    graph: Tensor
    count: int


def batched(graphs: Sequence[EncodedGraph], device: torch.device) -> GraphBatch:
    """Return graphs as a batch, in the order given; graphs may be without edges or nodes."""
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

    Between layers the activations are normalised, rectified and dropped out, as usual;
    the last layer is not. A graph without nodes is the zero vector.
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
