"""Search by words, by meaning, by both, and a cross-encoder over what they find."""

import asyncio
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.menu import find_retriever
from conspectus.query.methods import baselines
from conspectus.query.methods.baselines import Bm25Retriever, DenseRetriever, HybridRetriever, fuse
from conspectus.query.question.terms import content_words
from conspectus.query.types import Evidence, Passage
from conspectus.storage.errors import MissingPart, NeedsModel
from conspectus.storage.records import Document
from conspectus.storage.settings import load_settings
from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.embedded import chunk_windows
from conspectus.storage.text.names import words
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Build
from tests.cross_encoders import save_cross_encoder


def by_words(context: Context, question: str, k: int = 5) -> tuple[Passage, ...]:
    return asyncio.run(Bm25Retriever(context).retrieve(question, k)).passages


def by_hand(context: Context, question: str) -> list[tuple[str, float]]:
    """Rank all chunks by Lucene's BM25 over title and text; those that share no word are left out."""
    bags = {
        chunk.id: Counter(context.bm25.analysis.terms(f"{context.titles[chunk.document_id]}\n{chunk.text}", row))
        for row, chunk in enumerate(context.chunks)
    }
    average = sum(bag.total() for bag in bags.values()) / len(bags)
    scores: Counter[str] = Counter()
    for key in content_words(words(question)).split():
        word = stem_in_language(key, "en")
        holders = [id_ for id_, bag in bags.items() if word in bag]
        idf = math.log(1 + (len(bags) - len(holders) + 0.5) / (len(holders) + 0.5))
        for id_ in holders:
            tf = bags[id_][word]
            scores[id_] += idf * tf / (tf + 1.2 * (0.25 + 0.75 * bags[id_].total() / average))  # type: ignore[assignment]
    return sorted(scores.items(), key=lambda each: (-each[1], each[0]))


def test_passages_and_scores_are_those_of_the_formula(context: Context, questions: list[str]) -> None:
    for question in [*questions[:8], "C++ C++"]:
        found = by_words(context, question)
        want = by_hand(context, question)[:5]
        assert [each.score for each in found] == pytest.approx([score for _, score in want], rel=1e-5)
        assert [each.chunk_id for each in found] == [id_ for id_, _ in want]


def test_question_words_do_not_count_unless_there_is_nothing_else(context: Context) -> None:
    assert by_words(context, "Who was the zyzzyva?") == ()
    assert by_words(context, "Who was the?")


def by_meaning(context: Context, question: str, k: int = 5) -> tuple[Passage, ...]:
    return asyncio.run(DenseRetriever(context).retrieve(question, k)).passages


def cosine_with(context: Context, question: str) -> dict[str, float]:
    """The question's cosine with the best window of each chunk, all embedded here and now."""
    embedder = context.embedder
    vector = embedder.embed_query(question).astype(np.float64)
    document_of = {document.id: document for document in context.index.rows(Document)}
    return {
        chunk.id: max(embedder.embed(chunk_windows(chunk, document_of[chunk.document_id])).astype(np.float64) @ vector)
        for chunk in context.chunks
    }


def test_passages_and_scores_are_those_of_every_window_compared(build: Build) -> None:
    long = " ".join(f"The harbour master of port {i} keeps a list of ships." for i in range(60))
    context = build(
        {
            "Harbours": f"{long} In the cellar a violin maker works.",
            "Violins": "A violin has four strings and is played with a bow.",
            "Ships": "A ship is a large vessel that crosses the sea.",
            "": "Cats sleep for most of the day.",
        }.items()
    )
    for question in ("Who works in the cellar?", "How many strings has a violin?", "Do cats sleep?", "ports"):
        want = cosine_with(context, question)
        found = by_meaning(context, question, 10)
        assert len(found) == len(want)
        np.testing.assert_allclose([each.score for each in found], [want[each.chunk_id] for each in found], atol=1e-6)
        assert [each.chunk_id for each in found] == sorted(want, key=lambda id_: (-want[id_], id_))


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


MUSIC = ["The violin was old.", "A violin needs strings.", "The old violin needs a bow."]
SHIPS = ["The harbour was old.", "A harbour needs ships.", "The old harbour needs a keeper."]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned which passages go with `music`, and which with `sailors`."""
    learn = [(question, text, label) for text in MUSIC for question, label in (("music?", 1.0), ("sailors?", 0.0))]
    learn += [(question, text, label) for text in SHIPS for question, label in (("music?", 0.0), ("sailors?", 1.0))]
    return save_cross_encoder(tmp_path_factory.mktemp("trained"), [*MUSIC, *SHIPS, "music sailors"], learn)


def asked(context: Context, question: str, k: int, **rerank: object) -> Evidence:
    chosen = Context(context.index, load_settings(overrides={"rerank": rerank}))
    return asyncio.run(find_retriever("rerank", chosen).retrieve(question, k))


def test_the_model_decides_the_order(build: Build, trained: Path) -> None:
    context = build([("", text) for text in [*MUSIC, *SHIPS]])
    for question, wanted, other in (("music?", MUSIC, SHIPS), ("sailors?", SHIPS, MUSIC)):
        found = asked(context, question, 6, model=str(trained))
        texts = [each.text for each in found.passages]
        assert (set(texts[:3]), set(texts[3:])) == (set(wanted), set(other))
        assert found.passages[2].score > 0 > found.passages[3].score
        assert [each.score for each in found.passages] == sorted((each.score for each in found.passages), reverse=True)
        assert found.trace[-1].name == "rerank"
        assert found.trace[-1].detail == f"6 candidates of hybrid by {trained}"


@pytest.mark.parametrize("candidates", ["bm25", "ppr"])
def test_only_the_pool_is_ranked(
    candidates: str, context: Context, cross_encoder: Path, questions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baselines, "POOL", 7)
    first = asyncio.run(find_retriever(candidates, context).retrieve(questions[0], 7)).passages
    found = asked(context, questions[0], 50, model=str(cross_encoder), candidates=candidates)
    assert {each.chunk_id for each in found.passages} == {each.chunk_id for each in first}
    assert len(found.passages) == 7
    assert f"7 candidates of {candidates} by " in found.trace[-1].detail


def test_the_title_is_read_too(build: Build, trained: Path) -> None:
    context = build([("The violin was old.", "It was."), ("The harbour was old.", "It was.")])
    found = asked(context, "sailors?", 2, model=str(trained)).passages
    assert [each.title for each in found] == ["The harbour was old.", "The violin was old."]


def test_without_a_model_it_says_what_to_set(context: Context) -> None:
    with pytest.raises(NeedsModel, match=r"'rerank' takes a cross-encoder: set rerank\.model"):
        asked(context, "music?", 5)
    with pytest.raises(MissingPart, match=r"rerank\.model is 'no/such'"):
        asked(context, "music?", 5, model="no/such")
