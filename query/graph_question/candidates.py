"""Candidate queries of a question: chains of steps from named entities, their intersections, orders and bounds.

Chains grow breadth-first, at most three steps from each entity, and only the best of each length are retained. An
entity with an opaque id only connects others, so a step to such entities is taken together with the next step.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, pairwise

import numpy as np
from conspectus.query.graph_question.meanings import Predicates
from conspectus.query.graph_question.mentions import EntityMention
from conspectus.query.graph_question.question_form import ReadQuestion
from conspectus.query.graph_question.structured_query import (
    Bound,
    Condition,
    Form,
    GraphQuery,
    Order,
    PredicateStep,
    Things,
)
from conspectus.query.walk.run_query import reached
from conspectus.storage.arrays import Ints, distinct
from conspectus.storage.cancellation import check

MOST_STEPS = 3
_KEPT = (24, 16, 12)
"""Number of chains of one, two and three steps retained for each entity."""
_MET = 24
"""Number of best chains of each mention that are intersected with those of other mentions."""
_EXTENDED = 12
"""Number of best intersections that are extended."""
_KEYS = 40
"""Number of predicates that a chain is extended with: those nearest to the question's words."""
_MOST_ROWS = 20_000
_ALIKE = 0.5
"""Share of the entities from which some are excluded that must be of the excluded kind."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One condition: steps from a mentioned entity, each (predicate, outgoing).

    `joining` contains the positions of the steps that lead to opaque ids; each forms one unit with the next step.
    With `negated` the answers must not be among what the steps lead to.
    """

    mention: EntityMention
    start: int
    steps: tuple[tuple[int, bool], ...]
    joining: frozenset[int] = frozenset()
    negated: bool = False

    @property
    def back(self) -> list[int]:
        """The positions of steps that follow the predicate before them back to other entities."""
        return [
            number
            for number, (one, other) in enumerate(pairwise(self.steps), start=1)
            if number - 1 not in self.joining and one[0] == other[0] and one[1] != other[1]
        ]


