"""The files of the lexical index, and the index of some of its rows."""

from pathlib import Path

import numpy as np
import pytest
from conspectus.storage.text import bm25
from conspectus.storage.text.bm25 import Bm25, write_bm25

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
    return Bm25.open(folder, len(TEXTS))


def dense(index: Bm25) -> dict[str, list[float]]:
    weights = index.weights().toarray()
    return {term: weights[:, column].tolist() for term, column in index.vocabulary.items()}


@pytest.mark.parametrize("entries", [1, 3, 1 << 20])
def test_weights_in_memory_are_those_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: int
) -> None:
    expected = dense(Bm25.of(TEXTS, LANGUAGES))
    monkeypatch.setattr(bm25, "_ENTRIES_AT_ONCE", entries)
    monkeypatch.setattr(bm25, "_TEXTS_AT_ONCE", entries)
    assert dense(written(tmp_path)) == expected


def test_a_part_has_the_scores_of_its_rows_and_knows_only_their_terms(tmp_path: Path) -> None:
    for whole in (written(tmp_path), Bm25.of(TEXTS, LANGUAGES)):
        frequencies = {word: whole.inverse_document_frequency(word) for word in ("mill", "tide", "unheard")}
        for subset in range(2 ** len(TEXTS)):
            rows = np.flatnonzero(subset >> np.arange(len(TEXTS)) & 1)
            part, before = whole.part(rows), whole.weights().toarray()[rows]
            assert np.array_equal(part.weights().toarray(), before)
            held = {term for term, column in whole.vocabulary.items() if before[:, column].any()}
            assert set(part.vocabulary) == held
            assert len(part.vocabulary) == len(held)
            assert part.starting("sp") == sorted(term for term in held if term.startswith("sp"))
            for term in held:
                assert part.rows_with(term).tolist() == np.flatnonzero(before[:, whole.vocabulary[term]]).tolist()
            for word, frequency in frequencies.items():
                known = part.term(word) in held
                assert part.inverse_document_frequency(word) == (frequency if known else frequencies["unheard"])
            assert set(part.analysis.known) == {LANGUAGES[row] for row in rows} - {""}
