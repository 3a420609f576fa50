"""Communities by chance: what the detections are compared with."""

import numpy as np
from conspectus.query.methods.fasttog.detection.graph import Partition, SmallGraph, numbered


def by_chance(graph: SmallGraph, max_size: int | None = None, seed: int = 7) -> Partition:
    """Return groups of `max_size` nodes (all together without a bound) drawn without regard to the edges."""
    of = np.empty(graph.n_nodes, np.int64)
    of[np.random.default_rng(seed).permutation(graph.n_nodes)] = np.arange(graph.n_nodes) // (
        max(max_size, 1) if max_size is not None else max(graph.n_nodes, 1)
    )
    return numbered(of)
