import numpy as np
import pytest
from conspectus.pipelines.tuning.sample import excerpt, representatives, sample
from conspectus.storage.arrays import Vectors
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Document
from conspectus.storage.settings import ChunkSettings
from conspectus.storage.text.tokens import LONGEST, count_tokens
from hypothesis import given
from hypothesis import strategies as st

SETTINGS = ChunkSettings(chunk_size=60, chunk_overlap=0)


def document(name: str, *sentences: str) -> Document:
    text = " ".join(sentences)
    return Document(short_id(name), name, name, text, {}, len(text), "")


def sentence(about: str, number: int) -> str:
    return f"Paragraph {number} on {about} goes on about {about} " + "and says what everyone knows of it " * 5 + "."


CORPUS = [
    document("long", *(sentence("whales", each) for each in range(60))),
    *(document(f"short{each}", sentence(f"town {each}", 0)) for each in range(5)),
]


def test_a_sample_is_the_same_each_time_and_another_with_another_seed() -> None:
    first = sample(CORPUS, SETTINGS, 4, 7)
    assert [each.id for each in first] == [each.id for each in sample(CORPUS, SETTINGS, 4, 7)]
    assert any(
        [each.id for each in first] != [each.id for each in sample(CORPUS, SETTINGS, 4, seed)] for seed in (8, 9)
    )


def letters(texts: object) -> Vectors:
    counts = np.array([[text.count(sign) + 1 for sign in "abcdefghijklmnop0123456789"] for text in texts], np.float32)  # type: ignore[attr-defined]
    unit: Vectors = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    return unit


@pytest.mark.parametrize("embed", [None, letters])
def test_every_document_is_heard_before_one_is_heard_twice(embed: object) -> None:
    chosen = sample(CORPUS, SETTINGS, 8, 7, embed)  # type: ignore[arg-type]
    assert len(chosen) == 8
    assert len({each.document_id for each in chosen}) == 6
    assert len({each.id for each in chosen}) == 8


def test_equal_texts_and_headings_tell_nothing_new() -> None:
    twice = [document("a", sentence("one", 1)), document("b", sentence("one", 1)), document("c", sentence("two", 1))]
    assert len(sample(twice, SETTINGS, 9, 7)) == 2
    headed = document("d", "Heading.\n\n", *(sentence("one", each) for each in range(3)))
    assert all(each.text != "Heading." for each in sample([headed], SETTINGS, 9, 7))
    assert [each.text for each in sample([document("e", "Short.")], SETTINGS, 9, 7)] == ["Short."]
    assert sample([document("f", "")], SETTINGS, 9, 7) == []


@given(st.integers(1, 12), st.integers(1, 14), st.integers(0, 99))
def test_as_many_rows_are_chosen_as_there_are_and_are_wanted(n: int, count: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chosen = representatives(vectors, [str(each % 3) for each in range(n)], count)
    assert len(chosen) == len(set(chosen)) == min(n, count)


@pytest.mark.parametrize(
    "text", ["One two three. Four five six. Seven.", "一二三四五六七八九十。" * 9, "x" * 900, "a b " * 90]
)
@pytest.mark.parametrize("most", [3, 8, 50])
def test_an_excerpt_is_the_beginning_and_short_enough(text: str, most: int) -> None:
    made = excerpt(text, most)
    assert made
    assert text.startswith(made)
    assert count_tokens(made) <= most or len(made) <= LONGEST * most  # a piece of a word may have more tokens
