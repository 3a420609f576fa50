"""Local community search: the communities around a community, few enough to choose from.

FastToG (Liang and Gu 2025), algorithm 2 without its choice: a sampled subgraph, detection in it without the community
itself, and coarse pruning by modularity.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from conspectus.query.methods.fasttog.detection.graph import (
    Detection,
    Partition,
    SmallGraph,
    community_modularity,
    members,
    numbered,
    small_graph,
)
from conspectus.query.methods.fasttog.detection.louvain import louvain
from conspectus.query.methods.fasttog.detection.registry import DETECTIONS
from conspectus.query.methods.fasttog.neighbourhood import neighbourhood
from conspectus.query.walk.graph import KnowledgeGraph
from conspectus.storage.arrays import Floats, Ints
from conspectus.storage.settings.asking import FastTogSettings

Members = tuple[int, ...]
"""The entity rows of a community, ascending: two communities with the same are the same."""

Closeness = Callable[[Ints], Floats]
"""How near relations, given by their rows, are to the question: one number each, at most 1."""


_DIGITS = 9
"""Scores are compared to so many digits."""
_SMALL = 1e-9


@dataclass(frozen=True, slots=True)
class Candidate:
    """A community that a chain may step to: the rows of its relations, and of those that join it to where it came from.

    `modularity` is its Q(c) in the subgraph that was searched, `origin` the community that the search began at.
    """

    nodes: Members
    inside: tuple[int, ...]
    bridges: tuple[int, ...]
    modularity: float
    origin: Members

    @property
    def relations(self) -> tuple[int, ...]:
        """The relations that its text is made of, those to its origin first."""
        return (*self.bridges, *self.inside)


@dataclass(frozen=True, slots=True)
class Searched:
    """What a local search found: candidates, best first, those that were pruned, and what the subgraph had.

    `seen` counts communities that were visited before, `apart` those without an edge to the origin.
    """

    kept: tuple[Candidate, ...]
    pruned: tuple[Candidate, ...]
    n_nodes: int
    n_communities: int
    seen: int
    apart: int


@dataclass(frozen=True, slots=True, eq=False)
class LocalSearch:
    """Searches one graph under one group of settings.

    `hierarchy` numbers for each entity its finest community of the index (negative where it has none); it is needed
    where `fasttog.detection` is `hierarchy`. `closeness` is needed where `fasttog.semantic_weight` is above 0.
    """

    graph: KnowledgeGraph
    settings: FastTogSettings
    closeness: Closeness | None = None
    hierarchy: Ints | None = None

    def around(self, origin: Members, visited: Set[Members]) -> Searched:
        """Return the candidates around a community; those in `visited` are left out.

        Coarse pruning keeps the `coarse_k` of highest Q(c), ties by their members. With a semantic weight w an edge
        weighs 1 + w times its closeness in the detection and in Q(c), and w times the closeness of a candidate's best
        relation, the ones to the origin among them, is added to Q(c) over the highest |Q(c)|.
        """
        chosen = self.settings
        around = neighbourhood(
            self.graph,
            origin,
            rho=chosen.rho,
            max_hops=chosen.max_hops,
            max_nodes=chosen.max_nodes,
            seed=chosen.seed,
        )
        outside = np.setdiff1d(around.nodes, np.array(origin, np.int64), assume_unique=True)
        near = self.closeness(around.relations) if self.closeness and chosen.semantic_weight else None
        ends = np.stack([around.sources, around.targets])
        inner = np.isin(ends, outside).all(axis=0)
        weights = None if near is None else 1.0 + chosen.semantic_weight * np.maximum(near[inner], 0.0)
        graph = small_graph(len(outside), np.searchsorted(outside, ends[:, inner]).T, weights)
        partition = self._detection(outside)(graph, chosen.max_community_size, chosen.seed)
        values = community_modularity(graph, partition)
        highest = max(float(np.abs(values).max(initial=0.0)), _SMALL)
        found, seen, apart = list[tuple[float, Candidate]](), 0, 0
        held = _relations_of(ends, outside, partition)
        for nodes, value, (own, joined) in zip(members(partition), values.tolist(), held, strict=True):
            key = tuple(outside[nodes].tolist())
            seen += key in visited
            apart += key not in visited and not len(joined)
            if key not in visited and len(joined):
                inside, bridges = (tuple(around.relations[each].tolist()) for each in (own, joined))
                score = value
                if near is not None:
                    best = float(near[np.concatenate([own, joined])].max())
                    score = value / highest + chosen.semantic_weight * best
                found.append((round(score, _DIGITS), Candidate(key, inside, bridges, value, origin)))
        ranked = self._ranked(found, origin)
        kept, pruned = ranked[: chosen.coarse_k], ranked[chosen.coarse_k :]
        return Searched(kept, pruned, len(outside), len(values), seen, apart)

    def _ranked(self, found: Sequence[tuple[float, Candidate]], origin: Members) -> tuple[Candidate, ...]:
        if self.settings.coarse == "random":
            draw = np.random.default_rng((self.settings.seed, *origin)).permutation(len(found))
            return tuple(found[each][1] for each in draw)
        return tuple(each for _, each in sorted(found, key=lambda each: (-each[0], each[1].nodes)))

    def _detection(self, outside: Ints) -> Detection:
        if self.settings.detection != "hierarchy":
            return DETECTIONS[self.settings.detection]
        assert self.hierarchy is not None
        return within_groups(self.hierarchy[outside])


def _relations_of(ends: Ints, outside: Ints, partition: Partition) -> list[tuple[Ints, Ints]]:
    """Return for each community the places of the relations inside it, and of those that join it to the origin.

    `ends` (2, e) are the entities of the relations; those that are not `outside` are the origin's.
    """
    label = np.full(ends.shape, -1, np.int64)
    held = np.isin(ends, outside)
    label[held] = partition[np.searchsorted(outside, ends[held])]
    joins = (label >= 0).sum(axis=0) == 1
    of = np.where(joins, label.max(axis=0, initial=-1), np.where(label[0] == label[1], label[0], -1))
    order = np.argsort(of, kind="stable")
    bounds = np.searchsorted(of[order], np.arange(int(partition.max(initial=-1)) + 2))
    groups = [order[low:high] for low, high in pairwise(bounds.tolist())]
    return [(each[~joins[each]], each[joins[each]]) for each in groups]


def within_groups(groups: Ints) -> Detection:
    """Return a detection that keeps given groups of nodes, and divides those that are too large by Louvain's method."""

    def detect(graph: SmallGraph, max_size: int | None, seed: int) -> Partition:
        found = np.zeros(graph.n_nodes, np.int64)
        count = 0
        for group in np.unique(groups):
            nodes = np.flatnonzero(groups == group)
            parts = np.zeros(len(nodes), np.int64)
            if group < 0 or (max_size is not None and len(nodes) > max_size):
                inner = np.isin(graph.edges, nodes).all(axis=1)
                own = SmallGraph(len(nodes), np.searchsorted(nodes, graph.edges[inner]), graph.weights[inner])
                parts = louvain(own, max_size, seed)
            found[nodes] = count + parts
            count += int(parts.max(initial=-1)) + 1
        return numbered(found)

    return detect
