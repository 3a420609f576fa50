"""BM25 against its published formula, and what happens to damaged indexes."""

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.text.bm25 import Bm25, write_bm25
from conspectus.storage.text.names import words
from hypothesis import given
from hypothesis import strategies as st

TEXTS = [
    "The cat sat on the mat.",
    "A dog sat; the dog slept.",
    "",
    "Cats and dogs: cat, cat, CAT!",
    "北京大学 is in 北京.",
    "C++ and C are languages.",
    "???",
]


def made(folder: Path, texts: list[str], languages: list[str] | None = None) -> Bm25:
    write_bm25(folder, texts, languages or [""] * len(texts))
    return Bm25.open(folder, len(texts))


def terms(text: str) -> list[str]:
    """The words of a text, and the pairs of Chinese characters that stand side by side."""
    found = words(text)
    pairs = [
        one.key + two.key
        for one, two in pairwise(found)
        if one.end == two.start and ord(min(one.key, two.key)) > 0x4DFF
    ]
    return [word.key for word in found] + pairs


def lucene(texts: list[str], question: str, k1: float = 1.2, b: float = 0.75) -> list[float]:
    """Robertson and Zaragoza (2009), with Lucene's idf and without the constant factor k1 + 1."""
    bags = [Counter(terms(text)) for text in texts]
    lengths = [sum(bag.values()) for bag in bags]
    average = sum(lengths) / len(lengths)
    scores = [0.0] * len(texts)
    for term in terms(question):
        holders = sum(term in bag for bag in bags)
        idf = math.log(1 + (len(bags) - holders + 0.5) / (holders + 0.5))
        for row, bag in enumerate(bags):
            if bag[term]:
                tf = bag[term]
                scores[row] += idf * tf / (tf + k1 * (1 - b + b * lengths[row] / average))
    return scores


vocabulary = st.sampled_from("ant bee cat dog 北 京 c++ c".split())
texts = st.lists(st.lists(vocabulary, max_size=6).map(" ".join), min_size=1, max_size=8)


@given(texts, st.lists(vocabulary, max_size=5).map(" ".join))
def test_formula_and_columns_on_any_texts(
    tmp_path_factory: pytest.TempPathFactory, passages: list[str], question: str
) -> None:
    index = made(tmp_path_factory.mktemp("any"), passages)
    np.testing.assert_allclose(index.scores(question), lucene(passages, question), rtol=1e-5, atol=1e-7)
    for word in words(" ".join(passages) + " zebra"):
        holders = [row for row, text in enumerate(passages) if word.key in {each.key for each in words(text)}]
        assert index.rows_with(word.key).tolist() == holders
        idf = math.log(1 + (len(passages) - len(holders) + 0.5) / (len(holders) + 0.5))
        assert index.inverse_document_frequency(word.key) == pytest.approx(idf)


def test_a_damaged_index_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "bm25"
    write_bm25(folder, TEXTS, ["en"] * len(TEXTS))
    with pytest.raises(IndexCorrupt, match="ranks 7 rows; the table has 6"):
        Bm25.open(folder, 6)
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for content in (b"", b"junk", whole[: len(whole) // 2]):
            path.write_bytes(content)
            with pytest.raises(IndexCorrupt, match="not a BM25 index"):
                Bm25.open(folder, len(TEXTS))
        path.unlink()
        with pytest.raises(IndexCorrupt, match="not a BM25 index"):
            Bm25.open(folder, len(TEXTS))
        path.write_bytes(whole)
    with pytest.raises(IndexCorrupt):
        Bm25.open(tmp_path / "absent", len(TEXTS))


def test_rows_outside_the_table_are_refused_when_they_are_used(tmp_path: Path) -> None:
    write_bm25(tmp_path / "bm25", TEXTS, ["en"] * len(TEXTS))
    path = tmp_path / "bm25" / "indices.csc.index.npy"
    np.save(path, np.load(path) + np.int32(len(TEXTS)))
    index = Bm25.open(tmp_path / "bm25", len(TEXTS))
    for use in (index.check_rows, index.weights, lambda: index.scores("the cat sat")):
        with pytest.raises(IndexCorrupt, match="a row outside"):
            use()
