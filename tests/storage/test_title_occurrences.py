"""The names of a part of a large index, chosen from mapped occurrences, are those found in its texts alone."""

from pathlib import Path

import numpy as np
import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.storage import mapped
from conspectus.storage.arrays import Bools
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.graph.walk_graph import NamedChunks, name_chunks
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Document
from conspectus.storage.settings import load_settings
from conspectus.storage.title_occurrences import begins, title_occurrences

from tests.conftest import write_rows

ROWS = [
    ("Apollo", "Apollo Works stands beside Apollo. The apollo works (Yard) closed; Apollo works no more."),
    ("Apollo Works", "Apollo rose. Apollo Works, not apollo works, is the name, says Help! (film)."),
    ("apollo  works (Yard)", "Help is on its way to Apollo Works (Yard)."),
    ("Works (Yard)", "The works of Yahoo! and of Yahoo: Works, Works Yard, WORKS (YARD)."),
    ("Help! (film)", "Help! is a film. Help, too. Port Alma Port Alma Port."),
    ("Yahoo!", "Yahoo is not Yahoo! but Yahoo!Help! is both."),
    ("Speed", "The speed of Speed; Port Alma."),
    ("speed", "Port Alma. Speed and speed."),
    ("", "Port Alma lies far from Apollo Works. Port Alma Port Alma."),
    ("Alma Port", "Port Alma Port is Alma Port."),
]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredIndex:
    rows = [{"id": f"d{place}", "title": title, "text": text} for place, (title, text) in enumerate(ROWS)]
    write_rows(tmp_path / "corpus.jsonl", rows)
    build_index(
        [tmp_path / "corpus.jsonl"], tmp_path / "index", load_settings(overrides={"extraction": {"pipeline": "regex"}})
    )
    monkeypatch.setattr(mapped, "MAPPED_ROWS", 1)
    return StoredIndex.open(tmp_path / "index")


def searched(index: StoredIndex, kept: Bools) -> NamedChunks:
    """Return the names of some chunks by a search in their texts."""
    title_of = {document.id: document for document in index.rows(Document)}
    chunks = [chunk for chunk, chosen in zip(index.rows(Chunk), kept, strict=True) if chosen]
    documents = [title_of[chunk.document_id] for chunk in chunks]
    first = begins(index, chunks, [document.title for document in documents])
    return name_chunks(documents, chunks, [*first])


def test_a_part_has_the_names_that_its_own_titles_give(index: StoredIndex) -> None:
    chunks, occurrences = index.rows(Chunk), title_occurrences(index)
    assert len(chunks) == len(ROWS)
    overlapping = 0
    for subset in range(0, 2 ** len(ROWS), 3):
        kept = (subset >> np.arange(len(ROWS)) & 1).astype(np.bool_)
        ids = [chunk.id for chunk, chosen in zip(chunks, kept, strict=True) if chosen]
        read: list[int] = []
        found = occurrences.of_part(kept, ids, lambda row, read=read: read.append(row) or chunks[row].text)
        expected = searched(index, kept)
        assert found.names == expected.names
        for ours, theirs in ((found.owners, expected.owners), (found.holders, expected.holders)):
            assert np.array_equal(ours.starts, theirs.starts)
            assert np.array_equal(ours.members, theirs.members)
        overlapping += bool(read)
        assert kept[read].all(), "only permitted texts are read"
    assert overlapping > 50


def test_a_damaged_file_is_named(index: StoredIndex) -> None:
    title_occurrences(index)
    (path,) = index.root.glob("cache/titles-in-chunks/*/starts.npy")
    path.write_bytes(b"")
    with pytest.raises(IndexCorrupt, match="made again"):
        title_occurrences(StoredIndex.open(index.root))
