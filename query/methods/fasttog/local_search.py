"""Local community search (FastToG, Liang and Gu 2025, algorithm 2): candidate communities around a community.

It samples a subgraph, detects communities in it, excluding the origin, and prunes them by modularity. Policies choose
among the candidates.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from conspectus.query.methods.fasttog.communities import (
    Partition,
    community_modularity,
    louvain,
    members,
    small_graph,
)
from conspectus.query.walk.graph import KnowledgeGraph
from conspectus.storage.arrays import Bools, Floats, Ints, Vectors, places_within
from conspectus.storage.settings import FastTogSettings

Members = tuple[int, ...]
"""The entity rows of a community, ascending; they identify it."""

_RHO, _MAX_HOPS, _MAX_NODES, _COARSE_K = 0.5, 3, 100, 8
"""Sampling: entities n hops away, up to 3, with probability 0.5^(n - 1), at most 100, so that it is fast; and the
communities that remain to be chosen from: a prompt with 8 stays short."""
_SEED = 7  # any number: the same question has the same sample
_DIGITS = 9
"""Scores are rounded to this many digits before they are compared."""


@dataclass(frozen=True, slots=True)
class CommunityCandidate:
    """A community by which a chain may be extended.

    Attributes:
        nodes: Its entity rows.
        inside: Rows of the relations within it.
        bridges: Rows of its relations to the origin.
        modularity: Its Q(c) in the sampled subgraph.
        origin: The community that the search started from.
    """

    nodes: Members
    inside: tuple[int, ...]
    bridges: tuple[int, ...]
    modularity: float
    origin: Members

    @property
    def relations(self) -> tuple[int, ...]:
        """The relations stated in its text, those to its origin first."""
        return (*self.bridges, *self.inside)


@dataclass(slots=True)
class CommunityChain:
    """A chain: its communities, and why it ended ("" while it is active)."""

    steps: list[CommunityCandidate]
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Searched:
    """The result of a local search: candidates (best first), pruned communities, and counts of the subgraph.

    `seen` counts communities visited before, `apart` those without an edge to the origin.
    """

    kept: tuple[CommunityCandidate, ...]
    pruned: tuple[CommunityCandidate, ...]
    n_nodes: int
    n_communities: int
    seen: int
    apart: int


@dataclass(frozen=True, slots=True, eq=False)
class CommunitySearch:
    """Local community search in one graph.

    Attributes:
        graph: The graph.
        settings: The settings.
        near: float (p,), the cosine of each predicate with the question.
    """

    graph: KnowledgeGraph
    settings: FastTogSettings
    near: Vectors

    def around(self, origin: Members, visited: Set[Members]) -> Searched:
        """Return the candidates around a community, except those in `visited`.

        Coarse pruning retains `_COARSE_K` candidates: alternately the one with the highest Q(c), ties by members, and
        the one with the predicate nearest to the question. Q(c) alone would favour single nodes (years, languages).
        """
        around = neighbourhood(self.graph, origin, rho=_RHO, max_hops=_MAX_HOPS, max_nodes=_MAX_NODES, seed=_SEED)
        outside = np.setdiff1d(around.nodes, np.array(origin, np.int64), assume_unique=True)
        ends = np.stack([around.sources, around.targets])
        inner = np.isin(ends, outside).all(axis=0)
        graph = small_graph(len(outside), np.searchsorted(outside, ends[:, inner]).T)
        partition = louvain(graph, self.settings.max_community_size)
        values = community_modularity(graph, partition)
        found, seen, apart = list[tuple[float, CommunityCandidate]](), 0, 0
        held = _relations_of(ends, outside, partition)
        for nodes, value, (own, joined) in zip(members(partition), values.tolist(), held, strict=True):
            key = tuple(outside[nodes].tolist())
            seen += key in visited
            apart += key not in visited and not len(joined)
            if key not in visited and len(joined):
                inside, bridges = (tuple(around.relations[item].tolist()) for item in (own, joined))
                found.append((round(value, _DIGITS), CommunityCandidate(key, inside, bridges, value, origin)))
        ranked = self._ranked(found)
        kept, pruned = ranked[:_COARSE_K], ranked[_COARSE_K:]
        return Searched(kept, pruned, len(outside), len(values), seen, apart)

    def _ranked(self, found: Sequence[tuple[float, CommunityCandidate]]) -> tuple[CommunityCandidate, ...]:
        ranked = [item for _, item in sorted(found, key=lambda result: (-result[0], result[1].nodes))]
        if len(ranked) <= _COARSE_K:
            return tuple(ranked)
        nearest = sorted(ranked, key=lambda item: -self._nearness(item))
        by_turns = (item for pair in zip(ranked, nearest, strict=True) for item in pair)
        return tuple({item.nodes: item for item in by_turns}.values())

    def _nearness(self, candidate: CommunityCandidate) -> float:
        """Return the greatest cosine of a predicate of the candidate with the question."""
        return float(self.near[self.graph.stated[list(candidate.relations)]].max())


def _relations_of(ends: Ints, outside: Ints, partition: Partition) -> list[tuple[Ints, Ints]]:
    """Return for each community the positions of its inner relations and of its relations to the origin.

    `ends` (2, e) are the entities of the relations; those not in `outside` belong to the origin.
    """
    label = np.full(ends.shape, -1, np.int64)
    held = np.isin(ends, outside)
    label[held] = partition[np.searchsorted(outside, ends[held])]
    joins = (label >= 0).sum(axis=0) == 1
    of = np.where(joins, label.max(axis=0, initial=-1), np.where(label[0] == label[1], label[0], -1))
    order = np.argsort(of, kind="stable")
    bounds = np.searchsorted(of[order], np.arange(int(partition.max(initial=-1)) + 2))
    groups = [order[low:high] for low, high in pairwise(bounds.tolist())]
    return [(group[~joins[group]], group[joins[group]]) for group in groups]


# The sampled neighbourhood

_MOST_AT_ONCE = 1000
"""Maximum number of edges read of one entity; for a hub, equally many per predicate."""


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """A sampled subgraph.

    Attributes:
        nodes: int64 (n,), entity rows, ascending, including the community's own.
        hops: int64 (n,), their distances from the community.
        sources: int64 (e,), entity rows of the edges' sources.
        targets: int64 (e,), entity rows of their targets.
        relations: int64 (e,), relation rows.
    """

    nodes: Ints
    hops: Ints
    sources: Ints
    targets: Ints
    relations: Ints


def neighbourhood(
    graph: KnowledgeGraph, community: tuple[int, ...], *, rho: float, max_hops: int, max_nodes: int, seed: int
) -> Neighbourhood:
    """Return the sampled subgraph around a community; its own nodes do not count towards `max_nodes`.

    A node n hops away is sampled with probability `rho` ** (n - 1), by one draw that depends only on the seed.
    Distances are measured over sampled nodes, so unreachable nodes are dropped. If a hop exceeds `max_nodes`, its
    relations take turns, each with its smallest draw first, so that every relation is represented before one repeats.
    (FastToG, Liang and Gu 2025, "Community Detection on Subgraph".)
    """
    nodes = np.array(sorted(community), np.int64)
    hops = np.zeros(len(nodes), np.int64)
    frontier = nodes
    for hop in range(1, max_hops + 1):
        room = max_nodes - (len(nodes) - len(community))
        if not room or not len(frontier):
            break
        at, neighbours, kinds = _edges(graph, frontier)[:3]
        new = ~np.isin(neighbours, nodes)
        at, neighbours, kinds = at[new], neighbours[new], kinds[new]
        draws = _draws(neighbours, seed)
        kept = draws < rho ** (hop - 1)
        frontier = _first(at[kept], neighbours[kept], kinds[kept], draws[kept], room)
        nodes, hops = np.concatenate([nodes, frontier]), np.concatenate([hops, np.full(len(frontier), hop)])
    order = np.argsort(nodes)
    nodes, hops = nodes[order], hops[order]
    at, neighbours, _, relations = _edges(graph, nodes)
    relations = np.unique(relations[np.isin(neighbours, nodes)])
    return Neighbourhood(nodes, hops, graph.sources[relations], graph.targets[relations], relations)


def _first(at: Ints, neighbours: Ints, kinds: Ints, draws: Floats, room: int) -> Ints:
    """Return up to `room` distinct neighbours, taking the kinds of edges in turn."""
    found = np.unique(neighbours)
    if len(found) <= room:
        return found
    order = np.lexsort((neighbours, draws, kinds, at))
    at, neighbours, kinds, draws = at[order], neighbours[order], kinds[order], draws[order]
    in_turn = neighbours[np.lexsort((neighbours, draws, places_within(at, kinds)))]
    _, first = np.unique(in_turn, return_index=True)
    return np.sort(in_turn[np.sort(first)[:room]])


def _edges(graph: KnowledgeGraph, rows: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return edges at entities: the entity, its neighbour, the kind (predicate and direction), the relation."""
    counts = graph.indptr[rows + 1] - graph.indptr[rows]
    few = rows[counts <= _MOST_AT_ONCE]
    read = graph.edges_of(few)
    parts = [(read.at, read.neighbours, _kinds(read.predicate, read.outgoing), read.relation)]
    for row in rows[counts > _MOST_AT_ONCE]:
        places = np.arange(graph.indptr[row], graph.indptr[row + 1])  # sorted by kind
        places = places[np.argsort(places_within(graph.predicate[places]), kind="stable")[:_MOST_AT_ONCE]]
        kinds = _kinds(graph.predicate[places], graph.outgoing[places])
        parts.append((np.full(len(places), row), graph.neighbours[places], kinds, graph.relation[places]))
    at, neighbours, kinds, relations = (np.concatenate(part) for part in zip(*parts, strict=True))
    return at, neighbours, kinds, relations


def _kinds(predicate: npt.NDArray[np.int32], outgoing: Bools) -> Ints:
    return predicate.astype(np.int64) * 2 + outgoing


def _draws(rows: Ints, seed: int) -> Floats:
    """Return a hash of each row and the seed as a number in [0, 1) (SplitMix64)."""
    state = rows.astype(np.uint64) + np.uint64(seed % 2**32) * np.uint64(0x9E3779B97F4A7C15 % 2**63)
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state = state ^ (state >> np.uint64(31))
    return (state >> np.uint64(11)).astype(np.float64) / 2.0**53
