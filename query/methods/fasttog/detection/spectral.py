"""Spectral clustering: k-means on the first eigenvectors of the normalised Laplacian.

Ng, Jordan and Weiss 2001, "On Spectral Clustering: Analysis and an algorithm".
"""

import numpy as np
from conspectus.query.methods.fasttog.detection.graph import Partition, SmallGraph, best_of, largest, numbered
from conspectus.storage.arrays import Floats

_ROUNDS = 20
_DIGITS = 9


def spectral(graph: SmallGraph, max_size: int | None = None, seed: int = 7) -> Partition:
    """Return the clusters for the smallest k none of whose clusters has more than `max_size` nodes.

    Without a bound it is the k of highest modularity.
    """
    size = graph.n_nodes
    if not size:
        return np.zeros(0, np.int64)
    vectors = _eigenvectors(graph)
    if max_size is None:
        return best_of(graph, [_clusters(vectors, count, seed) for count in range(1, size + 1)])
    for count in range(-(-size // max(max_size, 1)), size):
        if largest(found := _clusters(vectors, count, seed)) <= max_size:
            return found
    return np.arange(size, dtype=np.int64)


def _eigenvectors(graph: SmallGraph) -> Floats:
    """Return the eigenvectors (n, n) of D^-½ A D^-½, those of the largest eigenvalues first."""
    adjacency = graph.adjacency()
    degree = adjacency.sum(axis=1)
    scale = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    _, vectors = np.linalg.eigh(scale[:, None] * adjacency * scale[None, :] - np.diag((degree == 0) * 1.0))
    return np.asarray(vectors[:, ::-1], np.float64)


def _clusters(vectors: Floats, count: int, seed: int) -> Partition:
    """Return the clusters of k-means with k = `count`, started by k-means++ (Arthur and Vassilvitskii 2007)."""
    rows = vectors[:, :count]
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, length, out=np.zeros_like(rows), where=length > 10**-_DIGITS)
    draw = np.random.default_rng(seed)
    centres = rows[[int(draw.integers(len(rows)))]]
    while len(centres) < count:
        apart = np.round(_distances(rows, centres).min(axis=1), _DIGITS)
        if not apart.sum():
            break  # fewer different rows than clusters
        centres = np.vstack([centres, rows[int(draw.choice(len(rows), p=apart / apart.sum()))]])
    found = np.zeros(len(rows), np.int64)
    for _ in range(_ROUNDS):
        nearest = np.argmin(np.round(_distances(rows, centres), _DIGITS), axis=1)
        if np.array_equal(nearest, found):
            break
        found = nearest
        sums = np.zeros_like(centres)
        np.add.at(sums, found, rows)
        held = np.bincount(found, minlength=len(centres))[:, None]
        centres = np.where(held > 0, sums / np.maximum(held, 1), centres)
    return numbered(found)


def _distances(rows: Floats, centres: Floats) -> Floats:
    """Return the squared distances (n, k)."""
    squares = (rows**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None, :]
    return np.asarray(np.maximum(squares - 2 * rows @ centres.T, 0.0), np.float64)
