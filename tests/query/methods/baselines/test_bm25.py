import asyncio
import math
from collections import Counter

import pytest
from conspectus.query.context import Context
from conspectus.query.methods.baselines import Bm25Retriever
from conspectus.query.question.terms import content_words
from conspectus.query.types import Passage
from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.names import words

from tests.conftest import Build


def retrieve(context: Context, question: str, k: int = 5) -> tuple[Passage, ...]:
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
        found = retrieve(context, question)
        want = by_hand(context, question)[:5]
        assert [each.score for each in found] == pytest.approx([score for _, score in want], rel=1e-5)
        assert [each.chunk_id for each in found] == [id_ for id_, _ in want]


def test_what_shares_no_word_is_not_found(context: Context) -> None:
    assert retrieve(context, "zyzzyva", 1000) == ()
    found = retrieve(context, "Stroustrup", 1000)
    assert found
    assert all("Stroustrup" in each.text for each in found)


def test_titles_count(build: Build) -> None:
    context = build({"Quokka": "It is small and lives on an island.", "Island": "Land in water."}.items())
    assert [each.title for each in retrieve(context, "Where does the quokka live?")] == ["Quokka"]


def test_question_words_do_not_count_unless_there_is_nothing_else(context: Context) -> None:
    assert retrieve(context, "Who was the zyzzyva?") == ()
    assert retrieve(context, "Who was the?")
