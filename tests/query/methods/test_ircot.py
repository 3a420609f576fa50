"""What IRCoT finds over a real index and a real HTTP server, and what counts as a thought."""

import asyncio
from pathlib import Path

import pytest
from conspectus.query.context import Context
from conspectus.query.menu import find_retriever
from conspectus.query.methods.ircot import concludes, first_sentence, scaled
from conspectus.query.types import Passage

from tests.conftest import Build
from tests.query.thinking import CHAIN, PASSAGES, QUESTION, prompts, retrieve, served, shown


@pytest.fixture(scope="module")
def coast(build: Build) -> Context:
    return build(PASSAGES.items())


def test_only_the_first_sentence_counts(coast: Context, tmp_path: Path) -> None:
    """As in the paper: what a model thinks beyond it was thought without the passages that it asks for."""
    with served(coast, tmp_path, [" ".join(CHAIN), "So the answer is: Ostrava."]) as (opened, server):
        retrieve(opened)
    assert shown(prompts(server)[1], "Thoughts so far") == CHAIN[0]


def test_passages_are_kept_by_their_best_score(coast: Context, tmp_path: Path) -> None:
    with served(coast, tmp_path, [CHAIN[1], CHAIN[3]]) as (opened, _):
        found = retrieve(opened, 5)
        base = find_retriever("bm25", opened)
        wanted: dict[str, float] = {}
        for asked in (QUESTION, CHAIN[1]):
            passages = asyncio.run(base.retrieve(asked, 5)).passages
            for each in passages:
                wanted[each.title] = max(wanted.get(each.title, 0.0), each.score / passages[0].score)
    best = sorted(wanted.values(), reverse=True)[:5]
    assert [each.score for each in found.passages] == pytest.approx(best)
    for each in found.passages:
        assert each.score == pytest.approx(wanted[each.title])


@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid", "ppr"])
def test_any_retriever_will_do(retriever: str, coast: Context, tmp_path: Path) -> None:
    with served(coast, tmp_path, CHAIN, retriever=retriever, passages=6) as (opened, _):
        titles = {each.title for each in retrieve(opened, 6).passages}
    assert titles >= {"Corvane lighthouse", "Ada Mirren", "Pelluci"}


@pytest.mark.parametrize(
    ("reply", "want"),
    [
        ("Thought 2: Ada lives in Pelluci. It is a town.", "Ada lives in Pelluci."),
        ("- **Next thought:** Ada lives there.", "Ada lives there."), ("Step by step, Ada.", "Step by step, Ada."),
        ("Here is the next sentence:\n\nAda  lives.", "Ada lives."), ("So the answer is:\nBern", "So the answer is:"),
        ("<think>Hm. Let me see.</think>\nAda lives.", "Ada lives."), ("阿达住在北京。她是工程师。", "阿达住在北京。"),
        ("", ""), ("—", ""), ("Ada", "Ada"),
    ],
)  # fmt: skip
def test_the_first_sentence(reply: str, want: str) -> None:
    assert first_sentence(reply) == want


def test_the_words_that_conclude() -> None:
    assert concludes("So the answer is: Bern.")
    assert concludes("Therefore, the ANSWER  IS Bern")
    assert not concludes("Who answered is not said.")
    assert not concludes("The passages do not say what the answer is.")
    assert not concludes("The answer is not in the passages; the director of the film has to be found.")
    assert not concludes("So the answer is not in the passages.")


def test_scores_of_one_retrieval_are_scaled() -> None:
    def scores(*raw: float) -> list[float]:
        return [each.score for each in scaled([Passage("d", str(i), 0, 1, x, "t", "") for i, x in enumerate(raw)])]

    assert scores(8.0, 2.0, 0.0) == [1.0, 0.25, 0.0]
    assert scores(3.0, -1.0, -5.0) == [1.0, 0.5, 0.0]
    assert scores(0.0, 0.0) == [1.0, 1.0]
    assert scores() == []
