import numpy as np
import pytest
from conspectus.pipelines.evaluation.metrics import all_at, bootstrap, rank_documents, recall_at
from hypothesis import given
from hypothesis import strategies as st

names = st.sampled_from("abcdefgh")
rankings = st.lists(names, unique=True)
supports = st.lists(names, min_size=1, max_size=5)


@given(st.integers(0, 9), rankings, supports)
def test_laws(k: int, ranked: list[str], supporting: list[str]) -> None:
    recall, everything = recall_at(k, ranked, supporting), all_at(k, ranked, supporting)
    assert 0 <= recall <= 1
    assert everything == (recall == 1)
    assert recall <= recall_at(k + 1, ranked, supporting)
    assert recall == recall_at(k, ranked, supporting[::-1])
    assert recall * len(set(supporting)) <= k + 1e-9
    assert recall_at(len(ranked), ranked, ranked or ["a"]) == (1.0 if ranked else 0.0)


@given(st.lists(names))
def test_a_document_ranks_where_its_best_passage_does(found: list[str]) -> None:
    ranked = rank_documents(found)
    assert set(ranked) == set(found)
    assert [found.index(each) for each in ranked] == sorted({found.index(each) for each in found})


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.integers(0, 5))
def test_the_interval_covers_the_mean(values: list[float], seed: int) -> None:
    found = bootstrap(values, seed=seed)
    assert found.mean == pytest.approx(np.mean(values))
    assert min(values) - 1e-12 <= found.low <= found.mean + 1e-12
    assert found.mean <= found.high + 1e-12 <= max(values) + 2e-12
    assert found == bootstrap(values, seed=seed)
