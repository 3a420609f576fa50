"""Undirected weighted graphs in compressed sparse rows, memory-mapped from disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from conspectus.storage.appended_array import append_each
from conspectus.storage.arrays import (
    UNREADABLE_ARRAY,
    Floats,
    Ints,
    Rows,
    Vectors,
    gather,
    parts_of,
    read_ahead,
)
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.graph.edges import Edges, canonical_edges
from conspectus.storage.spilled import array_of
from numpy.typing import ArrayLike, NDArray

_EDGES_AT_ONCE = 1 << 20
_NODES_AT_ONCE = 1 << 16
_DTYPES: dict[str, np.dtype[Any]] = {
    "indptr": np.dtype("<i8"),
    "indices": np.dtype("<i4"),
    "weights": np.dtype("<f4"),
    "strength": np.dtype("<f8"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """A symmetric weighted adjacency in compressed sparse rows; each undirected edge is stored twice.

    Attributes:
        indptr: int64 (n + 1,); the neighbours of node i are `indices[indptr[i]:indptr[i + 1]]`.
        indices: int32 (nnz,), ascending within a row, never the row itself.
        weights: float32 (nnz,), above zero, parallel to `indices`.
        strength: float64 (n,), weighted degree: the sum of a row's weights. It is stored, so that
            a walk can be normalised without reading all edges.

    Use `from_edges` or `load`; the constructor does not validate.
    """

    indptr: Ints
    indices: NDArray[np.int32]
    weights: Vectors
    strength: Floats

    @property
    def n_nodes(self) -> int:
        """The number of nodes, with and without edges."""
        return len(self.indptr) - 1

    @classmethod
    def from_edges(cls, n_nodes: int, sources: ArrayLike, targets: ArrayLike, weights: ArrayLike) -> "Adjacency":
        """Return the graph of these edges; their order and direction do not matter.

        Parallel edges are summed, self-loops and zero weights dropped.

        Raises:
            ValueError: see `canonical_edges`.

        >>> path = Adjacency.from_edges(3, [0, 2], [1, 1], [1.0, 0.5])
        >>> path.indptr, path.indices, path.strength
        (array([0, 1, 3, 4]), array([1, 0, 2, 1], dtype=int32), array([1. , 1.5, 0.5]))
        """
        return cls.of(canonical_edges(n_nodes, sources, targets, weights))

    @classmethod
    def of(cls, edges: Edges) -> "Adjacency":
        """Return the graph of these edges."""
        n_nodes = edges.n_nodes
        starts = np.searchsorted(edges.lower, np.arange(n_nodes + 1, dtype=np.int32))
        degrees = np.diff(starts)
        for start in range(0, len(edges.upper), _EDGES_AT_ONCE):
            degrees += np.bincount(edges.upper[start : start + _EDGES_AT_ONCE], minlength=n_nodes)
        indptr = np.append(0, np.cumsum(degrees))
        columns, doubled = array_of(2 * len(edges.weights), np.int32), array_of(2 * len(edges.weights), np.float32)
        strength = np.zeros(n_nodes)
        for first, last in parts_of(indptr, _EDGES_AT_ONCE):
            # Of a row's neighbours the smaller ones come from `upper` and the larger ones from `lower`; both runs
            # are ascending already, so one stable sort by row leaves every row sorted.
            smaller, larger = (edges.upper >= first) & (edges.upper < last), slice(starts[first], starts[last])
            rows = np.concatenate([edges.upper[smaller], edges.lower[larger]]) - first
            order = np.argsort(rows, kind="stable")
            columns.append(np.concatenate([edges.lower[smaller], edges.upper[larger]])[order])
            weights_of_rows = np.concatenate([edges.weights[smaller], edges.weights[larger]])[order]
            doubled.append(weights_of_rows)
            strength[first:last] = np.bincount(rows[order], weights_of_rows, last - first)
        return cls(indptr, columns.array(), doubled.array(), strength)

    def save(self, folder: Path) -> None:
        """Write `indptr.npy`, `indices.npy`, `weights.npy`, `strength.npy`; equal graphs give equal bytes."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, dtype in _DTYPES.items():
            np.save(folder / f"{name}.npy", getattr(self, name).astype(dtype, copy=False), allow_pickle=False)

    @classmethod
    def load(cls, folder: Path) -> "Adjacency":
        """Return the graph in `folder`, memory-mapped and read-only.

        Only the row starts and the first and last edge are read; other edges are validated when they are used
        (`edges_of`, `check_edges`).

        Raises:
            IndexCorrupt: A file is missing or truncated, has the wrong type or shape, its row starts are not
                ascending, or an entry of `indices` is not a node. The message names the file.
        """
        arrays = {name: _open(folder / f"{name}.npy", dtype) for name, dtype in _DTYPES.items()}
        graph = cls(**arrays)
        starts, n_entries = graph.indptr, len(graph.indices)
        if len(starts) == 0 or starts[0] != 0 or starts[-1] != n_entries or (starts[1:] < starts[:-1]).any():
            raise IndexCorrupt(
                f"{folder / 'indptr.npy'}: row starts must ascend from 0 to the {n_entries} entries of "
                "indices.npy; build the index again"
            )
        for name, expected in (("weights", n_entries), ("strength", graph.n_nodes)):
            if len(arrays[name]) != expected:
                raise IndexCorrupt(
                    f"{folder / name}.npy: {len(arrays[name])} entries, expected {expected}; build the index again"
                )
        _check_range(graph.indices[:1], graph.n_nodes, folder)
        _check_range(graph.indices[-1:], graph.n_nodes, folder)
        return graph

    def edges_of(self, nodes: Ints) -> tuple[Ints, Ints, Vectors]:
        """Return the edges of some nodes, row after row: (degrees (k,), neighbours (e,), weights (e,)).

        `degrees` is the number of edges of each node in the other two arrays, which follow the order of `nodes`.

        Raises:
            IndexCorrupt: a neighbour is not a node.

        >>> path = Adjacency.from_edges(3, [0, 2], [1, 1], [1.0, 0.5])
        >>> path.edges_of(np.array([1, 0]))
        (array([2, 1]), array([0, 2, 1]), array([1. , 0.5, 1. ], dtype=float32))
        """
        for array in (self.indices, self.weights):
            read_ahead(array, self.indptr[nodes], self.indptr[nodes + 1])
        degrees, entries = gather(self.indptr, nodes)
        neighbours = self.indices[entries].astype(np.int64)
        _check_range(neighbours, self.n_nodes)
        return degrees, neighbours, self.weights[entries]

    def part(self, nodes: Rows) -> "Adjacency":
        """Return the graph of some nodes, ascending, and the edges between them with their weights."""
        place_of = np.full(self.n_nodes, -1, np.int32)
        place_of[nodes] = np.arange(len(nodes))
        columns = array_of(len(self.indices), np.int32), array_of(len(self.indices), np.float32)
        degrees, strength = np.zeros(len(nodes), np.int64), np.zeros(len(nodes))
        for some in np.array_split(np.arange(len(nodes)), len(nodes) // _NODES_AT_ONCE + 1):
            counts, neighbours, weights = self.edges_of(nodes[some])
            places = place_of[neighbours]
            kept = places >= 0
            rows = np.repeat(np.arange(len(counts)), counts)[kept]
            degrees[some] = np.bincount(rows, minlength=len(counts))
            strength[some] = np.bincount(rows, weights[kept], len(counts))
            append_each(columns, (places[kept], weights[kept]))
        return Adjacency(np.append(0, np.cumsum(degrees)), columns[0].array(), columns[1].array(), strength)

    def check_edges(self) -> None:
        """Validate all neighbours, before the arrays are passed to compiled code that does not.

        Raises:
            IndexCorrupt: a neighbour is not a node.
        """
        _check_range(self.indices, self.n_nodes)


def _open(path: Path, dtype: np.dtype[Any]) -> NDArray[Any]:
    try:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
    except UNREADABLE_ARRAY as error:
        raise IndexCorrupt(f"{path}: cannot be read ({error}); build the index again") from error
    if not isinstance(mapped, np.ndarray) or mapped.dtype != dtype or mapped.ndim != 1:
        raise IndexCorrupt(f"{path}: not a one-dimensional array of {dtype}; build the index again")
    return mapped.view(np.ndarray)  # a plain view: numpy's memmap class makes every small slice slow


def _check_range(neighbours: NDArray[Any], n_nodes: int, folder: Path = Path()) -> None:
    if len(neighbours) and (neighbours.min() < 0 or neighbours.max() >= n_nodes):
        raise IndexCorrupt(f"{folder / 'indices.npy'}: has a node outside 0 .. {n_nodes - 1}; build the index again")
