"""The walk of FastToG, community by community, whoever decides: a language model, or closeness to the question.

Liang and Gu 2025, "Fast Think-on-Graph", algorithm 1. What differs: a chain that ended keeps its text as evidence, and
nothing is asked twice about the same evidence.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from conspectus.query.methods.fasttog.local_search import Candidate, LocalSearch, Members, Searched
from conspectus.query.types.trace import Chain, Considered, Decision, Hop, WalkTrace
from conspectus.query.walk.graph import KnowledgeGraph, spoken

Label = Callable[[Members], str]


@dataclass(frozen=True, slots=True)
class Picked:
    """The places of the candidates that were picked, best first, and why no more of them.

    `scores` has one number for each candidate where the choice was made by numbers.
    """

    places: tuple[int, ...]
    why: str
    scores: tuple[float, ...] = ()
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a reasoning over all chains came to. `relations` are the rows that the answer rests on, best first."""

    answered: bool
    text: str = ""
    names: tuple[str, ...] = ()
    relations: tuple[int, ...] = ()
    why: str = ""
    calls: int = 0
    considered: tuple[Considered, ...] = ()


@dataclass(slots=True)
class Grown:
    """A chain as it grows: its communities, and why it ended ("" while it is alive)."""

    steps: list[Candidate]
    ended: str = ""


class Decider(Protocol):
    """Makes the decisions of a walk."""

    async def pick(
        self, question: str, chain: Sequence[Candidate], candidates: Sequence[Candidate], most: int
    ) -> Picked:
        """Return up to `most` of the candidates, none where none helps; `chain` is empty at the start."""
        ...

    async def reason(self, question: str, subjects: Sequence[int], chains: Sequence[Grown]) -> Outcome:
        """Return the answer that the chains give, or that they give none yet."""
        ...


@dataclass(frozen=True, slots=True)
class Walked:
    """Where a walk ended. `depth` is the number of communities in the longest chain."""

    outcome: Outcome
    trace: WalkTrace
    depth: int
    calls: int

    def ended(self, outcome: Outcome) -> "Walked":
        """Return the same walk with an answer that is taken of its chains after their end."""
        said = f"{'answered' if outcome.answered else 'not answered'}: {outcome.text or outcome.why}"
        last = Decision("answer", self.depth, f"{len(self.trace.chains)} chains", outcome.considered, said)
        trace = replace(self.trace, decisions=(*self.trace.decisions, last))
        return replace(self, outcome=outcome, trace=trace)


