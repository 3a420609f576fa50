"""Candidate queries of a question: chains of steps from what it names, where they meet, literals that order or bound.

Chains are grown breadth first, at most three steps from each entity, and the best of each length are kept. An entity
with an opaque id only joins others, so a step to such entities is taken together with the next.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
from conspectus.query.graph_question.asked import Asked
from conspectus.query.graph_question.meanings import Predicates
from conspectus.query.graph_question.mentions import Mention
from conspectus.query.question.graph_query import Form
from conspectus.storage.arrays import Ints

MOST_STEPS = 3
_KEPT = (24, 16, 12)
"""Chains of one, two and three steps from an entity that are kept."""
_MET = 24
"""Best chains of each mention that are intersected with those of the others."""
_EXTENDED = 12
"""Intersections, and chains for an order or a bound, that are extended."""
_KEYS = 40
"""Predicates at the end of a chain that it is extended with, the nearest to the question's words."""
_MOST_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Leg:
    """One condition: steps from an entity that is mentioned, each (predicate, outgoing).

    `joining` has the numbers of the steps that lead to opaque ids, each one with the next.
    """

    mention: Mention
    start: int
    steps: tuple[tuple[int, bool], ...]
    joining: frozenset[int] = frozenset()

    @property
    def classes(self) -> tuple[int, ...]:
        """The class of things after each step."""
        return tuple(2 * predicate + outgoing for predicate, outgoing in self.steps)


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal that orders or bounds the answers: the step to it (None: their own names), and what it is for."""

    step: tuple[int, bool] | None
    fit: float
    descending: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A candidate query.

    Attributes:
        form: What is asked for.
        legs: The conditions, whose ends are intersected.
        tail: Steps from the intersection on.
        rows: What they lead to.
        literal: What orders, bounds or compares it.
        subjects: Mentions that a yes_no or compare is about, with the row of each.
        mentions: All mentions that are used.
        score: Set by `rank`.
    """

    form: Form
    legs: tuple[Leg, ...]
    rows: Ints
    tail: tuple[tuple[int, bool], ...] = ()
    literal: Literal | None = None
    subjects: tuple[tuple[Mention, int], ...] = ()
    members: int = -1
    verdict: bool | None = None
    score: float = 0.0
    features: tuple[float, ...] = field(default=())

    @property
    def mentions(self) -> tuple[Mention, ...]:
        """The mentions used, each once."""
        return tuple(dict.fromkeys((*(leg.mention for leg in self.legs), *(mention for mention, _ in self.subjects))))

    @property
    def steps(self) -> tuple[tuple[int, bool], ...]:
        """All steps of all legs, then those of the tail."""
        return (*(step for leg in self.legs for step in leg.steps), *self.tail)

    @property
    def joining(self) -> tuple[int, ...]:
        """The numbers of the steps that lead to opaque ids."""
        found, before = [], 0
        for leg in self.legs:
            found += [before + number for number in leg.joining]
            before += len(leg.steps)
        return tuple(found)

    @property
    def returns(self) -> bool:
        """Whether a leg goes on to other things along the predicate by which it came."""
        return any(
            number not in leg.joining and one[0] == other[0] and one[1] != other[1]
            for leg in self.legs
            for number, (one, other) in enumerate(zip(leg.steps, leg.steps[1:], strict=False))
        )

    @property
    def end(self) -> int:
        """The class of what the steps lead to; -1 where there are none."""
        steps = self.steps
        if not steps:
            return self.members
        predicate, outgoing = steps[-1]
        return 2 * predicate + outgoing


Score = Callable[[Candidate], float]


