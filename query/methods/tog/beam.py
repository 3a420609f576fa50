"""The moves of a beam search over a graph, without anyone who decides: Think-on-Graph's, and ToG-2's.

Sun et al. 2024 (arXiv 2307.07697, section 2) and Ma et al. 2024, ToG-2 (arXiv 2407.10805, section 3): find the
relations at the topic entities, keep some, find the entities behind them, keep some, go on from these.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from conspectus.query.types.trace import Chain, Hop
from conspectus.query.walk.graph import Edges, KnowledgeGraph
from conspectus.storage.arrays import Bools, Floats, Ints


class Way(NamedTuple):
    """A relation and a direction: the number of the predicate, and whether it is walked from source to target."""

    predicate: int
    outgoing: bool


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """Entities that were reached in one way from the topics: `steps[i]` are the edges walked by `ways[i]`.

    The topics themselves are a branch without ways.
    """

    entities: Ints
    ways: tuple[Way, ...] = ()
    steps: tuple[Edges, ...] = ()

    @property
    def depth(self) -> int:
        """The number of steps."""
        return len(self.ways)


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """A way on from a branch, and its edges."""

    way: Way
    edges: Edges


def discover(graph: KnowledgeGraph, branch: Branch) -> list[Option]:
    """Return the relations at the branch's entities in both directions, by predicate, incoming first.

    Walking a relation back to where it led from is left out; back to others that it joins is another way on.
    """
    edges = graph.edges_of(branch.entities)
    if branch.ways:
        last, came_from = branch.ways[-1], branch.steps[-1].at
        reverses = (edges.predicate == last.predicate) & (edges.outgoing != last.outgoing)
        edges = _taken(edges, ~(reverses & np.isin(edges.neighbours, came_from)))
    keys = edges.predicate.astype(np.int64) * 2 + edges.outgoing
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    parts = np.split(order, starts[1:]) if len(order) else []
    return [
        Option(Way(int(edges.predicate[part[0]]), bool(edges.outgoing[part[0]])), _taken(edges, part)) for part in parts
    ]


def extend(branch: Branch, option: Option, most: int | None = None) -> Branch:
    """Return the branch one step on, its entities sorted: all that the option leads to, or the first `most`."""
    entities = np.unique(option.edges.neighbours)[:most]
    return Branch(entities, (*branch.ways, option.way), (*branch.steps, option.edges))


def only(branch: Branch, entities: Sequence[int]) -> Branch:
    """Return the branch with some of its entities, and the edges of its last step that lead to them."""
    kept = np.asarray(sorted(entities), np.int64)
    if not branch.steps:
        return Branch(kept)
    last = branch.steps[-1]
    return Branch(kept, branch.ways, (*branch.steps[:-1], _taken(last, np.isin(last.neighbours, kept))))


def entity_scores(owners: Sequence[int], scores: Sequence[float], alpha: float) -> dict[int, float]:
    """Return score(c) = Σ_k s_k · exp(-αk) over the ranks k = 1, 2, ... of chunks that belong to c (ToG-2, equation 5).

    `owners[i]` is the candidate that chunk i belongs to, `scores[i]` ≥ 0 its score; ranks go by falling score, ties in
    the order given. A candidate without a chunk has no score.
    """
    order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
    found: dict[int, float] = {}
    for rank, place in enumerate(order, start=1):
        owner = owners[place]
        found[owner] = found.get(owner, 0.0) + scores[place] * float(np.exp(-alpha * rank))
    return found


def leading(scores: dict[int, float], width: int) -> list[int]:
    """Return the `width` candidates of highest score, ties by candidate."""
    return sorted(scores, key=lambda each: (-scores[each], each))[:width]


def hops_to(branch: Branch, entity: int) -> tuple[Hop, ...]:
    """Return one path from a topic to an entity of the branch: at each step back the first edge; () at the topics."""
    hops: list[Hop] = []
    at = entity
    for edges in reversed(branch.steps):
        place = int(np.flatnonzero(edges.neighbours == at)[0])
        outgoing = bool(edges.outgoing[place])
        hops.append(Hop(int(edges.relation[place]), int(edges.at[place]), at, outgoing))
        at = hops[-1].start
    return tuple(reversed(hops))


def ways_to(branch: Branch, entities: Ints) -> Floats:
    """Return for each of the branch's entities how many paths along its ways lead there, float64 in step with them."""
    if not branch.steps:
        return np.ones(len(entities))
    counts: dict[int, float] = dict.fromkeys(branch.steps[0].at.tolist(), 1.0)
    for edges in branch.steps:
        onward: dict[int, float] = {}
        for start, end in zip(edges.at.tolist(), edges.neighbours.tolist(), strict=True):
            if start in counts:
                onward[end] = onward.get(end, 0.0) + counts[start]
        counts = onward
    return np.array([counts.get(each, 0.0) for each in entities.tolist()])


def chain_of(branch: Branch, entity: int, ended: str = "") -> Chain:
    """Return the path to an entity as a chain of single entities."""
    hops = hops_to(branch, entity)
    nodes = (hops[0].start, *(each.end for each in hops)) if hops else (entity,)
    return Chain(tuple((node,) for node in nodes), hops, ended)


def _taken(edges: Edges, which: Ints | Bools) -> Edges:
    return Edges(
        edges.at[which], edges.neighbours[which], edges.predicate[which], edges.relation[which], edges.outgoing[which]
    )
