"""Beam search over a knowledge graph: the moves and the state that ToG and ToG-2 share.

Sun et al. 2024, "Think-on-Graph" (arXiv 2307.07697, section 2), and Ma et al. 2024, "Think-on-Graph 2.0" (arXiv
2407.10805, section 3): find the relations of the topic entities and prune them; find the entities behind them and prune
them; judge whether the evidence suffices; continue from the remaining entities.

All decisions are made by a language model (pruning_llm.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from conspectus.query.types import Passage
from conspectus.query.types.trace import Chain, Hop
from conspectus.query.walk.decisions import Verdict
from conspectus.query.walk.graph import IncidentEdges, WalkGraph, spoken
from conspectus.storage.arrays import Bools, Ints, runs

CONTEXT_CHUNKS = 10  # by which entities are scored and from which is answered, as in ToG-2
_MOST_TRIPLES = 20
"""Maximum number of triples on the routes to entities that are shown to a model or cited."""

# Paths


class DirectedPredicate(NamedTuple):
    """A predicate (its number in the graph) and a direction: `outgoing` is from source to target."""

    predicate: int
    outgoing: bool


@dataclass(frozen=True, slots=True, eq=False)
class BeamPath:
    """The entities reached from the topics along the same relations; without relations, the topics themselves.

    `edges[i]` are the edges walked along `relations[i]`.
    """

    entities: Ints
    relations: tuple[DirectedPredicate, ...] = ()
    edges: tuple[IncidentEdges, ...] = ()

    @property
    def last_relation(self) -> int:
        """The row of the first relation of the last step, -1 at the topics."""
        return int(self.edges[-1].relation[0]) if self.edges else -1


@dataclass(frozen=True, slots=True, eq=False)
class RelationOption:
    """A relation by which a path may continue, and its edges."""

    relation: DirectedPredicate
    edges: IncidentEdges


def discover(graph: WalkGraph, path: BeamPath) -> list[RelationOption]:
    """Return the relations at a path's entities in both directions, by predicate, incoming first.

    Edge(e) = {(r, direction)} of ToG-2's equation 1. An edge is never walked straight back; the same relation may be
    walked back to other entities.
    """
    edges = graph.edges_of(path.entities)
    if path.relations:
        last, came_from = path.relations[-1], path.edges[-1].at
        reverses = (edges.predicate == last.predicate) & (edges.outgoing != last.outgoing)
        edges = _select(edges, ~(reverses & np.isin(edges.neighbours, came_from)))
    keys = edges.predicate.astype(np.int64) * 2 + edges.outgoing
    order, starts = runs(keys)
    groups = np.split(order, starts[1:]) if len(order) else []
    return [
        RelationOption(
            DirectedPredicate(int(edges.predicate[group[0]]), bool(edges.outgoing[group[0]])), _select(edges, group)
        )
        for group in groups
    ]


def extend(path: BeamPath, option: RelationOption) -> BeamPath:
    """Return the path extended by an option, to all entities that it reaches, ascending (ToG-2, equation 4)."""
    entities = np.unique(option.edges.neighbours)
    return BeamPath(entities, (*path.relations, option.relation), (*path.edges, option.edges))


def follow(graph: WalkGraph, start: int, steps: Sequence[tuple[int, bool]]) -> BeamPath:
    """Follow predicates with directions from an entity as far as possible; no relations if the first step fails.

    A step that the graph states only in the other direction is followed in that direction.
    """
    path = BeamPath(np.array([start], np.int64))
    for predicate, outgoing in steps:
        options = {option.relation: option for option in discover(graph, path)}
        relation = DirectedPredicate(predicate, outgoing)
        option = options.get(relation) or options.get(relation._replace(outgoing=not outgoing))
        longer = extend(path, option) if option else None
        if longer is None or returns_to_start(longer):
            break
        path = longer
    return path


def restrict(path: BeamPath, entities: Sequence[int]) -> BeamPath:
    """Return the path restricted to some of its entities and the last edges that reach them."""
    kept = np.asarray(sorted(entities), np.int64)
    if not path.edges:
        return BeamPath(kept)
    last = path.edges[-1]
    return BeamPath(kept, path.relations, (*path.edges[:-1], _select(last, np.isin(last.neighbours, kept))))


def returns_to_start(path: BeamPath) -> bool:
    """Return whether a path leads only to entities at which it began."""
    return bool(path.edges) and bool(np.isin(path.entities, path.edges[0].at).all())


def hops_to(path: BeamPath, entity: int) -> tuple[Hop, ...]:
    """Return the triples from a topic to an entity of the path, by the first edge of each step; () at the topics."""
    hops: list[Hop] = []
    at = entity
    for edges in reversed(path.edges):
        place = int(np.flatnonzero(edges.neighbours == at)[0])
        hops.append(Hop(int(edges.relation[place]), int(edges.at[place]), at, bool(edges.outgoing[place])))
        at = hops[-1].start
    return tuple(reversed(hops))


def relations_to(path: BeamPath, entities: Sequence[int]) -> tuple[int, ...]:
    """Return the triples of one route to each of the entities of a path, in order, at most twenty."""
    rows = dict.fromkeys(hop.relation for entity in entities for hop in hops_to(path, entity))
    return tuple(rows)[:_MOST_TRIPLES]


def chain_to(path: BeamPath, entity: int, ended: str = "") -> Chain:
    """Return the path to an entity as a chain of single entities, for the trace."""
    hops = hops_to(path, entity)
    nodes = (hops[0].start, *(hop.end for hop in hops)) if hops else (entity,)
    return Chain(tuple((node,) for node in nodes), hops, ended)


def path_label(graph: WalkGraph, path: BeamPath) -> str:
    """Return a label of a path: its first three entities, and the number of others."""
    rows = path.entities.tolist()
    more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    return f"{', '.join(spoken(graph.names[row]) for row in rows[:3]) or 'nothing'}{more}"


def _select(edges: IncidentEdges, which: Ints | Bools) -> IncidentEdges:
    return IncidentEdges(
        edges.at[which], edges.neighbours[which], edges.predicate[which], edges.relation[which], edges.outgoing[which]
    )


# Decisions


@dataclass(frozen=True, slots=True)
class EvidenceText:
    """A text to be scored for a candidate path: a triple and a chunk, or the triple alone.

    Attributes:
        text: The text.
        owner: Position of the candidate, -1 for none.
        relation: Relation row of the triple, -1 for none.
        passage: The chunk; None for a triple alone.
    """

    owner: int
    text: str
    relation: int = -1
    passage: Passage | None = None
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class RankedTexts:
    """Evidence texts, best first. `why` gives the reason if they are not ranked by the configured scorer."""

    texts: list[EvidenceText]
    calls: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class NextQuery:
    """The query of the next round (ToG-2's clue query)."""

    text: str
    calls: int = 0
    why: str = ""


@dataclass(slots=True, eq=False)
class BeamState:
    """The state of a walk: its paths, the evidence texts of this round, and the next query.

    In the `last` round the verdict is a best effort.
    """

    question: str
    paths: list[BeamPath]
    texts: Sequence[EvidenceText] = ()
    depth: int = 0
    last: bool = False
    query: str = ""
    clues: str = ""
    verdict: Verdict = field(default_factory=lambda: Verdict(False, why="the question names no entity of the graph"))
