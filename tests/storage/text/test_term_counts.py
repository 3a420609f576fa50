"""The lexical index of some texts, from counts of all, equals the one made of their texts."""

import json
from pathlib import Path

import bm25s
import numpy as np
import pytest
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.text import term_counts
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
    write_bm25(folder, TEXTS, LANGUAGES)
    MappedVocabulary.write(folder, folder / "terms")
    return Bm25.open(folder, len(TEXTS), MappedVocabulary.open(folder / "terms"))


def counts_of(whole: Bm25) -> TermCounts:
    return TermCounts.of((whole.analysis.terms(text, row) for row, text in enumerate(TEXTS)), whole.columns())


def dense(index: Bm25) -> dict[str, list[float]]:
    weights = index.weights().toarray()
    return {term: weights[:, column].tolist() for term, column in index.vocabulary.items() if term}


@pytest.mark.parametrize("entries", [1, 3, 1 << 20])
def test_the_files_are_those_of_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: int) -> None:
    monkeypatch.setattr(term_counts, "_ENTRIES_AT_ONCE", entries)
    monkeypatch.setattr(term_counts, "_TEXTS_AT_ONCE", entries)
    index = written(tmp_path / "ours")
    bags = [index.analysis.terms(text, row) for row, text in enumerate(TEXTS)]
    numbers = {term: number for number, term in enumerate(sorted({term for bag in bags for term in bag}))}
    ranker = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    ranker.index(([[numbers[term] for term in bag] for bag in bags], numbers), show_progress=False)
    ranker.save(tmp_path / "library", show_progress=False)
    for path in (tmp_path / "library").iterdir():
        told = json.loads if path.suffix == ".json" else bytes  # the library takes orjson where it is installed
        assert told(path.read_bytes()) == told((tmp_path / "ours" / path.name).read_bytes()), path.name


def test_weights_in_memory_are_those_of_the_files(tmp_path: Path) -> None:
    assert dense(Bm25.of(TEXTS, LANGUAGES)) == dense(written(tmp_path))


def test_counts_beside_the_files_are_those_of_the_texts(tmp_path: Path) -> None:
    write_bm25(tmp_path / "bm25", TEXTS, LANGUAGES, tmp_path / "counts")
    found, expected = TermCounts.open(tmp_path / "counts"), counts_of(Bm25.open(tmp_path / "bm25", len(TEXTS)))
    for row in range(len(TEXTS)):
        ours, theirs = (each.of_rows(np.array([row])) for each in (found, expected))
        assert dict(zip(ours.columns, ours.counts, strict=True)) == dict(
            zip(theirs.columns, theirs.counts, strict=True)
        )


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
        expected = Bm25.of(texts, [LANGUAGES[row] for row in rows])
        part = whole.of_part(counts, rows, texts)
        assert [part.scores(text).tolist() for text in TEXTS] == [expected.scores(text).tolist() for text in TEXTS]
        assert dense(part) == dense(expected)
        assert part.analysis.packed() == expected.analysis.packed()
        split_otherwise += "speicherplatz" in part.vocabulary and "speicherplatzgrenz" in part.vocabulary
    assert split_otherwise


def test_counts_are_read_back(tmp_path: Path) -> None:
    counts = counts_of(written(tmp_path))
    counts.write(tmp_path / "counts")
    found = TermCounts.open(tmp_path / "counts").of_rows(np.array([3, 0]))
    assert found.n_texts == 2
    assert found.counts[: found.starts[1]].tolist() == [1, 1, 2]
    (tmp_path / "counts" / "starts.npy").write_bytes(json.dumps([]).encode())
    with pytest.raises(IndexCorrupt, match="made again"):
        TermCounts.open(tmp_path / "counts")
