"""Beam search over a knowledge graph: the moves and the loop that ToG and ToG-2 share.

Sun et al. 2024, "Think-on-Graph" (arXiv 2307.07697, section 2), and Ma et al. 2024, "Think-on-Graph 2.0" (arXiv
2407.10805, section 3): from the topic entities, find the relations, keep some; find the entities behind them, keep
some; judge whether what was found suffices; go on from the entities that were kept.

The loop decides nothing itself. A `BeamPolicy` does: a language model (policy_llm.py), or the question's words matched
with predicates (policy_offline.py).
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from conspectus.query.types import Passage
from conspectus.query.types.trace import Chain, Considered, Hop
from conspectus.query.walk.graph import IncidentEdges, KnowledgeGraph, spoken
from conspectus.query.walk.log import WalkLog
from conspectus.storage.arrays import Bools, Floats, Ints

_MOST_TRIPLES = 20
"""So many triples of the routes to some entities are shown to a model, or cited."""

# Paths


class DirectedPredicate(NamedTuple):
    """A predicate (its number in the graph), and whether it is walked from source to target."""

    predicate: int
    outgoing: bool


@dataclass(frozen=True, slots=True, eq=False)
class BeamPath:
    """Entities that the same relations lead to from the topics; the topics themselves have no relations.

    `edges[i]` are the edges walked along `relations[i]`.
    """

    entities: Ints
    relations: tuple[DirectedPredicate, ...] = ()
    edges: tuple[IncidentEdges, ...] = ()

    @property
    def last_relation(self) -> int:
        """The row of the (first) relation that led to the entities, -1 at the topics."""
        return int(self.edges[-1].relation[0]) if self.edges else -1


@dataclass(frozen=True, slots=True, eq=False)
class RelationOption:
    """A relation that leads on from a path, and its edges."""

    relation: DirectedPredicate
    edges: IncidentEdges


def discover(graph: KnowledgeGraph, path: BeamPath) -> list[RelationOption]:
    """Return the relations at a path's entities in both directions, by predicate, incoming first.

    Edge(e) = {(r, direction)} of ToG-2's equation 1. Walking a relation back to where it led from is left out; back to
    other entities that it joins is an option.
    """
    edges = graph.edges_of(path.entities)
    if path.relations:
        last, came_from = path.relations[-1], path.edges[-1].at
        reverses = (edges.predicate == last.predicate) & (edges.outgoing != last.outgoing)
        edges = _select(edges, ~(reverses & np.isin(edges.neighbours, came_from)))
    keys = edges.predicate.astype(np.int64) * 2 + edges.outgoing
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    groups = np.split(order, starts[1:]) if len(order) else []
    return [
        RelationOption(
            DirectedPredicate(int(edges.predicate[group[0]]), bool(edges.outgoing[group[0]])), _select(edges, group)
        )
        for group in groups
    ]


def extend(path: BeamPath, option: RelationOption) -> BeamPath:
    """Return the path one step on: all entities that the option leads to, ascending (ToG-2, equation 4)."""
    entities = np.unique(option.edges.neighbours)
    return BeamPath(entities, (*path.relations, option.relation), (*path.edges, option.edges))


def restrict(path: BeamPath, entities: Sequence[int]) -> BeamPath:
    """Return the path with some of its entities, and the edges of its last step that lead to them."""
    kept = np.asarray(sorted(entities), np.int64)
    if not path.edges:
        return BeamPath(kept)
    last = path.edges[-1]
    return BeamPath(kept, path.relations, (*path.edges[:-1], _select(last, np.isin(last.neighbours, kept))))


def hops_to(path: BeamPath, entity: int) -> tuple[Hop, ...]:
    """Return the triples from a topic to an entity of the path: at each step back the first edge; () at the topics."""
    hops: list[Hop] = []
    at = entity
    for edges in reversed(path.edges):
        place = int(np.flatnonzero(edges.neighbours == at)[0])
        hops.append(Hop(int(edges.relation[place]), int(edges.at[place]), at, bool(edges.outgoing[place])))
        at = hops[-1].start
    return tuple(reversed(hops))


def relations_to(path: BeamPath, entities: Sequence[int]) -> tuple[int, ...]:
    """Return the triples of one route to each of some entities of a path, in their order, at most twenty."""
    rows = dict.fromkeys(hop.relation for entity in entities for hop in hops_to(path, entity))
    return tuple(rows)[:_MOST_TRIPLES]


def count_routes(path: BeamPath, entities: Ints) -> Floats:
    """Return in how many ways the path's edges lead to each of some of its entities, float64 in step with them."""
    if not path.edges:
        return np.ones(len(entities))
    counts: dict[int, float] = dict.fromkeys(path.edges[0].at.tolist(), 1.0)
    for edges in path.edges:
        onward: dict[int, float] = {}
        for start, end in zip(edges.at.tolist(), edges.neighbours.tolist(), strict=True):
            if start in counts:
                onward[end] = onward.get(end, 0.0) + counts[start]
        counts = onward
    return np.array([counts.get(entity, 0.0) for entity in entities.tolist()])


