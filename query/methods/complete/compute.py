"""Compute a plan: the rows that meet its conditions, and exact numbers over them."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np
from conspectus.query.methods.complete.conditions import Plan
from conspectus.query.methods.complete.sets import Table
from conspectus.storage.arrays import Bools, Ints
from conspectus.storage.cancellation import check

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
