"""Plans over a set: the conditions on its rows, and exact numbers over the rows that meet them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from typing import Literal, get_args

import numpy as np
from conspectus.query.methods.complete.sets import Table
from conspectus.query.methods.complete.values import Days
from conspectus.storage.arrays import Bools, Ints
from conspectus.storage.cancellation import check

Operation = Literal["list", "count", "sum", "mean", "max", "min", "columns"]
"""What is done with the rows of a plan."""
Test = Literal["above", "at least", "below", "at most", "exactly", "after", "since", "before", "between"]
TESTS: tuple[Test, ...] = get_args(Test)
_SIGNS = dict(zip(TESTS, "> ≥ < ≤ = > ≥ < =".split(), strict=True))
_MOST_SAID = 3
"""Cells of a condition that are named."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: the numbers of the cells of a column that a row may have, and the condition in words."""

    column: int
    cells: frozenset[int]
    said: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What is computed.

    Attributes:
        table: The set.
        operation: The operation.
        conditions: The conditions that all rows meet.
        mentions: The words that the text of each row has, for questions of what is mentioned.
        measure: The column that is added, averaged or compared; None for counts and lists.
        target: The column whose distinct values are listed or counted; None for the rows themselves.
        group: The column by whose values the rows are taken apart.
        best: The group that is asked for: the one with the largest ("max") or the smallest result.
        matched: The number of words that name something of the set; those that name the set itself count twice.
        subject: The column that "which kettle" asks for.
    """

    table: Table
    operation: Operation
    conditions: tuple[Condition, ...] = ()
    mentions: tuple[str, ...] = ()
    measure: int | None = None
    target: int | None = None
    group: int | None = None
    best: Literal["max", "min"] | None = None
    matched: int = 0
    subject: int | None = None


@dataclass(frozen=True, slots=True)
class NoPlan:
    """Why a question has no plan over a set.

    Attributes:
        why: The reason.
        matched: The number of its words that name something of the set.
        computes: Whether it asks for a number of the set, and all its words are known: another method would guess.
        beyond: Whether no rows of the set can answer it, whatever its other words mean.
    """

    why: str
    matched: int = 0
    computes: bool = False
    beyond: bool = False


class Unclear(Exception):
    """A question has no plan; the message says why."""


def of_cells(table: Table, column: int, cells: Iterable[int], *, negated: bool = False) -> Condition:
    """Return the condition that a row has one of some cells, or another cell than these."""
    known, wanted = table.columns[column].cells, frozenset(cells)
    said = " / ".join(known[cell] for cell in sorted(wanted)) if len(wanted) <= _MOST_SAID else f"{len(wanted)} …"
    passing = frozenset(range(len(known))) - wanted if negated else wanted
    return Condition(column, passing, f"{table.columns[column].name} {'≠' if negated else '='} {said}")


def of_numbers(table: Table, column: int, test: Test, wanted: Sequence[Decimal], said: str) -> Condition:
    """Return the condition that the number in a column passes a test; "between" has two numbers.

    Raises:
        Unclear: The cells of the column are not all numbers.
    """
    numbers = table.numbers[column]
    if numbers is None:
        raise Unclear(f"{table.columns[column].name} has not only numbers")
    ends = min(wanted), max(wanted)
    cells = (
        cell for cell, number in enumerate(numbers.of) if number is not None and _passes(test, (number,) * 2, ends)
    )
    return Condition(column, frozenset(cells), f"{table.columns[column].name} {_SIGNS[test]} {said}")


def of_days(table: Table, column: int, test: Test, wanted: Sequence[Days], said: str) -> Condition:
    """Return the condition that the date in a column passes a test.

    Raises:
        Unclear: The cells of the column are not all dates, or less exact than the question.
    """
    days = table.days[column]
    if days is None:
        raise Unclear(f"{table.columns[column].name} has not only dates")
    ends = min(first for first, _ in wanted), max(last for _, last in wanted)
    if any(own and own[0] < end <= own[1] for own in days for end in (ends[0], ends[1] + 1)):
        raise Unclear(f"{said} is more exact than the dates of {table.columns[column].name}")
    cells = (cell for cell, own in enumerate(days) if own and _passes(test, own, ends))
    return Condition(column, frozenset(cells), f"{table.columns[column].name} {_SIGNS[test]} {said}")


def _passes(test: Test, own: tuple[int | Decimal, int | Decimal], wanted: tuple[int | Decimal, int | Decimal]) -> bool:
    """Return whether a value passes a test; values and dates have a first and a last."""
    if test in ("above", "after"):
        return own[0] > wanted[1]
    if test in ("at least", "since"):
        return own[0] >= wanted[0]
    if test in ("below", "before"):
        return own[1] < wanted[0]
    return own[1] <= wanted[1] and (test == "at most" or own[0] >= wanted[0])


def merged(table: Table, conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return conditions, those of cells of one column as one: a row has one of these cells.

    Parts of names that some cells have in common ("locker", "669") name these.
    """
    found: dict[int, Condition] = {}
    for each in conditions:
        other = found.get(each.column)
        if other is None:
            found[each.column] = each
        elif " = " in other.said and " = " in each.said:
            both = of_cells(table, each.column, other.cells & each.cells or other.cells | each.cells)
            said = f"{other.said} / {each.said.partition(' = ')[2]}" if table.days[each.column] else both.said
            found[each.column] = replace(both, said=said)
        else:
            found[each.column] = Condition(each.column, other.cells & each.cells, f"{other.said}, {each.said}")
    return tuple(found.values())