def chain_to(path: BeamPath, entity: int, ended: str = "") -> Chain:
    """Return the path to an entity as a chain of single entities, for the trace."""
    hops = hops_to(path, entity)
    nodes = (hops[0].start, *(hop.end for hop in hops)) if hops else (entity,)
    return Chain(tuple((node,) for node in nodes), hops, ended)


def path_label(graph: KnowledgeGraph, path: BeamPath) -> str:
    """Return the first three entities of a path in words, and how many more there are."""
    rows = path.entities.tolist()
    more = f" and {len(rows) - 3} more" if len(rows) > 3 else ""
    return f"{', '.join(spoken(graph.names[row]) for row in rows[:3]) or 'nothing'}{more}"


def _select(edges: IncidentEdges, which: Ints | Bools) -> IncidentEdges:
    return IncidentEdges(
        edges.at[which], edges.neighbours[which], edges.predicate[which], edges.relation[which], edges.outgoing[which]
    )


# Decisions


@dataclass(frozen=True, slots=True)
class Choice:
    """Which options a policy keeps: their places, best first, with scores ≥ 0 where it scored them.

    `considered` is for the trace, `calls` counts those of a language model, and `why` says what went wrong ("" if
    nothing did).
    """

    kept: tuple[int, ...]
    scores: tuple[float, ...] = ()
    considered: tuple[Considered, ...] = ()
    calls: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceText:
    """A text to be scored for a candidate path: a chunk under the triple that led there, or the triple alone.

    `owner` is the place of the candidate, -1 for none; `relation` the row of the triple, -1 for none; `passage` the
    chunk, None where a triple stands in for one.
    """

    owner: int
    text: str
    relation: int = -1
    passage: Passage | None = None
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class RankedTexts:
    """Evidence texts by falling score. `why` says on what ground they are ranked if not on the one that was set."""

    texts: list[EvidenceText]
    calls: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class BeamVerdict:
    """Whether what a walk found answers the question.

    `text` is the answer (if any), `clues` what helps so far, `names` the entities that answer, best first,
    `relations` and `passages` what the answer rests on, `considered` the answers that were weighed. `path` is the path
    at whose end the answer stands, and `coverage` the share of the question that this path matches, where a policy
    without a model answers.
    """

    sufficient: bool
    text: str = ""
    clues: str = ""
    names: tuple[str, ...] = ()
    relations: tuple[int, ...] = ()
    passages: tuple[Passage, ...] = ()
    considered: tuple[Considered, ...] = ()
    calls: int = 0
    why: str = ""
    path: BeamPath | None = None
    coverage: float = 0.0


@dataclass(frozen=True, slots=True)
class NextQuery:
    """What a walk should look for next (ToG-2's clue query)."""

    text: str
    calls: int = 0
    why: str = ""


@dataclass(slots=True, eq=False)
class BeamState:
    """Where a walk stands: its paths, the evidence texts of this round, and what is looked for next.

    `last` tells that no round follows, so that a judgement must give the best answer it can.
    """

    question: str
    paths: list[BeamPath]
    texts: Sequence[EvidenceText] = ()
    depth: int = 0
    last: bool = False
    query: str = ""
    clues: str = ""
    verdict: BeamVerdict = BeamVerdict(False, why="the graph holds nothing that the question names")


