"""Execute a structured query over the arrays of the graph, and collect the relations that support each answer."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import chain

import numpy as np
from conspectus.query.graph_question.structured_query import (
    Bound,
    Comparison,
    Condition,
    Direction,
    FoundEntity,
    GraphAnswer,
    GraphQuery,
    Order,
    PredicateStep,
    Things,
)
from conspectus.query.walk.graph import KnowledgeGraph
from conspectus.storage.arrays import Ints, distinct
from conspectus.storage.text.literals import Literal, comparable, parse_literal, year_in

_CITED = 50
"""Default number of entities whose supporting relations are collected."""
_EACH = 6
"""Maximum number of relations cited for a count, or for what the graph states instead if the answer is no."""

_MANY, _ONCE = 5, 0.95
"""Statements of a relation, and the share of distinct objects, from which it is taken to lead to each object once."""


def run(graph: KnowledgeGraph, query: GraphQuery, cited: int = _CITED) -> GraphAnswer:
    """Execute a query; predicates that the graph lacks match nothing.

    Args:
        graph: The graph.
        query: The query.
        cited: Number of entities whose supporting relations are collected.
    """
    execution = _Execution(graph)
    if query.form == "compare" or (query.form == "yes_no" and query.things.order and len(query.subjects) > 1):
        return execution.compared(query)
    if query.form == "yes_no":
        return execution.verdict(query)
    found = execution.found(query.things, execution.things(query.things), cited)
    return GraphAnswer(found, len(found), None, _distinct(found), bool(found))


def reached(graph: KnowledgeGraph, start: Iterable[int], steps: Sequence[PredicateStep]) -> Ints:
    """Return the rows of the entities that steps lead to from the start entities, ascending."""
    return _Execution(graph).walk(distinct(np.fromiter(start, np.int64)), steps)[-1]


class _Execution:
    """One run of a query; the entities of each condition are computed once."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._layers: dict[Condition, list[Ints]] = {}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self._graph.predicates)}

    # Sets of entities

    def things(self, wanted: Things) -> dict[int, str]:
        """Return the entities that meet all conditions and come first, each with its literal ("" for none)."""
        rows = self._all_of(wanted)
        values = dict.fromkeys(rows.tolist(), "")
        for bound in wanted.bounds:
            values = self._bounded(np.array(list(values), np.int64), bound)
        if wanted.order is None:
            return values
        return _first(self._ranked(np.array(list(values), np.int64), wanted.order), wanted.order)

    def _all_of(self, wanted: Things) -> Ints:
        """Return the entities that meet all conditions, ascending."""
        rows = np.arange(self._graph.n_entities)
        for condition in wanted.conditions:
            rows = rows[np.isin(rows, self.layers(condition)[-1], invert=condition.negated)]
        return rows

    def layers(self, condition: Condition) -> list[Ints]:
        """Return the start entities of a condition, and the entities reached by each of its steps."""
        if condition not in self._layers:
            start = condition.start
            if start is None:
                self._layers[condition] = self.walk(None, condition.steps)
            else:
                rows = self._all_of(start) if isinstance(start, Things) else np.array(start, np.int64)
                self._layers[condition] = self.walk(distinct(rows), condition.steps)
        return self._layers[condition]

    def walk(self, start: Ints | None, steps: Sequence[PredicateStep]) -> list[Ints]:
        """Return the start entities and those reached by each step, ascending; a start of None is any entity."""
        found = [np.arange(self._graph.n_entities) if start is None else start]
        for number, step in enumerate(steps):
            anywhere = start is None and number == 0
            rows = found[-1] if step.direction == "forward" or anywhere else self.closed(found[-1], step)
            ends = self._ends(step) if anywhere else self._edges(rows, step)[1]
            found.append(self.closed(distinct(ends), step) if step.direction == "forward" else distinct(ends))
        return found

    def closed(self, rows: Ints, step: PredicateStep) -> Ints:
        """Return entities with all that any number of edges `through` leads to from them, in the step's direction."""
        through = PredicateStep(step.through, step.direction)
        frontier = rows if step.through else rows[:0]
        while len(frontier):
            frontier = np.setdiff1d(self._edges(frontier, through)[1], rows)
            rows = np.union1d(rows, frontier)
        return rows

    def _edges(self, rows: Ints, step: PredicateStep) -> tuple[Ints, Ints, Ints]:
        """Return for each edge of a step the entity it starts from, the entity it leads to, and its relation."""
        edges = self._graph.edges_of(rows)
        kept = np.isin(edges.predicate, self._predicates(step))
        if step.direction != "either":
            kept &= edges.outgoing == (step.direction == "forward")
        return edges.at[kept], edges.neighbours[kept], edges.relation[kept]

    def _ends(self, step: PredicateStep) -> Ints:
        """Return the entities that a step leads to from anywhere, one for each relation."""
        graph, kept = self._graph, np.isin(self._graph.stated, self._predicates(step))
        ends = {"forward": [graph.targets], "backward": [graph.sources], "either": [graph.targets, graph.sources]}
        return np.concatenate([each[kept] for each in ends[step.direction]])

    def _predicates(self, step: PredicateStep) -> Ints:
        return np.array([self._numbers[text] for text in step.predicates if text in self._numbers], np.int64)

    # Literals

    def _literals(self, rows: Ints, step: PredicateStep | None) -> tuple[Ints, Ints]:
        """Return pairs of an entity and an entity that a step leads to from it (None: itself), as two arrays."""
        return self._edges(rows, step)[:2] if step else (rows, rows)

    def literal_of(self, entity: int) -> Literal | None:
        """Return an entity's name as a literal, or the year in its name."""
        name = self._graph.names[entity]
        return parse_literal(name) or year_in(name)

    def _meeting(self, bound: Bound) -> Callable[[int], bool]:
        """Return a function that tests whether an entity is a literal within a bound; false if the bound is none."""
        asked, holds = parse_literal(bound.value), _COMPARISONS[bound.comparison]

        def meets(entity: int) -> bool:
            literal = self.literal_of(entity)
            ends = comparable(literal, asked) if literal and asked else None
            return ends is not None and holds(*ends)

        return meets

    def _bounded(self, rows: Ints, bound: Bound) -> dict[int, str]:
        meets = self._meeting(bound)
        at, ends = self._literals(rows, bound.step)
        right = {end for end in np.unique(ends).tolist() if meets(end)}
        pairs = zip(at.tolist()[::-1], ends.tolist()[::-1], strict=True)
        return dict(sorted({thing: self._graph.names[end] for thing, end in pairs if end in right}.items()))

    def _ranked(self, rows: Ints, order: Order) -> dict[int, tuple[float, str]]:
        """Return the sort key and its text for each entity that has one. Literals use the most frequent scale."""
        at, ends = self._literals(rows, order.step)
        if order.counted:
            pairs = np.unique(np.stack([at, ends]), axis=1)
            things, counts = np.unique(pairs[0], return_counts=True)
            return {int(thing): (float(count), f"{count:,}") for thing, count in zip(things, counts, strict=True)}
        distinct, uses = np.unique(ends, return_counts=True)
        literals = {int(end): self.literal_of(int(end)) for end in distinct}
        scale = _scale(literals[int(end)] for end in np.repeat(distinct, np.minimum(uses, 100)))
        best: dict[int, tuple[float, str]] = {}
        better = max if order.descending else min
        for thing, end in zip(at.tolist(), ends.tolist(), strict=True):
            literal = literals[end]
            key = scale(literal) if literal and scale else None
            if key is not None:
                candidate = (key, self._graph.names[end])
                best[thing] = better(best.get(thing, candidate), candidate)
        return best

    # Verdicts

    def compared(self, query: GraphQuery) -> GraphAnswer:
        """Return which of the subjects come first, or whether the first subject alone does."""
        order = query.things.order
        assert order is not None
        ranked = self._ranked(distinct(np.array(query.subjects, np.int64)), order)
        stated = {row: self._to_value(row, order, text) for row, (_, text) in ranked.items()}
        relations = tuple(dict.fromkeys(chain.from_iterable(stated[row] for row in query.subjects if row in stated)))
        yes_no = query.form == "yes_no"
        if not stated.keys() >= set(query.subjects):
            return GraphAnswer((), 0, False if yes_no else None, relations, False)
        first = _first(ranked, order)
        found = tuple(FoundEntity(row, stated[row], first[row]) for row in query.subjects if row in first)
        return GraphAnswer(found, len(found), list(first) == [query.subjects[0]] if yes_no else None, relations)

    def verdict(self, query: GraphQuery) -> GraphAnswer:
        """Return whether all subjects meet the conditions."""
        if query.subjects and self.things(query.things).keys() >= set(query.subjects):
            found = self.found(query.things, dict.fromkeys(query.subjects, ""), len(query.subjects))
            return GraphAnswer(found, len(found), True, _distinct(found))
        instead = self._instead(query)
        return GraphAnswer((), 0, False, tuple(instead[:_EACH]), bool(instead))

    def _instead(self, query: GraphQuery) -> list[int]:
        """Return what the graph states instead: other values that the thing has whose value is asked for.

        "Did Wren direct Port Alma?": Port Alma must have a director. That Wren directed others says nothing, unless
        nobody else may be the value: a relation that leads to each thing once ("capital of"), or one step of an order
        that leads the other way.
        """
        relations: list[int] = []
        subjects = distinct(np.array(query.subjects, np.int64))
        for condition in query.things.conditions:
            if condition.steps and not condition.negated:
                step, before = condition.steps[-1], self.layers(condition)[-2]
                if step.direction != "backward":
                    relations += self._edges(before, step)[2].tolist()
                if step.direction != "forward":
                    relations += self._edges(subjects, _turned(step))[2].tolist()
                if step.direction == "backward" and not relations and self._once(step):
                    relations += self._edges(before, step)[2].tolist()
                if step.through == step.predicates and not relations:
                    relations += self._to(before, _turned(step), subjects.tolist().__contains__)
        for bound in query.things.bounds:
            relations += self._edges(subjects, bound.step)[2].tolist() if bound.step else []
        return list(dict.fromkeys(relations))

    def _once(self, step: PredicateStep) -> bool:
        """Return whether a predicate leads to each thing once, in all but a few of many statements."""
        ends = self._ends(PredicateStep(step.predicates))
        return len(ends) >= _MANY and len(np.unique(ends)) >= _ONCE * len(ends)

    # Evidence

    def found(self, wanted: Things, sought: dict[int, str], cited: int) -> tuple[FoundEntity, ...]:
        """Return the entities, the first `cited` of them with the relations that support them."""
        return tuple(
            FoundEntity(row, self._evidence(wanted, row, value) if place < cited else (), value)
            for place, (row, value) in enumerate(sought.items())
        )

    def _evidence(self, wanted: Things, row: int, value: str = "") -> tuple[int, ...]:
        relations: list[int] = []
        for condition in wanted.conditions:
            if not condition.negated:
                relations += self._back(condition, row)
        for bound in wanted.bounds:
            relations += self._to(np.array([row]), bound.step, self._meeting(bound))
        if wanted.order:
            relations += self._to_value(row, wanted.order, value)
        return tuple(dict.fromkeys(relations))

    def _to_value(self, row: int, order: Order, value: str) -> tuple[int, ...]:
        start = np.array([row])
        if order.counted and order.step:
            return tuple(self._edges(start, order.step)[2].tolist()[:_EACH])
        return tuple(self._to(start, order.step, lambda end: self._graph.names[end] == value))

    def _back(self, condition: Condition, row: int) -> list[int]:
        """Return the relations of one path from a condition's start to an entity, in path order."""
        relations: list[int] = []
        for step, before in zip(condition.steps[::-1], self.layers(condition)[-2::-1], strict=True):
            row, taken = self._joined(row, step, before)
            relations += taken
        start = condition.start
        return [*(self._evidence(start, row) if isinstance(start, Things) else ()), *relations[::-1]]

    def _to(self, start: Ints, step: PredicateStep | None, wanted: Callable[[int], bool]) -> list[int]:
        """Return the relations along a step to a wanted entity; empty if there is none."""
        ends = [end for end in self.walk(start, (step,))[-1].tolist() if wanted(end)] if step else []
        return self._joined(ends[0], step, start)[1][::-1] if step and ends else []

    def _joined(self, row: int, step: PredicateStep, starts: Ints) -> tuple[int, list[int]]:
        """Return the start of a step that led to an entity, and the relations on the shortest way back to it."""
        turned = _turned(step)
        own, through = PredicateStep(step.predicates, turned.direction), PredicateStep(step.through, turned.direction)
        upward = step.direction == "backward" and bool(step.through)
        first = through if not upward else own  # backward, the step's own edge is the last of the step
        ways: dict[int, list[int]] = {row: []}
        frontier = [row]
        while frontier:
            for at in frontier:
                _, ends, taken = self._edges(np.array([at]), own)
                kept = np.flatnonzero(np.isin(ends, starts)) if not upward else ends[:0]
                if len(kept):
                    return int(ends[kept[0]]), [*ways[at], int(taken[kept[0]])]
                if upward and ways[at] and at in starts:
                    return at, ways[at]
            further: dict[int, list[int]] = {}
            for at in frontier:
                _, ends, taken = self._edges(np.array([at]), first)
                for end, relation in zip(ends.tolist(), taken.tolist(), strict=True):
                    if end not in ways or end == row:
                        further.setdefault(end, [*ways[at], relation])
            first = through
            frontier = [end for end in further if end not in ways or not ways[end]]
            ways |= further
        raise AssertionError("the step led to the entity")