_DIGITS = 60
"""Digits of sums and quotients: more than a sum of a million numbers of 30 digits has."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that are computed together.

    Attributes:
        cell: The number of the cell of the column of groups; None if all rows are one group.
        rows: The rows with a value, ascending.
        number: The result; None for a list.
    """

    cell: int | None
    rows: Ints
    number: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a plan.

    Attributes:
        rows: The rows that meet the conditions, ascending.
        groups: The groups, those asked for only; one for a plan without groups.
        without: The number of the rows that have no value in the column that is computed with.
        compared: The number of groups of which the best were taken.
    """

    rows: Ints
    groups: tuple[Group, ...]
    without: int = 0
    compared: int = 0


def compute(plan: Plan, mentioning: Bools | None = None) -> Result:
    """Return the result of a plan.

    Args:
        plan: The plan.
        mentioning: Which rows have the words of `plan.mentions` in their texts.
    """
    table = plan.table
    kept = np.ones(len(table), np.bool_) if mentioning is None else mentioning
    for condition in plan.conditions:
        column = table.columns[condition.column]
        passes = np.zeros(len(column.cells) + 1, np.bool_)  # the last is that of the code -1: no cell
        passes[list(condition.cells)] = True
        kept = kept & passes[column.codes]
    rows = np.flatnonzero(kept)
    needed = next((at for at in (plan.target, plan.measure) if at is not None), None)
    valued = rows if needed is None else rows[table.columns[needed].codes[rows] >= 0]
    groups = [_computed(plan, cell, own) for cell, own in _groups(table, plan.group, valued)]
    compared = len(groups)
    if plan.best:
        numbers = [group.number for group in groups if group.number is not None]
        wanted = max(numbers, default=None) if plan.best == "max" else min(numbers, default=None)
        groups = [group for group in groups if group.number == wanted]
    return Result(rows, tuple(groups), len(rows) - len(valued), compared)


def _groups(table: Table, column: int | None, rows: Ints) -> Sequence[tuple[int | None, Ints]]:
    if column is None:
        return [(None, rows)]
    codes = table.columns[column].codes[rows]
    order = np.argsort(codes, kind="stable")
    cells, starts = np.unique(codes[order], return_index=True)
    parts = np.split(rows[order], starts[1:])
    return [(int(cell), part) for cell, part in zip(cells, parts, strict=True) if cell >= 0]


def _computed(plan: Plan, cell: int | None, rows: Ints) -> Group:
    """Return a group with its number; of the highest and the lowest only the rows that have it."""
    table = plan.table
    if plan.operation == "count":
        counted = rows if plan.target is None else np.unique(table.columns[plan.target].codes[rows])
        return Group(cell, rows, Decimal(len(counted)))
    if plan.measure is None or plan.operation in ("list", "columns") or not len(rows):
        return Group(cell, rows)
    codes = table.columns[plan.measure].codes[rows]
    numbers, days = table.numbers[plan.measure], table.days[plan.measure]
    if plan.operation in ("max", "min"):
        ordered: dict[int, Decimal] = {}
        for code in np.unique(codes).tolist():
            value = numbers.of[code] if numbers else days[code] if days else None
            if value is not None:
                ordered[code] = value if isinstance(value, Decimal) else Decimal(value[0])
        wanted = max(ordered.values()) if plan.operation == "max" else min(ordered.values())
        held = [code for code, value in ordered.items() if value == wanted]
        return Group(cell, rows[np.isin(codes, held)], wanted)
    assert numbers is not None
    with localcontext() as exact:
        exact.prec = _DIGITS
        total, count = Decimal(0), 0
        for code, uses in zip(*np.unique(codes, return_counts=True), strict=True):
            check()
            value = numbers.of[int(code)]
            if value is not None:
                total += value * int(uses)
                count += int(uses)
        return Group(cell, rows, total / count if plan.operation == "mean" else total)