class BeamPolicy(Protocol):
    """Makes the decisions of one walk. A decision that cannot be made keeps nothing and says why."""

    async def keep_topics(self, rows: Sequence[int]) -> Choice:
        """Choose the topic entities from which to walk (ToG-2's topic prune)."""
        ...

    def start(self, rows: Sequence[int]) -> list[BeamPath]:
        """Return the paths that a walk from the topics begins with."""
        ...

    async def keep_relations(self, state: BeamState, options: Sequence[Sequence[RelationOption]]) -> list[Choice]:
        """Choose relations, the best W of every path of the state (relation prune)."""
        ...

    def candidates(self, reached: BeamPath) -> list[BeamPath]:
        """Divide what one relation led to into the candidates that are weighed one by one."""
        ...

    async def keep_entities(self, path: BeamPath, candidates: Sequence[BeamPath]) -> Choice:
        """Choose among the candidates behind one relation at `path` (ToG's entity prune)."""
        ...

    async def rank(self, state: BeamState, candidates: Sequence[BeamPath], texts: list[EvidenceText], /) -> RankedTexts:
        """Score the evidence texts of the candidates (ToG-2's context retrieval)."""
        ...

    async def judge(self, state: BeamState) -> BeamVerdict:
        """Judge whether the paths and texts of the state answer the question (reasoning)."""
        ...

    async def next_query(self, state: BeamState) -> NextQuery:
        """Formulate what is to be looked for next."""
        ...

    async def finish(self, state: BeamState) -> BeamVerdict:
        """Return the final verdict of a walk that ended without a sufficient one."""
        ...


# The loop


async def beam_search(
    state: BeamState,
    policy: BeamPolicy,
    log: WalkLog,
    *,
    rounds: int,
    advance: Callable[[BeamState], Awaitable[list[BeamPath]]],
    refocus: Callable[[BeamState], Awaitable[None]] | None = None,
    answer_in_last_round: bool = False,
) -> None:
    """Walk up to `rounds` steps from the paths of a state; the state then has the verdict and the depth reached.

    Args:
        state: where the walk starts; updated in place.
        policy: makes the decisions.
        log: gets every decision, and the paths at the end.
        rounds: the maximal depth D.
        advance: one round of pruning; returns the W best paths one step on, and may set the state's texts.
        refocus: called between rounds, to set what is looked for next.
        answer_in_last_round: the judgement of the last round gives a best effort.
    """
    ended = ""
    for depth in range(1, rounds + 1) if state.paths else ():
        previous, state.depth, state.last = state.depth, depth, answer_in_last_round and depth == rounds
        paths = await advance(state)
        if not paths:
            state.depth, ended = previous, "nothing leads on"
            break
        state.paths = paths
        state.verdict = await policy.judge(state)
        log_verdict(log, "reasoning", state, f"{len(paths)} paths")
        if state.verdict.sufficient:
            break
        if refocus and depth < rounds:
            await refocus(state)
    log.chains += [chain_to(path, int(path.entities[0]), ended) for path in state.paths if path.relations]
    if not state.verdict.sufficient:
        final = await policy.finish(state)
        if final is not state.verdict:
            state.verdict = final
            log_verdict(log, "answer", state)


def log_choice(log: WalkLog, stage: str, depth: int, at: str, choice: Choice) -> None:
    """Log a choice."""
    outcome = f"{len(choice.kept)} of {len(choice.considered)} kept" + (f" ({choice.why})" if choice.why else "")
    log.add(stage, depth, at, choice.considered, outcome, choice.calls)


def log_verdict(log: WalkLog, stage: str, state: BeamState, at: str = "") -> None:
    """Log the verdict of a state."""
    verdict = state.verdict
    detail = "; ".join(part for part in (verdict.text[:200], verdict.why) if part)
    outcome = "sufficient" if verdict.sufficient else "not sufficient"
    log.add(stage, state.depth, at, verdict.considered, f"{outcome}: {detail}" if detail else outcome, verdict.calls)
