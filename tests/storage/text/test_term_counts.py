"""The files of the lexical index, and the index of some of its rows."""

import json
from pathlib import Path

import bm25s
import numpy as np
import pytest
from conspectus.storage.text import term_counts
from conspectus.storage.text.bm25 import Bm25, open_terms, write_bm25, write_terms

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
    write_terms(folder, folder / "terms")
    return Bm25.open(folder, len(TEXTS), open_terms(folder / "terms"))


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


def test_a_part_has_the_scores_of_its_rows_and_knows_only_their_terms(tmp_path: Path) -> None:
    for whole in (written(tmp_path), Bm25.open(tmp_path, len(TEXTS))):
        frequencies = {word: whole.inverse_document_frequency(word) for word in ("mill", "tide", "unheard")}
        for subset in range(2 ** len(TEXTS)):
            rows = np.flatnonzero(subset >> np.arange(len(TEXTS)) & 1)
            part, before = whole.part(rows), whole.weights().toarray()[rows]
            assert np.array_equal(part.weights().toarray(), before)
            held = {term for term, column in whole.vocabulary.items() if term and before[:, column].any()}
            assert set(part.vocabulary) == held
            assert "" not in part.vocabulary
            assert len(part.vocabulary) == len(held)
            assert part.starting("sp") == sorted(term for term in held if term.startswith("sp"))
            for term in held:
                assert part.rows_with(term).tolist() == np.flatnonzero(before[:, whole.vocabulary[term]]).tolist()
            for word, frequency in frequencies.items():
                known = part.term(word) in held
                assert part.inverse_document_frequency(word) == (frequency if known else frequencies["unheard"])
            assert set(part.analysis.known) == {LANGUAGES[row] for row in rows} - {""}
