"""The neighbourhood of a community, sampled: what a local community search looks at."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from conspectus.query.walk.graph import KnowledgeGraph
from conspectus.storage.arrays import Bools, Floats, Ints

_MOST_AT_ONCE = 1000
"""Edges of one entity that are read; of one that has more, each kind of relation gives as many as any other."""


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """A sampled subgraph. `nodes` are entity rows, ascending, the community's own among them; `hops` their distances.

    `sources`, `targets` (entity rows) and `relations` (rows of the relations) are all edges read among the nodes.
    """

    nodes: Ints
    hops: Ints
    sources: Ints
    targets: Ints
    relations: Ints


def neighbourhood(
    graph: KnowledgeGraph, community: tuple[int, ...], *, rho: float, max_hops: int, max_nodes: int, seed: int
) -> Neighbourhood:
    """Return the subgraph around a community, which itself is not counted among the `max_nodes`.

    A node n hops away is kept with probability `rho` ** (n - 1): it has one draw, the same in every search of a seed.
    Distances are those over kept nodes, so that what is cut off falls away. Of a hop for which there is no room the
    relations are taken in turn, of each the node with the smallest draw first, so that every relation is seen before
    one is seen again. (FastToG, Liang and Gu 2025, "Community Detection on Subgraph".)
    """
    nodes = np.array(sorted(community), np.int64)
    hops = np.zeros(len(nodes), np.int64)
    frontier = nodes
    for hop in range(1, max_hops + 1):
        room = max_nodes - (len(nodes) - len(community))
        if not room or not len(frontier):
            break
        at, neighbours, kinds = _edges(graph, frontier, seed)[:3]
        new = ~_among(neighbours, nodes)
        at, neighbours, kinds = at[new], neighbours[new], kinds[new]
        draws = _draws(neighbours, seed)
        kept = draws < rho ** (hop - 1)
        frontier = _first(at[kept], neighbours[kept], kinds[kept], draws[kept], room)
        nodes, hops = np.concatenate([nodes, frontier]), np.concatenate([hops, np.full(len(frontier), hop)])
    order = np.argsort(nodes)
    nodes, hops = nodes[order], hops[order]
    at, neighbours, _, relations = _edges(graph, nodes, seed)
    relations = np.unique(relations[_among(neighbours, nodes)])
    return Neighbourhood(nodes, hops, graph.sources[relations], graph.targets[relations], relations)


def _first(at: Ints, neighbours: Ints, kinds: Ints, draws: Floats, room: int) -> Ints:
    """Return the different neighbours, or so many of them, taken from the relations in turn."""
    found = np.unique(neighbours)
    if len(found) <= room:
        return found
    order = np.lexsort((neighbours, draws, kinds, at))
    at, neighbours, kinds, draws = at[order], neighbours[order], kinds[order], draws[order]
    begins = np.ones(len(at), bool)
    begins[1:] = (at[1:] != at[:-1]) | (kinds[1:] != kinds[:-1])
    starts = np.flatnonzero(begins)
    turn = np.arange(len(at)) - np.repeat(starts, np.diff([*starts, len(at)]))
    in_turn = neighbours[np.lexsort((neighbours, draws, turn))]
    _, first = np.unique(in_turn, return_index=True)
    return np.sort(in_turn[np.sort(first)[:room]])


def _edges(graph: KnowledgeGraph, rows: Ints, seed: int) -> tuple[Ints, Ints, Ints, Ints]:
    """Return edges at entities: the entity, its neighbour, the kind (predicate and direction), the relation."""
    counts = graph.indptr[rows + 1] - graph.indptr[rows]
    few = rows[counts <= _MOST_AT_ONCE]
    read = graph.edges_of(few)
    parts = [(read.at, read.neighbours, _kinds(read.predicate, read.outgoing), read.relation)]
    for row in rows[counts > _MOST_AT_ONCE]:
        places = _places(graph, int(row), seed)
        kinds = _kinds(graph.predicate[places], graph.outgoing[places])
        parts.append((np.full(len(places), row), graph.neighbours[places], kinds, graph.relation[places]))
    at, neighbours, kinds, relations = (np.concatenate(each) for each in zip(*parts, strict=True))
    return at, neighbours, kinds, relations


def _places(graph: KnowledgeGraph, row: int, seed: int) -> Ints:
    """Return places of edges at an entity with very many: of each predicate as many, evenly over all that it has.

    The edges are sorted by predicate, so that where each ends is found without reading them.
    """
    start, end = int(graph.indptr[row]), int(graph.indptr[row + 1])
    bounds = [start]
    while bounds[-1] < end:
        said = graph.predicate[bounds[-1]]
        bounds.append(bounds[-1] + int(np.searchsorted(graph.predicate[bounds[-1] : end], said, side="right")))
    share = max(_MOST_AT_ONCE // (len(bounds) - 1), 1)
    offset = float(_draws(np.array([row]), seed)[0])
    parts = []
    for low, high in pairwise(bounds):
        count = min(high - low, share)
        parts.append(low + ((np.arange(count) + offset) * ((high - low) / count)).astype(np.int64))
    return np.concatenate(parts)


def _kinds(predicate: npt.NDArray[np.int32], outgoing: Bools) -> Ints:
    return predicate.astype(np.int64) * 2 + outgoing


def _among(rows: Ints, nodes: Ints) -> Bools:
    return np.isin(rows, nodes)


def _draws(rows: Ints, seed: int) -> Floats:
    """Return a number in [0, 1) for each row: the same row and seed give the same one (SplitMix64)."""
    state = rows.astype(np.uint64) + np.uint64(seed % 2**32) * np.uint64(0x9E3779B97F4A7C15 % 2**63)
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state = state ^ (state >> np.uint64(31))
    return (state >> np.uint64(11)).astype(np.float64) / 2.0**53
