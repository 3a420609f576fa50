"""Graphs, encodings and questions that are drawn, and a tiny frozen model: no encoder is needed."""

from pathlib import Path

import numpy as np
from conspectus.query.methods.gretriever.soft.frozen_model import FrozenModel, open_frozen
from conspectus.query.methods.gretriever.soft.graph_encodings import EncodedGraph
from conspectus.query.methods.gretriever.soft.prompt import SoftInput

from tests.tiny_llama import save_llama

WIDTH = 12
TEXTS = ["node_id,node_attr\n0,whales\n1,the sea\n\nsrc,edge_attr,dst\n0,live in,1\n", "Question: Where? Answer: no"]


def drawn_graph(seed: int, nodes: int, edges: int) -> EncodedGraph:
    draw = np.random.default_rng(seed)
    ends = draw.integers(0, nodes, (2, edges)) if nodes else np.zeros((2, 0), np.int64)
    return EncodedGraph(
        draw.normal(size=(nodes, WIDTH)).astype(np.float32),
        ends.astype(np.int64),
        draw.normal(size=(edges, WIDTH)).astype(np.float32),
    )


def asked(seed: int, words: int = 5) -> SoftInput:
    graph = drawn_graph(seed, 3 + seed % 3, 2 + seed % 4)
    return SoftInput(graph, TEXTS[0] * (1 + seed % 2), " ".join(["Where do whales live?"] * words))


def tiny(folder: Path) -> FrozenModel:
    return open_frozen(str(save_llama(folder, TEXTS, words=40, width=32)))