@dataclass(slots=True)
class CommunityWalk:
    """One walk: W chains of communities, each grown from its last one.

    With W chains and D rounds there are at most 1 + W·D choices and 1 + D reasonings.
    """

    search: LocalSearch
    decider: Decider
    question: str
    subjects: tuple[int, ...]
    chains: list[Grown] = field(default_factory=list)
    _decisions: list[Decision] = field(default_factory=list)
    _visited: set[Members] = field(default_factory=set)

    async def walk(self) -> Walked:
        """Return the walk's end: an answer, or none after the last round or when all chains have ended."""
        chosen = self.search.settings
        self._visited = {(each,) for each in self.subjects}
        chains = self.chains = await self._start(chosen.width)
        outcome = await self._reason(0, chains) if chains else Outcome(False, why="nothing was picked at the start")
        for depth in range(1, chosen.max_depth + 1):
            alive = [each for each in chains if not each.ended]
            if outcome.answered or not alive:
                break
            stepped = [await self._step(depth, number, each) for number, each in enumerate(chains, 1) if not each.ended]
            if any(stepped):
                outcome = await self._reason(depth, chains)
        trace = WalkTrace(tuple(self._decisions), tuple(self._traced(each) for each in chains))
        deepest = max((len(each.steps) for each in chains), default=0)
        return Walked(outcome, trace, deepest, sum(each.calls for each in self._decisions))

    async def _start(self, width: int) -> list[Grown]:
        began = time.perf_counter()
        found = [self.search.around((each,), self._visited) for each in self.subjects]
        pool = _pooled([candidate for each in found for candidate in each.kept])
        picked = Picked((), "no candidates")
        if pool:
            picked = await self.decider.pick(self.question, (), pool, width)
        self._visited |= {pool[place].nodes for place in picked.places}
        at = ", ".join(spoken(self.search.graph.names[each]) for each in self.subjects)
        self._tell(0, at or "the question", found, pool, picked, began)
        return [Grown([pool[place]]) for place in picked.places]

    async def _step(self, depth: int, number: int, chain: Grown) -> bool:
        """Grow a chain by one community, or end it; return whether there is anything new."""
        began = time.perf_counter()
        found = self.search.around(chain.steps[-1].nodes, self._visited)
        picked = Picked((), "no candidates")
        if found.kept:
            picked = await self.decider.pick(self.question, chain.steps, found.kept, 1)
        self._tell(depth, f"chain {number}", [found], found.kept, picked, began)
        if not picked.places:
            chain.ended = picked.why or "none of the candidates was picked"
            return False
        chain.steps.append(found.kept[picked.places[0]])
        self._visited.add(chain.steps[-1].nodes)
        return True

    async def _reason(self, depth: int, chains: Sequence[Grown]) -> Outcome:
        began = time.perf_counter()
        outcome = await self.decider.reason(self.question, self.subjects, chains)
        said = f"{'answered' if outcome.answered else 'not answered'}: {outcome.text or outcome.why}"
        at = f"{len(chains)} chains"
        spent = time.perf_counter() - began
        self._decisions.append(Decision("reasoning", depth, at, outcome.considered, said, spent, outcome.calls))
        return outcome

    def _tell(
        self,
        depth: int,
        at: str,
        found: Sequence[Searched],
        pool: Sequence[Candidate],
        picked: Picked,
        began: float,
    ) -> None:
        """Write a choice down, and what the search before it left out."""
        considered = [
            Considered(
                self._label(each),
                place in picked.places,
                "picked" if place in picked.places else "not picked",
                picked.scores[place] if picked.scores else None,
            )
            for place, each in enumerate(pool)
        ]
        considered += [
            Considered(self._label(each), False, f"coarse pruning: Q(c) {each.modularity:.3g}", each.modularity)
            for one in found
            for each in one.pruned
        ]
        outcome = (
            f"{sum(each.n_nodes for each in found)} entities in "
            f"{sum(each.n_communities for each in found)} communities; "
            f"{sum(each.seen for each in found)} visited before, "
            f"{sum(each.apart for each in found)} without an edge here, "
            f"{sum(len(each.pruned) for each in found)} pruned, {len(pool)} to choose from: {len(picked.places)} picked"
            + (f" ({picked.why})" if picked.why else "")
        )
        seconds = time.perf_counter() - began
        self._decisions.append(Decision("communities", depth, at, tuple(considered), outcome, seconds, picked.calls))

    def _label(self, candidate: Candidate) -> str:
        return ", ".join(spoken(self.search.graph.names[each]) for each in candidate.nodes)

    def _traced(self, chain: Grown) -> Chain:
        graph = self.search.graph
        hops = [hop for each in chain.steps for hop in hops_of(graph, each)]
        return Chain((chain.steps[0].origin, *(each.nodes for each in chain.steps)), tuple(hops), chain.ended)


def hops_of(graph: KnowledgeGraph, step: Candidate) -> list[Hop]:
    """Return the triples of a step; those that join it to its origin are walked away from there."""
    found = []
    for row in step.bridges:
        source, target = int(graph.sources[row]), int(graph.targets[row])
        outgoing = target in step.nodes
        found.append(Hop(row, source, target, True) if outgoing else Hop(row, target, source, False))
    return found + [Hop(row, int(graph.sources[row]), int(graph.targets[row]), True) for row in step.inside]


def _pooled(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates of all subjects; of those with the same entities one, with the edges to all subjects."""
    found: dict[Members, Candidate] = {}
    for each in candidates:
        if each.nodes in found:
            first = found[each.nodes]
            bridges = tuple(dict.fromkeys((*first.bridges, *each.bridges)))
            found[each.nodes] = replace(first, bridges=bridges)
        else:
            found[each.nodes] = each
    return list(found.values())
