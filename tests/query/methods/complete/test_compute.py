"""Exact numbers over columns, in every way of writing them, against fractions."""

from collections import defaultdict
from decimal import Decimal
from fractions import Fraction

import pytest
from conspectus.query.methods.complete.conditions import Operation, Plan, compute, of_numbers
from conspectus.query.methods.complete.sets import Rows, Table
from conspectus.query.methods.complete.values import numbers_of, numbers_of_columns
from hypothesis import given
from hypothesis import strategies as st

STYLES = [(",", "."), (".", ","), (" ", ","), ("'", "."), ("", "."), ("", ",")]
NUMBERS = st.decimals(-(10**12), 10**12, places=2)


def written(number: Decimal, style: tuple[str, str], unit: str = "") -> str:
    thousands, decimal = style
    text = f"{number:,.2f}".replace(",", "_").replace(".", decimal).replace("_", thousands)
    return f"{text} {unit}".strip()


@given(st.lists(NUMBERS, min_size=1), st.sampled_from(STYLES), st.sampled_from(["", "€", "kg"]))
def test_numbers_are_read_as_they_were_written(numbers: list[Decimal], style: tuple[str, str], unit: str) -> None:
    cells = [written(number, style, unit) for number in numbers]
    found = numbers_of(cells)
    assert found is not None
    assert list(found.of) == numbers
    assert found.unit == unit


@pytest.mark.parametrize(
    "cells",
    [
        ["1.234", "5.678"], ["1,234"], ["1,234", "5"], ["1.5", "2,5"], ["1,234.5", "1.234,5"], ["3 kg", "3 g"],
        ["12 EUR", "12 USD"], ["0049"], ["12:30"], ["2024-05-01"], ["1.2.3"], ["12", "closed"], ["1 23"], [""],
    ],
)  # fmt: skip
def test_a_column_whose_numbers_are_not_clear_has_none(cells: list[str]) -> None:
    assert numbers_of(cells) is None


def test_another_column_tells_the_decimal_mark() -> None:
    clear, open_ = numbers_of_columns([["0,5", "12,25"], ["1.234", "5.678"]])
    assert clear is not None
    assert open_ is not None
    assert list(open_.of) == [Decimal(1234), Decimal(5678)]


def table_of(rows: list[tuple[str, Decimal | None]]) -> Table:
    made = Rows("rows")
    for at, (name, number) in enumerate(rows):
        made.add("d", at, at + 1, {"Name": name, "Paid": "" if number is None else written(number, (".", ","))})
    return made.table()


ROWS = st.lists(st.tuples(st.sampled_from("ABC"), st.none() | NUMBERS), min_size=1)


@given(ROWS)
def test_groups_are_computed_exactly(rows: list[tuple[str, Decimal | None]]) -> None:
    table = table_of(rows)
    of_group: defaultdict[str, list[Fraction]] = defaultdict(list)
    for name, number in rows:
        if number is not None:
            of_group[name].append(Fraction(number))
    if not of_group:
        return
    for operation, reference in (("sum", sum), ("max", max), ("min", min), ("count", len)):
        plan = Plan(table, operation, measure=1, group=0)  # type: ignore[arg-type]
        result = compute(plan)
        cells = table.columns[0].cells
        found = {cells[group.cell or 0]: Fraction(group.number or 0) for group in result.groups}
        assert found == {name: reference(numbers) for name, numbers in of_group.items()}  # type: ignore[operator]
        assert result.without == sum(number is None for _, number in rows)


@given(ROWS, NUMBERS, st.sampled_from(["sum", "mean"]))
def test_conditions_choose_the_rows(
    rows: list[tuple[str, Decimal | None]], limit: Decimal, operation: Operation
) -> None:
    table = table_of(rows)
    kept = [Fraction(number) for _, number in rows if number is not None and number > limit]
    if all(number is None for _, number in rows):
        return
    result = compute(Plan(table, operation, (of_numbers(table, 1, "above", [limit], ""),), measure=1))
    assert len(result.rows) == len(kept)
    if kept:
        exact = sum(kept) / (len(kept) if operation == "mean" else 1)
        assert abs(Fraction(result.groups[0].number or 0) - exact) < Fraction(1, 10**30)
