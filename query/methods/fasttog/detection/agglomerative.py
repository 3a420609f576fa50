"""Hierarchical clustering: the two most similar groups are merged, again and again.

Nodes are as similar as the cosine of their closed neighbourhoods (a node and its neighbours, by weight), groups as the
mean over their pairs (average linkage).
"""

import numpy as np
from conspectus.query.methods.fasttog.detection.graph import Partition, SmallGraph, best_of, numbered


def agglomerative(graph: SmallGraph, max_size: int | None = None, seed: int = 7) -> Partition:
    """Return the state after the last merge before one that makes more than `max_size` nodes.

    Without a bound it is the state of highest modularity. Nothing is drawn, so that every `seed` gives the same.
    """
    states = _states(graph, max_size)
    return states[-1] if max_size is not None else best_of(graph, states)


def _states(graph: SmallGraph, max_size: int | None) -> list[Partition]:
    """Return the partitions from single nodes up, as far as the bound allows."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    of = np.arange(graph.n_nodes, dtype=np.int64)
    states = [of.copy()]
    if graph.n_nodes < 2:
        return states
    near = graph.adjacency()
    np.fill_diagonal(near, np.maximum(near.max(axis=1), 1.0))
    rows = near / np.linalg.norm(near, axis=1, keepdims=True)
    # Rounded, so that distances that are equal are ties on every machine; ties go by the order of nodes.
    apart = np.round(1.0 - rows @ rows.T, 9)
    np.fill_diagonal(apart, 0.0)
    merges = linkage(squareform(apart, checks=False), "average")
    for number, (left, right, _, size) in enumerate(merges):
        if max_size is not None and size > max_size:
            break
        of[(of == int(left)) | (of == int(right))] = graph.n_nodes + number
        states.append(numbered(of))
    return states