class CandidateSearch:
    """Enumerates the candidate queries of one question."""

    def __init__(self, predicates: Predicates, asked: Asked, worth: Sequence[float], score: Score) -> None:
        """Prepare a search.

        Args:
            predicates: The predicates of the graph.
            asked: The question.
            worth: For each predicate, how near the nearest word of the question is.
            score: The score of a candidate.
        """
        self._predicates = predicates
        self._graph = predicates.graph
        self._asked = asked
        self._worth = np.asarray(worth)
        self._score = score

    def things(self, mentions: Sequence[Mention]) -> list[Candidate]:
        """Return chains from the mentions and their intersections, scored, best first."""
        by_mention = [self._chains(mention) for mention in mentions]
        found = [candidate for chains in by_mention for candidate in chains]
        met: list[Candidate] = []
        for one, other in combinations(range(len(mentions)), 2):
            if not mentions[one].places & mentions[other].places:
                met += self._meetings(by_mention[one], by_mention[other])
        met = _best(met, 2 * _EXTENDED)
        for first in met[:_EXTENDED]:
            for third, chains in enumerate(by_mention):
                if all(not mentions[third].places & mention.places for mention in first.mentions):
                    found += self._meetings([first], chains[:_MET])
        for candidate in met[:_EXTENDED]:
            if len(candidate.tail) == 0:
                found += self._extended(candidate)
        return _best([*found, *met])

    def _chains(self, mention: Mention) -> list[Candidate]:
        found: list[Candidate] = []
        for start in mention.rows:
            level = [Candidate("things", (Leg(mention, start, ()),), np.array([start], np.int64))]
            for depth in range(MOST_STEPS):
                longer = [each for candidate in level for each in self._longer(candidate)]
                longer.sort(key=lambda item: (-item[0].score, len(item[0].steps), item[0].steps))
                reached = (self._reached(*item) for item in longer[: 2 * _KEPT[depth]])
                level = [candidate for candidate in reached if len(candidate.rows)][: _KEPT[depth]]
                found += level
        return _best(found)

    def _longer(self, candidate: Candidate) -> Iterator[tuple[Candidate, int]]:
        """Yield the chain with each further step, scored, and how many steps were added; its rows are those before.

        A step to opaque ids is taken together with the next.
        """
        leg = candidate.legs[0]
        for step in self._steps(candidate.rows):
            if self._predicates.mediators[2 * step[0] + step[1]]:
                between = self._along(candidate.rows, step)
                opaque = between[self._predicates.ids[between]]
                for second in self._steps(opaque):
                    joining = leg.joining | {len(leg.steps)}
                    longer = replace(candidate, legs=(replace(leg, steps=(*leg.steps, step, second), joining=joining),))
                    yield self._scored(longer), 2
                if len(opaque) == len(between):
                    continue
            yield self._scored(replace(candidate, legs=(replace(leg, steps=(*leg.steps, step)),))), 1

    def _reached(self, candidate: Candidate, added: int) -> Candidate:
        """Return a chain with the rows that its last steps lead to from the rows that it has."""
        leg = candidate.legs[0]
        rows = candidate.rows
        for number, step in enumerate(leg.steps[-added:]):
            rows = self._along(rows, step)
            rows = rows[self._predicates.ids[rows] == (number < added - 1)]
        if added == 2 or candidate.returns or self._asked.others:
            rows = rows[rows != leg.start]
        return replace(candidate, rows=rows)

    def _steps(self, rows: Ints) -> list[tuple[int, bool]]:
        """Return the steps from some entities; of many those along the predicates nearest to the words."""
        edges = self._graph.edges_of(rows[:_MOST_ROWS])
        keys = np.unique(2 * edges.predicate.astype(np.int64) + edges.outgoing)
        steps = dict.fromkeys((int(key // 2), bool(key % 2) or self._predicates.symmetric[key // 2]) for key in keys)
        return sorted(steps, key=lambda step: (-self._worth[step[0]], step))[:_KEYS]

    def _along(self, rows: Ints, step: tuple[int, bool]) -> Ints:
        """Return what a step leads to from some entities, in both directions if the predicate holds in both."""
        edges = self._graph.edges_of(rows[:_MOST_ROWS])
        taken = edges.predicate == step[0]
        if not self._predicates.symmetric[step[0]]:
            taken &= edges.outgoing == step[1]
        return np.unique(edges.neighbours[taken])

    def _meetings(self, ones: Sequence[Candidate], others: Sequence[Candidate]) -> list[Candidate]:
        found = []
        for one in ones[:_MET]:
            for other in others[:_MET]:
                if len(one.steps) + len(other.steps) > MOST_STEPS + len(one.legs):
                    continue
                rows = np.intersect1d(one.rows, other.rows, assume_unique=True)
                if len(rows):
                    found.append(self._scored(replace(one, legs=(*one.legs, *other.legs), rows=rows)))
        return found

    def _extended(self, candidate: Candidate) -> Iterator[Candidate]:
        back = {(leg.steps[-1][0], not leg.steps[-1][1]) for leg in candidate.legs}
        for step in self._steps(candidate.rows):
            if step in back:
                continue
            rows = self._along(candidate.rows, step)
            starts = [leg.start for leg in candidate.legs]
            kept = rows[~self._predicates.ids[rows] & ~np.isin(rows, starts)]
            if len(kept):
                yield self._scored(replace(candidate, tail=(step,), rows=kept))

    def verdicts(self, mentions: Sequence[Mention], things: Sequence[Candidate]) -> list[Candidate]:
        """Return yes-or-no candidates: whether a mention is among what chains from the others lead to."""
        found = []
        for candidate in things:
            if candidate.tail or len(candidate.steps) > 2 * len(candidate.legs):
                continue
            for mention in mentions:
                if any(mention.places & used.places for used in candidate.mentions):
                    continue
                for row in mention.rows:
                    among = bool(np.isin(row, candidate.rows))
                    if among or self._fits(row, candidate.end):
                        verdict = replace(candidate, form="yes_no", subjects=((mention, row),), verdict=among)
                        found.append(self._scored(verdict))
        return _best(found)

    def _fits(self, row: int, cls: int) -> bool:
        """Return whether an entity could be of a class: some thing of the class stands at an edge as it does."""
        edges = self._graph.edges_of([row])
        own = set(np.unique(2 * edges.predicate.astype(np.int64) + (~edges.outgoing).astype(np.int64)).tolist())
        if cls in own:
            return True
        kinds = self._predicates.kinds
        return bool(cls % 2 and kinds[cls // 2]) and any(
            other % 2 and kinds[other // 2] == kinds[cls // 2] for other in own
        )

    def with_literals(
        self, things: Sequence[Candidate], literals: Callable[[Ints], Sequence[Literal]]
    ) -> list[Candidate]:
        """Return the candidates with each literal that their things have."""
        return _best([
            self._scored(replace(candidate, literal=literal))
            for candidate in things
            for literal in literals(candidate.rows)
        ])  # fmt: skip

    def scored(self, candidate: Candidate) -> Candidate:
        """Return a candidate with its score."""
        return self._scored(candidate)

    def _scored(self, candidate: Candidate) -> Candidate:
        return replace(candidate, score=self._score(candidate))


def _best(candidates: Sequence[Candidate], most: int | None = None) -> list[Candidate]:
    """Return the best candidates; ties go to fewer steps, then to what stands first."""
    ranked = sorted(candidates, key=lambda candidate: (-candidate.score, len(candidate.steps), candidate.steps))
    return ranked[:most]
