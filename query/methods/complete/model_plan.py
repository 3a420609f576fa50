"""A language model makes the plan, which is checked against the set before it is run."""

from collections.abc import Sequence
from typing import Literal

from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.methods.complete.conditions import (
    Condition,
    Plan,
    Test,
    Unclear,
    merged,
    of_cells,
    of_days,
    of_numbers,
)
from conspectus.query.methods.complete.sets import Table
from conspectus.query.methods.complete.values import day_of, number_in
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel

STEP = "plan"
_MOST_SETS = 20
_MOST_COLUMNS = 30
_EXAMPLES = 4
_LONGEST = 40


class ConditionReply(BaseModel):
    """A condition as a model states it."""

    column: str
    test: Literal["is", "is not", "above", "at least", "below", "at most"]
    value: str


class PlanReply(BaseModel):
    """A plan as a model states it; `set` is 0 if no set has what is asked for."""

    reasoning: str = ""
    set: int
    operation: Literal["list", "count", "sum", "mean", "max", "min"]
    measure: str = ""
    values_of: str = ""
    group: str = ""
    best: Literal["", "max", "min"] = ""
    conditions: list[ConditionReply] = []


async def plan_by_model(model: LanguageModel, question: str, tables: Sequence[Table]) -> Plan:
    """Return the plan that a model makes.

    Args:
        model: The model; it is asked once, and once more if its reply cannot be read.
        question: The question.
        tables: The sets that there are; the first twenty are shown.

    Raises:
        ModelError: The call fails.
        BadAnswer: The reply is no plan.
        Unclear: The plan names what no set has, or takes numbers of a column that has others.
    """
    shown = tables[:_MOST_SETS]
    prompt = messages(
        "query/complete_plan", sets="\n".join(map(_described, range(1, 1 + len(shown)), shown)), question=question
    )
    reply = await ask_for(model, Request(prompt, STEP), PlanReply)
    if not 1 <= reply.set <= len(shown):
        raise Unclear("the model says that no set has it")
    table = shown[reply.set - 1]
    measure = _column(table, reply.measure) if reply.measure else None
    ordered = reply.operation in ("max", "min")
    numbers = measure is not None and (table.numbers[measure] or (ordered and table.days[measure]))
    if not numbers and (ordered or reply.operation in ("sum", "mean")):
        raise Unclear(f"{reply.operation} of {reply.measure or 'no column'} cannot be computed")
    return Plan(
        table,
        reply.operation,
        merged(table, [_condition(table, each) for each in reply.conditions]),
        measure=measure,
        target=_column(table, reply.values_of) if reply.values_of else None,
        group=_column(table, reply.group) if reply.group else None,
        best=reply.best or None,
    )


def _described(number: int, table: Table) -> str:
    """Return a set for the prompt: its number, names, rows, and columns with examples."""
    columns = (
        f"    {column.name}: {', '.join(cell[:_LONGEST] for cell in column.cells[:_EXAMPLES])}"
        for column in table.columns[:_MOST_COLUMNS]
    )
    return "\n".join([f"{number}. {', '.join(table.names[:3])} ({len(table)} {table.kind})", *columns])


def _column(table: Table, name: str) -> int:
    found = [at for at, column in enumerate(table.columns) if entity_key(column.name) == entity_key(name)]
    if len(found) != 1:
        raise Unclear(f"the model names the column {name[:_LONGEST]!r}, which the set does not have")
    return found[0]


_TESTS: dict[str, Test] = {"above": "above", "at least": "at least", "below": "below", "at most": "at most"}


def _condition(table: Table, reply: ConditionReply) -> Condition:
    column = _column(table, reply.column)
    numbers, days = table.numbers[column], table.days[column]
    test = _TESTS.get(reply.test, "exactly")
    negated = reply.test == "is not"
    if days and not negated and (day := day_of(reply.value) or _year(reply.value)):
        return of_days(table, column, test, [day], reply.value)
    if numbers and not negated and (number := number_in(reply.value, numbers.decimal)) is not None:
        return of_numbers(table, column, test, [number], reply.value)
    cells = [at for at, cell in enumerate(table.columns[column].cells) if entity_key(cell) == entity_key(reply.value)]
    if not cells or reply.test not in ("is", "is not"):
        raise Unclear(f"no cell of {reply.column} is {reply.value[:_LONGEST]!r}")
    return of_cells(table, column, cells, negated=negated)


def _year(text: str) -> tuple[int, int] | None:
    first, last = day_of(f"{text}-01-01"), day_of(f"{text}-12-31")
    return (first[0], last[1]) if first and last else None
