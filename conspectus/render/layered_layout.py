"""Lay out layered graphs: one column per layer, with room for edges that cross a column.

The method of Sugiyama, Tagawa and Toda (1981) in its simplest form: an edge that skips layers takes a place in each of
them, and a column is ordered by the places of its nodes' neighbours in the column before, once from left to right.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

_PASSING = 0.4
"""Height of an edge's place in a column that it passes; a node's is 1."""


@dataclass(frozen=True, slots=True)
class LayeredLayout:
    """`heights[i]` is the centre of node i in its column, `through[e]` the same for each column that edge e passes;
    the columns are centred around 0, and `extent` is the height of the highest.
    """

    heights: tuple[float, ...]
    through: tuple[tuple[float, ...], ...]
    extent: float


def layered(layers: Sequence[int], edges: Sequence[tuple[int, int]]) -> LayeredLayout:
    """Return the layout of nodes with these layers (from 0); ties go to the earlier node, which is placed higher.

    >>> layered([0, 1, 1], [(0, 1), (0, 2)])
    LayeredLayout(heights=(0.0, -0.5, 0.5), through=((), ()), extent=2.0)
    """
    columns: list[list[int]] = [[] for _ in range(max(layers, default=0) + 1)]
    for node, layer in enumerate(layers):
        columns[layer].append(node)
    before: dict[int, list[int]] = {}
    passing: list[list[int]] = []
    item = len(layers)
    for source, end in edges:
        chain: list[int] = []
        for layer in range(layers[source] + 1, layers[end]):
            columns[layer].append(item)
            chain.append(item)
            item += 1
        if layers[source] < layers[end]:
            for left, right in zip([source, *chain], [*chain, end], strict=True):
                before.setdefault(right, []).append(left)
        passing.append(chain)

    heights: dict[int, float] = {}
    extent = 0.0
    for column in columns:
        column.sort(key=lambda item: _mean([heights[left] for left in before.get(item, [])]))
        sizes = [1.0 if item < len(layers) else _PASSING for item in column]
        top = -fsum(sizes) / 2
        extent = max(extent, fsum(sizes))
        for entry, size in zip(column, sizes, strict=True):
            heights[entry] = top + size / 2
            top += size
    return LayeredLayout(
        tuple(heights[node] for node in range(len(layers))),
        tuple(tuple(heights[item] for item in chain) for chain in passing),
        extent,
    )


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values) if values else 0.0
