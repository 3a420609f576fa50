import asyncio
from fractions import Fraction

import pytest
from conspectus.query.context import Context
from conspectus.query.methods.baselines import Bm25Retriever, DenseRetriever, HybridRetriever, fuse
from conspectus.query.types import Passage
from hypothesis import given
from hypothesis import strategies as st


def passage(id_: str, score: float = 0.0) -> Passage:
    return Passage(f"document of {id_}", id_, 0, 1, score, "x", "")


def ids(passages: tuple[Passage, ...]) -> list[str]:
    return [each.chunk_id for each in passages]


rankings = st.lists(st.lists(st.sampled_from("abcdef"), unique=True, max_size=6), max_size=4)


@given(rankings)
def test_scores_are_sums_of_reciprocal_ranks(given_ids: list[list[str]]) -> None:
    found = fuse([[passage(id_) for id_ in each] for each in given_ids])
    want = {
        id_: sum(Fraction(1, 61 + each.index(id_)) for each in given_ids if id_ in each)
        for id_ in {id_ for each in given_ids for id_ in each}
    }
    assert {each.chunk_id: each.score for each in found} == pytest.approx({k: float(v) for k, v in want.items()})
    assert [want[id_] for id_ in ids(found)] == sorted(want.values(), reverse=True)


def test_the_retriever_fuses_words_and_meaning(context: Context, questions: list[str]) -> None:
    for question in questions[:5]:
        parts = [
            asyncio.run(retriever.retrieve(question, 100)).passages
            for retriever in (Bm25Retriever(context), DenseRetriever(context))
        ]
        score = {
            id_: sum(1 / (61 + ids(part).index(id_)) for part in parts if id_ in ids(part))
            for id_ in {id_ for part in parts for id_ in ids(part)}
        }
        found = asyncio.run(HybridRetriever(context).retrieve(question, 5)).passages
        assert ids(found) == sorted(score, key=lambda id_: (-score[id_], id_))[:5]
        assert [each.score for each in found] == pytest.approx([score[each.chunk_id] for each in found])
