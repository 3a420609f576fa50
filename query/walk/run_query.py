"""Execute a structured query over the arrays of the graph, and collect the relations that support each answer."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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


def run(
    graph: KnowledgeGraph, query: GraphQuery, types: Sequence[Sequence[str]] = (), cited: int = _CITED
) -> GraphAnswer:
    """Execute a query.

    Args:
        graph: The graph.
        query: The query. Predicates that the graph lacks match nothing.
        types: The types of each entity, if the query names types.
        cited: Number of entities whose supporting relations are collected.

    Returns:
        The answer. If nothing meets the query, it has no entities, and `unmet` contains the condition that failed.
    """
    execution = _Execution(graph, types)
    if query.form == "compare" or (query.form == "yes_no" and query.things.order and len(query.subjects) > 1):
        return execution.compared(query)
    if query.form == "yes_no":
        return execution.verdict(query)
    sought = execution.things(query.things)
    found = execution.found(query.things, sought, cited)
    return GraphAnswer(found, len(sought.rows), None, _distinct(found), bool(len(sought.rows)), tuple(sought.unmet))


def reached(graph: KnowledgeGraph, start: Iterable[int], steps: Sequence[PredicateStep]) -> Ints:
    """Return the rows of the entities that steps lead to from the start entities, ascending."""
    execution = _Execution(graph, ())
    return execution.walk(distinct(np.fromiter(start, np.int64)), steps)[-1]


@dataclass(frozen=True, slots=True)
class _Sought:
    """The rows of the entities in order, the literal of each ("" for none), and the conditions that failed."""

    rows: Ints
    values: Sequence[str]
    unmet: list[Condition | Bound | Order]


class _Execution:
    """One run of a query; the entities of each condition are computed once."""

    def __init__(self, graph: KnowledgeGraph, types: Sequence[Sequence[str]]) -> None:
        self._graph = graph
        self._types = types
        self._layers: dict[Condition, list[Ints]] = {}

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self._graph.predicates)}

    # Sets of entities

    def things(self, wanted: Things) -> _Sought:
        """Return the entities that meet all conditions, in order."""
        unmet: list[Condition | Bound | Order] = []
        rows: Ints | None = None
        for condition in sorted(wanted.conditions, key=lambda each: each.negated):
            reached_ = self.layers(condition)[-1]
            if not condition.negated and not len(reached_):
                unmet.append(condition)
            if rows is None:
                rows = np.arange(self._graph.n_entities) if condition.negated else reached_
            rows = rows[np.isin(rows, reached_, invert=condition.negated)]
            if not len(rows) and not unmet:
                unmet.append(condition)
        if rows is None:
            rows = np.arange(self._graph.n_entities)
        if wanted.types:
            keys = {name.casefold() for name in wanted.types}
            rows = np.array([row for row in rows if keys & {name.casefold() for name in self._types[row]}], np.int64)
        values: dict[int, str] = {}
        for bound in wanted.bounds:
            rows, values = self._bounded(rows, bound)
            if not len(rows) and not unmet:
                unmet.append(bound)
        if wanted.order is None:
            last = None if wanted.limit is None else wanted.offset + wanted.limit
            rows = rows[wanted.offset : last]
            return _Sought(rows, [values.get(int(row), "") for row in rows], unmet)
        return self._ordered(rows, wanted, unmet)

    def layers(self, condition: Condition) -> list[Ints]:
        """Return the start entities of a condition, and the entities reached by each of its steps."""
        if condition not in self._layers:
            start = condition.start
            if start is None:
                self._layers[condition] = self.walk(None, condition.steps)
            else:
                rows = self.things(start).rows if isinstance(start, Things) else np.array(start, np.int64)
                self._layers[condition] = self.walk(distinct(rows), condition.steps)
        return self._layers[condition]

    def walk(self, start: Ints | None, steps: Sequence[PredicateStep]) -> list[Ints]:
        """Return the start entities and those reached by each step, ascending; a start of None is any entity."""
        found = [np.arange(self._graph.n_entities) if start is None else start]
        for number, step in enumerate(steps):
            anywhere = start is None and number == 0
            rows = found[-1] if step.direction == "forward" or anywhere else self.closed(found[-1], step)
            _, ends, _ = self._everywhere(step) if anywhere else self._edges(rows, step)
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

    def _everywhere(self, step: PredicateStep) -> tuple[Ints, Ints, Ints]:
        graph = self._graph
        relations = np.flatnonzero(np.isin(graph.stated, self._predicates(step)))
        forward = graph.sources[relations], graph.targets[relations], relations
        backward = forward[1], forward[0], relations
        if step.direction == "either":
            return tuple(np.concatenate(pair) for pair in zip(forward, backward, strict=True))  # type: ignore[return-value]
        return forward if step.direction == "forward" else backward

    def _predicates(self, step: PredicateStep) -> Ints:
        return np.array([self._numbers[text] for text in step.predicates if text in self._numbers], np.int64)

    # Literals

    def _literals(self, rows: Ints, steps: Sequence[PredicateStep]) -> tuple[Ints, Ints]:
        """Return pairs of an entity and an entity that the steps lead to from it, as two arrays."""
        at, ends = rows, rows
        for step in steps:
            where, to, _ = self._edges(np.unique(ends), step)
            order = np.argsort(where, kind="stable")
            where, to = where[order], to[order]
            first = np.searchsorted(where, ends, "left")
            counts = np.searchsorted(where, ends, "right") - first
            entries = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
            at, ends = np.repeat(at, counts), to[entries]
        return at, ends

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

    def _bounded(self, rows: Ints, bound: Bound) -> tuple[Ints, dict[int, str]]:
        meets = self._meeting(bound)
        at, ends = self._literals(rows, bound.steps)
        right = {end for end in np.unique(ends).tolist() if meets(end)}
        values = {
            thing: self._graph.names[end]
            for thing, end in zip(at.tolist()[::-1], ends.tolist()[::-1], strict=True)
            if end in right
        }
        return np.array(sorted(values), np.int64), values

    def _ordered(self, rows: Ints, wanted: Things, unmet: list[Condition | Bound | Order]) -> _Sought:
        order = wanted.order
        assert order is not None
        ranked = self._ranked(rows, order)
        if len(rows) and not ranked and not unmet:
            unmet.append(order)
        ranks = sorted({key for key, _ in ranked.values()}, reverse=order.descending)
        last = None if wanted.limit is None else wanted.offset + wanted.limit
        place = {key: number for number, key in enumerate(ranks[wanted.offset : last])}
        chosen = sorted((place[key], row, text) for row, (key, text) in ranked.items() if key in place)
        return _Sought(np.array([row for _, row, _ in chosen], np.int64), [text for *_, text in chosen], unmet)

    def _ranked(self, rows: Ints, order: Order) -> dict[int, tuple[float, str]]:
        """Return the sort key and its text for each entity that has one. Literals use the most frequent scale."""
        at, ends = self._literals(rows, order.steps)
        if order.by == "count":
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
        keys = [ranked.get(row) for row in query.subjects]
        known = all(key is not None for key in keys)
        both = [self._to_value(row, order, ranked[row][1]) for row in query.subjects if row in ranked]
        relations = tuple(dict.fromkeys(chain.from_iterable(both)))
        if not known:
            verdict = None if query.form == "compare" else False
            return GraphAnswer((), 0, verdict, relations, False, (order,))
        best = (max if order.descending else min)(key[0] for key in keys if key)
        first = tuple(
            FoundEntity(row, self._to_value(row, order, ranked[row][1]), ranked[row][1])
            for row in query.subjects
            if ranked[row][0] == best
        )
        verdict = first[0].entity == query.subjects[0] and len(first) == 1
        return GraphAnswer(first, len(first), verdict if query.form == "yes_no" else None, relations)

    def verdict(self, query: GraphQuery) -> GraphAnswer:
        """Return whether all subjects meet the conditions."""
        sought = self.things(query.things)
        among = np.isin(np.array(query.subjects, np.int64), sought.rows)
        holds = bool(len(among)) and bool(among.all())
        if holds:
            kept = _Sought(np.array(query.subjects, np.int64), [""] * len(query.subjects), [])
            found = self.found(query.things, kept, len(query.subjects))
            return GraphAnswer(found, len(found), True, _distinct(found))
        instead = self._instead(query)
        return GraphAnswer((), 0, False, tuple(instead[:_EACH]), bool(instead), tuple(sought.unmet))

    def _instead(self, query: GraphQuery) -> list[int]:
        """Return what the graph states instead: other values that the thing has whose value is asked for.

        "Did Wren direct Port Alma?": Port Alma must have a director. That Wren directed others says nothing, unless
        nobody else may be the value: a relation that leads to each thing once ("capital of"), or one step of an order
        that leads the other way.
        """
        relations: list[int] = []
        for condition in query.things.conditions:
            if condition.steps and not condition.negated:
                step, before = condition.steps[-1], self.layers(condition)[-2]
                subjects = distinct(np.array(query.subjects, np.int64))
                if step.direction != "backward":
                    relations += self._edges(before, PredicateStep(step.predicates, step.direction))[2].tolist()
                if step.direction != "forward":
                    relations += self._edges(subjects, PredicateStep(step.predicates, _turned(step).direction))[
                        2
                    ].tolist()
                if step.direction == "backward" and not relations and self._once(step):
                    relations += self._edges(before, step)[2].tolist()
                if step.through == step.predicates and not relations:
                    relations += self._path(before, [_turned(step)], subjects.tolist().__contains__)
        for bound in query.things.bounds:
            for row in query.subjects:
                relations += self._path(np.array([row]), bound.steps, None)
        return list(dict.fromkeys(relations))

    def _once(self, step: PredicateStep) -> bool:
        """Return whether a predicate leads to each thing once, in all but a few of many statements."""
        _, ends, _ = self._everywhere(PredicateStep(step.predicates))
        return len(ends) >= _MANY and len(np.unique(ends)) >= _ONCE * len(ends)

    # Evidence

    def found(self, wanted: Things, sought: _Sought, cited: int) -> tuple[FoundEntity, ...]:
        """Return the entities, the first `cited` of them with the relations that support them."""
        rows = sought.rows.tolist()
        return tuple(
            FoundEntity(
                row, self._evidence(wanted, row, sought.values[place]) if place < cited else (), sought.values[place]
            )
            for place, row in enumerate(rows)
        )

    def _evidence(self, wanted: Things, row: int, value: str) -> tuple[int, ...]:
        relations: list[int] = []
        for condition in wanted.conditions:
            if not condition.negated:
                relations += self._back(condition, row)
        for bound in wanted.bounds:
            relations += self._path(np.array([row]), bound.steps, self._meeting(bound))
        if wanted.order:
            relations += self._to_value(row, wanted.order, value)
        return tuple(dict.fromkeys(relations))

    def _to_value(self, row: int, order: Order, value: str) -> tuple[int, ...]:
        if order.by == "count":
            _, _, relations = self._edges(np.array([row]), order.steps[0]) if order.steps else (None, None, np.zeros(0))
            return tuple(relations.tolist()[:_EACH])
        return tuple(self._path(np.array([row]), order.steps, lambda end: self._graph.names[end] == value))

    def _back(self, condition: Condition, row: int) -> list[int]:
        """Return the relations of one path from a condition's start to an entity, in path order."""
        layers = self.layers(condition)
        relations: list[int] = []
        for depth in range(len(condition.steps), 0, -1):
            row, taken = self._joined(row, condition.steps[depth - 1], layers[depth - 1])
            relations += taken
        if isinstance(condition.start, Things):
            inner = self.things(condition.start)
            place = inner.rows.tolist().index(row)
            return [*self._evidence(condition.start, row, inner.values[place]), *relations[::-1]]
        return relations[::-1]

    def _path(self, start: Ints, steps: Sequence[PredicateStep], wanted: Callable[[int], bool] | None) -> list[int]:
        """Return the relations of one path along the steps to a wanted entity; empty if there is none."""
        layers = self.walk(start, steps)
        ends = [end for end in layers[-1].tolist() if wanted is None or wanted(end)]
        if not ends or not steps:
            return []
        relations: list[int] = []
        row = ends[0]
        for depth in range(len(steps), 0, -1):
            row, taken = self._joined(row, steps[depth - 1], layers[depth - 1])
            relations += taken
        return relations[::-1]

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


def _turned(step: PredicateStep) -> PredicateStep:
    opposite: dict[Direction, Direction] = {"forward": "backward", "backward": "forward", "either": "either"}
    return PredicateStep(step.predicates, opposite[step.direction], step.through)


def _distinct(found: Sequence[FoundEntity]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(relation for each in found for relation in each.relations))


_COMPARISONS: dict[Comparison, Callable[[tuple[float, float], tuple[float, float]], bool]] = {
    "before": lambda mine, asked: mine[1] < asked[0],
    "less": lambda mine, asked: mine[1] < asked[0],
    "after": lambda mine, asked: mine[0] > asked[1],
    "more": lambda mine, asked: mine[0] > asked[1],
    "equal": lambda mine, asked: mine[0] <= asked[1] and mine[1] >= asked[0],
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
