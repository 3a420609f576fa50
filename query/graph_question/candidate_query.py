"""A candidate as a structured query, for running it over the graph and writing it as SPARQL."""

from dataclasses import replace
from functools import partial

from conspectus.query.graph_question.candidates import Candidate, Leg
from conspectus.query.graph_question.meanings import Predicates
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