@dataclass(frozen=True, slots=True)
class LiteralStep:
    """A literal that orders or bounds the answers: the step to it (None: their own names), its fit and direction.

    With `counted` the answers are ordered by how many entities the step leads to ("the most films").
    """

    step: tuple[int, bool] | None
    fit: float
    descending: bool = False
    counted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A candidate query.

    Attributes:
        form: What is asked for.
        legs: The conditions, whose ends are intersected.
        tail: Steps that follow the intersection.
        rows: The entities reached, as rows.
        literal: The literal that orders, bounds or compares them.
        subjects: Mentions that a yes_no or compare question is about, each with its row.
        members: The class whose members the answers are restricted to; -1 for none.
        verdict: The answer to a yes_no question.
        score: The weighted sum of the features.
        likeness: The cosine of the words of its path with the question, for the best candidates.
        said: The cosine of the words of its relations with the question without the names in it, likewise.
    """

    form: Form
    legs: tuple[Leg, ...]
    rows: Ints
    tail: tuple[tuple[int, bool], ...] = ()
    literal: LiteralStep | None = None
    subjects: tuple[tuple[EntityMention, int], ...] = ()
    members: int = -1
    verdict: bool | None = None
    score: float = 0.0
    likeness: float = 0.0
    said: float = 0.0

    @property
    def mentions(self) -> tuple[EntityMention, ...]:
        """The distinct mentions used."""
        return tuple(dict.fromkeys((*(leg.mention for leg in self.legs), *(mention for mention, _ in self.subjects))))

    @property
    def steps(self) -> tuple[tuple[int, bool], ...]:
        """All steps of all legs, then those of the tail."""
        return (*(step for leg in self.legs for step in leg.steps), *self.tail)

    @property
    def joining(self) -> tuple[int, ...]:
        """The positions of the steps that lead to opaque ids."""
        return tuple(before + number for before, leg in self.numbered for number in leg.joining)

    @property
    def numbered(self) -> list[tuple[int, Leg]]:
        """The legs, each with the position of its first step."""
        return [(sum(len(each.steps) for each in self.legs[:number]), leg) for number, leg in enumerate(self.legs)]

    @property
    def named(self) -> frozenset[int]:
        """The places of the words of its mentions."""
        return frozenset(place for mention in self.mentions for place in mention.places)

    @property
    def returns(self) -> bool:
        """Whether a leg follows a predicate and then the same predicate back to other entities."""
        return any(leg.back for leg in self.legs)

    @property
    def end(self) -> int:
        """The class of the entities that the steps lead to; `members` if there are no steps."""
        steps = self.steps
        if not steps:
            return self.members
        predicate, outgoing = steps[-1]
        return 2 * predicate + outgoing


Score = Callable[[Candidate], float]


class CandidateSearch:
    """Enumerates the candidate queries of one question."""

    def __init__(self, predicates: Predicates, asked: ReadQuestion, worth: Sequence[float], score: Score) -> None:
        """Prepare a search.

        Args:
            predicates: The predicates of the graph.
            asked: The question.
            worth: The nearness of each predicate to its nearest word of the question, (p,).
            score: The scoring function for candidates.
        """
        self.predicates = predicates
        self._graph = predicates.graph
        self.asked = asked
        self._worth = np.asarray(worth)
        self._score = score

    def things(self, mentions: Sequence[EntityMention]) -> list[Candidate]:
        """Return chains from the mentions and their intersections, scored, best first."""
        by_mention = [self._chains(mention) for mention in mentions]
        found = [candidate for chains in by_mention for candidate in chains]
        met: list[Candidate] = []
        for one, other in combinations(range(len(mentions)), 2):
            check()
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

    def _chains(self, mention: EntityMention) -> list[Candidate]:
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
        """Yield the chain extended by each possible step, scored, with the number of steps added; `rows` is unchanged.

        A step to opaque ids is taken together with the next.
        """
        leg = candidate.legs[0]
        for step in self.steps(candidate.rows):
            if self.predicates.mediators[2 * step[0] + step[1]]:
                between = self._along(candidate.rows, step)
                opaque = between[self.predicates.ids[between]]
                for second in self.steps(opaque):
                    joining = leg.joining | {len(leg.steps)}
                    longer = replace(candidate, legs=(replace(leg, steps=(*leg.steps, step, second), joining=joining),))
                    yield self.scored(longer), 2
                if len(opaque) == len(between):
                    continue
            yield self.scored(replace(candidate, legs=(replace(leg, steps=(*leg.steps, step)),))), 1

    def _reached(self, candidate: Candidate, added: int) -> Candidate:
        """Return a chain with its rows moved along its last `added` steps."""
        leg = candidate.legs[0]
        rows = candidate.rows
        for number, step in enumerate(leg.steps[-added:]):
            rows = self._along(rows, step)
            rows = rows[self.predicates.ids[rows] == (number < added - 1)]
        if added == 2 or candidate.returns or self.asked.others:
            rows = rows[rows != leg.start]
        return replace(candidate, rows=rows)

    def steps(self, rows: Ints) -> list[tuple[int, bool]]:
        """Return the steps available from entities; if there are many, those nearest to the question's words."""
        check()
        edges = self._graph.edges_of(rows[:_MOST_ROWS])
        keys = distinct(2 * edges.predicate.astype(np.int64) + edges.outgoing)
        steps = dict.fromkeys((int(key // 2), bool(key % 2) or self.predicates.symmetric[key // 2]) for key in keys)
        steps |= {
            (before, False): None
            for key in keys
            if not key % 2
            for before in self.predicates.leading.get(int(key // 2), ())
        }
        return sorted(steps, key=lambda step: (-self._worth[step[0]], step))[:_KEYS]

    def _along(self, rows: Ints, step: tuple[int, bool]) -> Ints:
        """Return the entities that a step leads to, in both directions if the predicate is symmetric."""
        if self.predicates.through(step, self.asked.form):
            return reached(self._graph, rows[:_MOST_ROWS], (self.predicates.step(step, self.asked.form),))
        edges = self._graph.edges_of(rows[:_MOST_ROWS])
        taken = edges.predicate == step[0]
        if not self.predicates.symmetric[step[0]]:
            taken &= edges.outgoing == step[1]
        return distinct(edges.neighbours[taken])

    def _meetings(self, ones: Sequence[Candidate], others: Sequence[Candidate]) -> list[Candidate]:
        found = []
        for one in ones[:_MET]:
            check()
            for other in others[:_MET]:
                if len(one.steps) + len(other.steps) > MOST_STEPS + len(one.legs):
                    continue
                rows = np.intersect1d(one.rows, other.rows, assume_unique=True)
                if len(rows):
                    found.append(self.scored(replace(one, legs=(*one.legs, *other.legs), rows=rows)))
        return found

    def _extended(self, candidate: Candidate) -> Iterator[Candidate]:
        back = {(leg.steps[-1][0], not leg.steps[-1][1]) for leg in candidate.legs}
        for step in self.steps(candidate.rows):
            if step in back:
                continue
            rows = self._along(candidate.rows, step)
            starts = [leg.start for leg in candidate.legs]
            kept = rows[~self.predicates.ids[rows] & ~np.isin(rows, starts)]
            if len(kept):
                yield self.scored(replace(candidate, tail=(step,), rows=kept))

    def without(self, mentions: Sequence[EntityMention], things: Sequence[Candidate], place: int) -> list[Candidate]:
        """Return candidates that exclude what chains from the mention behind a negation lead to.

        Args:
            mentions: The mentions of the question.
            things: The chains from all mentions.
            place: The place of the negation.
        """
        behind = [mention for mention in mentions if mention.start > place]
        if not behind:
            return []
        first = min(mention.start for mention in behind)
        away = [each for each in things if len(each.legs) == 1 and each.legs[0].mention.start == first]
        kept = [each for each in things if not each.tail and all(first not in m.places for m in each.mentions)]
        found = []
        for each in (one for one in away[:_MET] if one.legs[0].steps and not one.tail):
            leg = replace(each.legs[0], negated=True)
            members = self.predicates.members(each.end)
            everything = replace(each, legs=(leg,), rows=np.setdiff1d(members, each.rows), members=each.end)
            found.append(self.scored(everything))
            for one in kept[:_MET]:
                alike = np.intersect1d(one.rows, members)
                if len(alike) >= _ALIKE * len(one.rows):  # what is excluded must be of the kind that is kept
                    rows = np.setdiff1d(one.rows, each.rows)
                    found.append(self.scored(replace(one, legs=(*one.legs, leg), rows=rows)))
        return _best(found)

    def verdicts(self, mentions: Sequence[EntityMention], things: Sequence[Candidate]) -> list[Candidate]:
        """Return yes-or-no candidates: whether a mention is among the entities that chains from the others reach."""
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
                        found.append(self.scored(verdict))
        return _best(found)

    def _fits(self, row: int, cls: int) -> bool:
        """Return whether an entity could belong to a class: it has the class, or an object class of the same kind."""
        edges = self._graph.edges_of([row])
        own = set(distinct(2 * edges.predicate.astype(np.int64) + (~edges.outgoing).astype(np.int64)).tolist())
        if cls in own:
            return True
        kinds = self.predicates.kinds
        return bool(cls % 2 and kinds[cls // 2]) and any(
            other % 2 and kinds[other // 2] == kinds[cls // 2] for other in own
        )

    def with_literals(
        self, things: Sequence[Candidate], literals: Callable[[Ints], Sequence[LiteralStep]]
    ) -> list[Candidate]:
        """Return each candidate combined with each literal of its entities."""
        return _best([
            self.scored(replace(candidate, literal=literal))
            for candidate in things
            for literal in literals(candidate.rows)
        ])  # fmt: skip

    def scored(self, candidate: Candidate) -> Candidate:
        """Return a candidate with its score."""
        return replace(candidate, score=self._score(candidate))


def _best(candidates: Sequence[Candidate], most: int | None = None) -> list[Candidate]:
    """Return the best candidates; ties go to fewer steps, then to the smaller steps."""
    ranked = sorted(candidates, key=lambda candidate: (-candidate.score, len(candidate.steps), candidate.steps))
    return ranked[:most]


def query_of(predicates: Predicates, asked: ReadQuestion, candidate: Candidate) -> GraphQuery:
    """Return a candidate as a structured query."""
    conditions = [replace(_condition(predicates, leg, candidate.form), negated=leg.negated) for leg in candidate.legs]
    if candidate.members >= 0:
        predicate, objects = divmod(candidate.members, 2)
        name = predicates.graph.predicates[predicate]
        conditions.append(Condition(None, (PredicateStep((name,), "forward" if objects else "backward"),)))
    things = Things(tuple(conditions))
    if candidate.tail:
        things = Things((Condition(things, tuple(predicates.step(step, candidate.form) for step in candidate.tail)),))
    others = [leg for leg in candidate.legs if asked.others or len(leg.steps) - 1 in leg.back]
    if others and candidate.form != "yes_no" and asked.negated < 0:
        away = tuple(Condition((leg.start,), (), negated=True) for leg in others)
        things = replace(things, conditions=(*things.conditions, *away))
    if candidate.literal:
        step = predicates.step(candidate.literal.step, candidate.form) if candidate.literal.step else None
        if asked.bounds and not asked.order:
            stated = partial(predicates.as_stated, candidate.literal.step)
            bounds = tuple(Bound(step, bound.comparison, stated(bound.value)) for bound in asked.bounds)
            things = replace(things, bounds=bounds)
        else:
            rank = asked.order.rank if asked.order else 1
            things = replace(things, order=Order(step, candidate.literal.descending, candidate.literal.counted, rank))
    return GraphQuery(candidate.form, things, tuple(row for _, row in candidate.subjects))


def _condition(predicates: Predicates, leg: Leg, form: Form) -> Condition:
    """Return a leg as a condition; a leg that goes back along a predicate and on must not pass through its start."""
    steps = tuple(predicates.step(step, form) for step in leg.steps)
    back = [number + 1 for number in leg.back if number + 1 < len(steps)]
    if not back:
        return Condition((leg.start,), steps)
    others = Condition((leg.start,), (), negated=True)
    return Condition(Things((Condition((leg.start,), steps[: back[0]]), others)), steps[back[0] :])
