"""Requests for pages of mapped arrays, distinct values, and sorting by columns."""

from pathlib import Path

import numpy as np
from conspectus.storage import arrays
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst


def columns_of(length: int) -> "st.SearchStrategy[np.typing.NDArray[np.integer]]":
    """Columns of whole numbers or of fractions: some of few values, some of all that their type has."""
    small = npst.arrays(np.int64, length, elements=st.integers(-2, 2))
    large = npst.integer_dtypes().flatmap(lambda kind: npst.arrays(kind, length))
    return small | large | npst.arrays(np.float64, length, elements=st.sampled_from([-1.5, 0.0, 2.5]))


LENGTH, WIDTH = 40_000, 450
"""Of an array of 72 MB, whose rows are not a whole number to a page."""


def test_ranges_of_a_mapped_array_are_asked_for_and_an_array_in_memory_is_left(tmp_path: Path) -> None:
    whole = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float32, (LENGTH, WIDTH))
    whole[::7] = 3
    rows = np.array([LENGTH - 1, 0, 7, 7])
    for array in (np.load(tmp_path / "a.npy", mmap_mode="r"), np.array(whole)):
        arrays.read_ahead(array, rows, rows + 1)
        arrays.read_ahead(array, np.zeros(1, np.int64), np.array([LENGTH]))
        arrays.read_ahead(array, np.array([LENGTH]), np.array([LENGTH]))
        np.testing.assert_array_equal(array[rows], whole[rows])


@given(npst.arrays(npst.integer_dtypes() | npst.unsigned_integer_dtypes(), npst.array_shapes(max_dims=2, min_side=0)))
def test_distinct_values_are_those_of_numpy(values: np.typing.NDArray[np.integer]) -> None:
    found = arrays.distinct(values)
    np.testing.assert_array_equal(found, np.unique(values))
    assert found.dtype == values.dtype


@given(st.integers(0, 40).flatmap(lambda n: st.lists(columns_of(n), min_size=1, max_size=4)))
def test_runs_are_those_of_a_stable_sort_by_columns(columns: "list[np.typing.NDArray[np.integer]]") -> None:
    order, starts = arrays.runs(*columns)
    np.testing.assert_array_equal(order, np.lexsort(columns[::-1]))
    rows = list(zip(*(column[order].tolist() for column in columns), strict=True))
    assert starts.tolist() == [place for place, row in enumerate(rows) if not place or row != rows[place - 1]]
