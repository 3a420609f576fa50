"""The lexical index of some texts, from counts of all, equals the one made of their texts."""

import json
from pathlib import Path

import numpy as np
import pytest
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.text.bm25 import Bm25, MappedVocabulary, write_bm25
from conspectus.storage.text.term_counts import TermCounts

TEXTS = [
    "The tides of the bay turn the mill.",
    "Die Speicherplatzgrenze im Speicher: der Platz, die Grenze.",
    "Speicher, Speicher, Platz und Platz, Grenze und Grenze; Speicherplatz.",
    "Tides, tides and mills",
    "北京大学在北京",
    "",
    "der Speicher der Mühle, der Platz, die Grenze",
    "mill, mill, mill, mill: C++ & naïve déjà-vu",
]
LANGUAGES = ["en", "de", "de", "", "zh", "en", "de", "en"]


def written(folder: Path) -> Bm25:
    write_bm25(folder, TEXTS, LANGUAGES, 1.2, 0.75)
    MappedVocabulary.write(folder, folder / "terms")
    return Bm25.open(folder, len(TEXTS), MappedVocabulary.open(folder / "terms"))


def counts_of(whole: Bm25) -> TermCounts:
    return TermCounts.of((whole.analysis.terms(text, row) for row, text in enumerate(TEXTS)), whole.columns())


def dense(index: Bm25) -> dict[str, list[float]]:
    weights = index.weights().toarray()
    return {term: weights[:, column].tolist() for term, column in index.vocabulary.items() if term}


def test_weights_are_those_of_the_library(tmp_path: Path) -> None:
    assert dense(Bm25.of(TEXTS, LANGUAGES, 1.2, 0.75)) == dense(written(tmp_path))


@pytest.mark.parametrize("mapped", [True, False])
def test_a_part_is_the_index_of_its_texts(tmp_path: Path, *, mapped: bool) -> None:
    whole = written(tmp_path)
    if not mapped:
        whole = Bm25.open(tmp_path, len(TEXTS))
    counts = counts_of(whole)
    split_otherwise = 0
    for subset in range(2 ** len(TEXTS)):
        rows = np.flatnonzero(subset >> np.arange(len(TEXTS)) & 1)
        texts = [TEXTS[row] for row in rows]
        expected = Bm25.of(texts, [LANGUAGES[row] for row in rows], 1.2, 0.75)
        part = whole.of_part(counts, rows, texts, 1.2, 0.75)
        assert dense(part) == dense(expected)
        assert part.analysis.packed() == expected.analysis.packed()
        split_otherwise += "speicherplatz" in part.vocabulary and "speicherplatzgrenz" in part.vocabulary
    assert split_otherwise


def test_counts_are_read_back(tmp_path: Path) -> None:
    counts = counts_of(written(tmp_path))
    counts.write(tmp_path / "counts")
    found = TermCounts.open(tmp_path / "counts").of_rows(np.array([3, 0]))
    assert found.n_texts == 2
    assert found.counts[: found.starts[1]].tolist() == [2, 1, 1]
    (tmp_path / "counts" / "starts.npy").write_bytes(json.dumps([]).encode())
    with pytest.raises(IndexCorrupt, match="made again"):
        TermCounts.open(tmp_path / "counts")