def _first(ranked: dict[int, tuple[float, str]], order: Order) -> dict[int, str]:
    """Return the entities of the rank that counts with their texts, ascending."""
    keys = sorted({key for key, _ in ranked.values()}, reverse=order.descending)
    wanted = keys[order.rank - 1 : order.rank]
    return {row: text for row, (key, text) in sorted(ranked.items()) if key in wanted}


def _turned(step: PredicateStep) -> PredicateStep:
    opposite: dict[Direction, Direction] = {"forward": "backward", "backward": "forward", "either": "either"}
    return PredicateStep(step.predicates, opposite[step.direction], step.through)


def _distinct(found: Sequence[FoundEntity]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(relation for each in found for relation in each.relations))


_COMPARISONS: dict[Comparison, Callable[[tuple[float, float], tuple[float, float]], bool]] = {
    "less": lambda mine, asked: mine[1] < asked[0],
    "more": lambda mine, asked: mine[0] > asked[1],
    "at_least": lambda mine, asked: mine[0] >= asked[0],
    "at_most": lambda mine, asked: mine[1] <= asked[1],
}


def _scale(literals: Iterable[Literal | None]) -> Callable[[Literal], float | None] | None:
    """Return the sort key of literals on their most frequent scale (kind and unit); None if there are no literals."""
    uses: dict[tuple[str, str], int] = {}
    for literal in literals:
        if literal is not None:
            uses[literal.kind, literal.unit] = uses.get((literal.kind, literal.unit), 0) + 1
            if literal.day:
                uses["time", ""] = uses.get(("time", ""), 0)
    if not uses:
        return None
    kind, unit = max(uses, key=lambda scale: (uses[scale], scale))
    if kind == "number" and uses.get(("time", "")):  # years mixed with dates
        kind = "time"

    def key(literal: Literal) -> float | None:
        if (literal.kind, literal.unit) == (kind, unit):
            return literal.low
        return literal.day[0] if kind == "time" and literal.day else None

    return key
