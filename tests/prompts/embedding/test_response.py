import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from conspectus.prompts.client.retry import TryAgain
from conspectus.prompts.embedding.response import read_vectors
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

NUMBERS = st.floats(-1e3, 1e3, width=32).map(lambda x: x if abs(x) > 1e-3 else 1.0)


def coded(vector: np.ndarray) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


@given(arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 6)), elements=NUMBERS), st.randoms())
def test_floats_and_base64_in_any_order_are_the_same_unit_rows(rows: np.ndarray, chance: Any) -> None:  # noqa: ANN401
    floats = [{"index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]
    codes = [{"index": i, "embedding": coded(row)} for i, row in enumerate(rows)]
    chance.shuffle(codes)
    found = read_vectors({"data": floats}, len(rows)).rows
    np.testing.assert_array_equal(read_vectors({"data": codes}, len(rows)).rows, found)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(found * np.linalg.norm(rows, axis=1, keepdims=True), rows, rtol=1e-5, atol=1e-3)


def test_rows_without_an_index_come_as_they_are() -> None:
    found = read_vectors({"data": [{"embedding": [0, 2]}, {"embedding": [3, 0]}]}, 2)
    assert found.rows.tolist() == [[0, 1], [1, 0]]
    assert found.tokens is None


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 7, "total_tokens": 7}, 7),
        ({"total_tokens": 9}, 9),
        ({"prompt_tokens": 0, "total_tokens": 0}, None),
        ({"prompt_tokens": "7"}, None),
        ([], None),
    ],
)
def test_the_tokens_are_the_server_s(usage: object, tokens: int | None) -> None:
    assert read_vectors({"data": [{"embedding": [1]}], "usage": usage}, 1).tokens == tokens


ROW = {"index": 0, "embedding": [1.0, 0.0]}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "without vectors"),
        ({"error": {"message": "no"}}, "without vectors"),
        ({"data": [1, 2]}, "without vectors"),
        ({"data": [ROW]}, "1 vectors for 2 texts"),
        ({"data": [ROW, ROW]}, "indices are not those"),
        ({"data": [ROW, {**ROW, "index": 2}]}, "indices are not those"),
        ({"data": [ROW, {**ROW, "index": True}]}, "indices are not those"),
        ({"data": [ROW, {"embedding": [1.0, 0.0]}]}, "indices are not those"),
        ({"data": [ROW, {"index": 1, "embedding": [1.0]}]}, "several lengths"),
        ({"data": [ROW, {"index": 1, "embedding": [0.0, 0.0]}]}, "without a direction"),
        ({"data": [ROW, {"index": 1, "embedding": [float("nan"), 0.0]}]}, "without a direction"),
        ({"data": [ROW, {"index": 1, "embedding": [float("inf"), 0.0]}]}, "without a direction"),
        ({"data": [ROW, {"index": 1, "embedding": [1.0, None]}]}, "without a direction"),
        ({"data": [ROW, {"index": 1, "embedding": ["x", 0.0]}]}, "cannot be read"),
        ({"data": [ROW, {"index": 1, "embedding": "AAA"}]}, "cannot be read"),
        ({"data": [ROW, {"index": 1, "embedding": "AAAAAA=="}]}, "several lengths"),
        ({"data": [ROW, {"index": 1, "embedding": "AAAA"}]}, "cannot be read"),
        ({"data": [ROW, {"index": 1, "embedding": [[1.0, 0.0]]}]}, "no list of numbers"),
        ({"data": [ROW, {"index": 1, "embedding": []}]}, "no list of numbers"),
        ({"data": [ROW, {"index": 1, "embedding": {}}]}, "cannot be read"),
        ({"data": [ROW, {"index": 1}]}, "no list of numbers"),
    ],
)
def test_what_is_not_right_is_asked_for_again(body: Mapping[str, Any], says: str) -> None:
    with pytest.raises(TryAgain, match=says) as caught:
        read_vectors(body, 2)
    assert caught.value.taken
