"""Requests for pages of mapped arrays, distinct values, and sorting by columns."""

import mmap

import numpy as np
import pytest
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


@given(st.lists(st.integers(0, LENGTH - 1), max_size=60), st.integers(1, 3000))
def test_all_pages_of_the_ranges_are_asked_for_and_few_others(places: list[int], length: int) -> None:
    array = np.zeros((LENGTH, WIDTH), np.float32)
    asked: list[tuple[int, int]] = []
    first = np.array(places, np.int64)
    last = np.minimum(first + length, LENGTH)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrays, "_madvise", lambda: lambda start, size, advice: asked.append((start, size)))
        arrays.read_ahead(array, first, last)
    begin, row, page = array.ctypes.data, 4 * WIDTH, mmap.PAGESIZE
    needed = {
        number
        for a, b in zip(first.tolist(), last.tolist(), strict=True)
        for number in range((begin + a * row) // page, (begin + b * row - 1) // page + 1)
    }
    pages = [number for start, size in asked for number in range(start // page, (start + size) // page)]
    assert all(start % page == 0 and 0 < size <= 64 * page for start, size in asked)
    assert len(pages) == len(set(pages))
    assert needed <= set(pages)
    assert len(pages) <= len(needed) + 16 * max(len(places) - 1, 0)


def test_the_system_takes_the_requests(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("mapped") / "a.npy"
    whole = np.lib.format.open_memmap(path, "w+", np.float32, (LENGTH, WIDTH))
    whole[::7] = 3
    mapped = np.load(path, mmap_mode="r")
    rows = np.array([LENGTH - 1, 0, 7, 7])
    arrays.read_ahead(mapped, rows, rows + 1)
    np.testing.assert_array_equal(mapped[rows], whole[rows])


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
