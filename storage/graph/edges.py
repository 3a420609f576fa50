"""Undirected edge lists in canonical form, so that results computed from them are reproducible."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from conspectus.storage.arrays import Floats, Ints, SmallInts, Vectors, distinct, runs
from conspectus.storage.records import Relation
from conspectus.storage.spilled import array_of
from conspectus.storage.tables import arrow_of, codes_of
from numpy.typing import ArrayLike, NDArray

MAX_NODES = 2**31 - 1
_EDGES_AT_ONCE = 1 << 20
_SAMPLE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Each undirected edge once, `lower[i]` < `upper[i]`, ascending by (lower, upper).

    Attributes:
        n_nodes: Number of nodes, 0 .. n_nodes - 1, including isolated ones.
        lower, upper: int32 (m,), the two ends.
        weights: float32 (m,), finite and above zero.
    """

    n_nodes: int
    lower: SmallInts
    upper: SmallInts
    weights: Vectors


def canonical_edges(n_nodes: int, sources: ArrayLike, targets: ArrayLike, weights: ArrayLike) -> Edges:
    """Return the edges with parallel ones (in either direction) summed, self-loops and zeros dropped.

    The result does not depend on the order or the direction of the input, to the last bit: parallel
    weights are added in ascending order, in float64, and rounded to float32 once. Many edges are sorted in parts, and
    spill (see `array_of`).

    Raises:
        ValueError: arrays of unequal length, ids that are not integers in 0 .. n_nodes - 1, weights that are
            negative, not finite, or whose sum exceeds float32.

    >>> edges = canonical_edges(3, [1, 0, 2, 2], [0, 1, 1, 2], [1.0, 2.0, 1.0, 9.0])
    >>> edges.lower, edges.upper, edges.weights
    (array([0, 1], dtype=int32), array([1, 2], dtype=int32), array([3., 1.], dtype=float32))
    """
    if not 0 <= n_nodes <= MAX_NODES:
        raise ValueError(f"n_nodes must be in 0 .. {MAX_NODES}, not {n_nodes}")
    source, target = _checked("sources", sources, n_nodes), _checked("targets", targets, n_nodes)
    weight = np.asarray(weights, dtype=np.float64)
    if not source.shape == target.shape == weight.shape:
        raise ValueError(
            f"sources, targets and weights must have one length, not {source.shape}, {target.shape} and {weight.shape}"
        )
    check_weights("weights", weight)

    lower, upper = array_of(len(weight), np.int32), array_of(len(weight), np.int32)
    rounded = array_of(len(weight), np.float32)
    # Parts of nodes, at the quantiles of a sample of the lower ends, so that each has about as many edges.
    step = max(1, len(weight) // _SAMPLE)
    sample = np.sort(np.minimum(source[::step], target[::step]))
    bounds = sample[:: max(1, len(sample) * _EDGES_AT_ONCE // max(1, len(weight)))][1:]
    for first, last in pairwise(np.unique([0, *bounds.tolist(), n_nodes]).tolist()):
        pairs, total = _summed(*_from(source, target, weight, first, last))
        lower.append(pairs >> 32)
        upper.append(pairs & 0xFFFFFFFF)
        rounded.append(total)
    return Edges(n_nodes, lower.array(), upper.array(), rounded.array())


def _from(source: "NDArray[Any]", target: "NDArray[Any]", weight: Floats, first: int, last: int) -> tuple[Ints, Floats]:
    """Return the edges whose lower end is in [first, last), as lower << 32 | upper, and their weights."""

    def found() -> Iterator[tuple[Ints, Floats]]:
        for start in range(0, len(weight), _EDGES_AT_ONCE):
            one, other, own = (column[start : start + _EDGES_AT_ONCE] for column in (source, target, weight))
            lower = np.minimum(one, other)
            kept = (one != other) & (own > 0) & (lower >= first) & (lower < last)
            yield lower[kept].astype(np.int64) << 32 | np.maximum(one, other)[kept].astype(np.int64), own[kept]

    pairs, weights = zip((np.zeros(0, np.int64), np.zeros(0)), *found(), strict=True)
    return np.concatenate(pairs), np.concatenate(weights)


def _summed(pairs: Ints, weight: Floats) -> tuple[Ints, Vectors]:
    """Return the distinct pairs, ascending, and the sum of the weights of each."""
    order, start = runs(pairs)
    sizes = np.diff(start, append=len(order))
    several = np.flatnonzero(np.repeat(sizes > 1, sizes))  # few: sorting all by weight takes as long again
    order[several] = order[several][np.lexsort((weight[order[several]], pairs[order[several]]))]
    pairs, weight = pairs[order], weight[order]
    total = np.add.reduceat(weight, start) if len(start) else weight
    if len(total) and total.max() > np.finfo(np.float32).max:
        raise ValueError(f"an edge's weights sum to {total.max():g}, more than float32 can hold")
    rounded = total.astype(np.float32)
    kept = rounded > 0  # weights that round to zero are dropped too
    return pairs[start[kept]], rounded[kept]


def node_ids(name: str, ids: ArrayLike, n_nodes: int) -> Ints:
    """Return `ids` as int64 (k,).

    Raises:
        ValueError: they are not a one-dimensional array of integers in 0 .. n_nodes - 1; names `name`.
    """
    return _checked(name, ids, n_nodes).astype(np.int64, copy=False)


def _checked(name: str, ids: ArrayLike, n_nodes: int) -> "NDArray[np.integer[Any]]":
    array = np.asarray(ids)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, not of shape {array.shape}")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be integers, not {array.dtype}")
    if array.min() < 0 or array.max() >= n_nodes:
        outside = array[(array < 0) | (array >= n_nodes)]
        raise ValueError(f"{name} contains node {outside[0]} in a graph of {n_nodes} nodes")
    return array


def check_weights(name: str, weights: Floats) -> None:
    """Raise ValueError with `name` unless every weight is finite and not negative."""
    if not np.isfinite(weights).all():
        raise ValueError(f"{name} must be finite")
    if (weights < 0).any():
        raise ValueError(f"{name} must not be negative, but the least is {weights.min():g}")


def degrees_of(relations: Sequence[Relation]) -> dict[str, int]:
    """Return the number of distinct neighbours of each end of the relations."""
    import pyarrow as pa

    ends = arrow_of(Relation, relations, ["source_id", "target_id"]).columns
    codes, ids = codes_of(pa.chunked_array([chunk for column in ends for chunk in column.chunks], pa.string()))
    others = np.roll(codes, len(codes) // 2)  # the target of each source, and the other way round
    counts = np.bincount(distinct(codes << 32 | others) >> 32, minlength=len(ids))
    return dict(zip(ids, counts.tolist(), strict=True))
