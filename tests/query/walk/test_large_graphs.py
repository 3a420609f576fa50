"""A large graph is mapped from files that its tables give, and answers as one that is read from the tables."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.graph_question.mentions import open_names
from conspectus.query.graph_question.reader import read_graph_question
from conspectus.query.question.topics import link_topics
from conspectus.query.walk import graph as graphs
from conspectus.query.walk.graph import open_graph
from conspectus.storage.derived import derived_folder
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.index import StoredIndex

QUESTIONS = ("Who directed Night Ferry?", "How many films did Ada Mirren direct?", "Where was quill born?")


@pytest.fixture
def root(films_index: Context, tmp_path: Path) -> Path:
    shutil.copytree(films_index.index.root, tmp_path / "index")
    return tmp_path / "index"


def test_what_is_mapped_is_what_is_computed(films_index: Context, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed = replace(films_index, index=StoredIndex.open(films_index.index.root))
    expected, topics = open_graph(computed), [link_topics(computed, question) for question in QUESTIONS]
    answers = [read_graph_question(computed, question).answer for question in QUESTIONS]
    monkeypatch.setattr(graphs, "LARGE", 1)
    for _ in range(2):  # made, and found made
        mapped = replace(films_index, index=StoredIndex.open(root))
        graph = open_graph(mapped)
        assert isinstance(graph.neighbours.base, np.memmap)
        for name in ("indptr", "neighbours", "predicate", "relation", "outgoing", "sources", "targets", "stated"):
            assert np.array_equal(getattr(graph, name), getattr(expected, name))
        assert (list(graph.names), list(graph.predicates)) == (list(expected.names), list(expected.predicates))
        assert list(graph.relation_ids) == list(expected.relation_ids)
        assert [read_graph_question(mapped, question).answer for question in QUESTIONS] == answers
        assert [link_topics(mapped, question) for question in QUESTIONS] == topics
    assert {"graph", "names"} <= {folder.name for folder in (root / "cache").iterdir()}


def test_damaged_files_are_named(films_index: Context, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "LARGE", 1)
    first = replace(films_index, index=StoredIndex.open(root))
    open_names(first)
    for path in (root / "cache").rglob("*.*"):
        if path.suffix in (".npy", ".arrow"):
            path.write_bytes(b"nonsense")
    damaged = replace(films_index, index=StoredIndex.open(root))
    for opened in (open_graph, open_names):
        with pytest.raises(IndexCorrupt, match="delete it"):
            opened(damaged)


def test_nothing_is_left_of_files_that_cannot_be_made(films_index: Context, root: Path) -> None:
    def fail(folder: Path) -> None:
        folder.mkdir()
        (folder / "half").write_text("", "utf-8")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        derived_folder(StoredIndex.open(root), "graph", 99, fail)
    assert not list((root / "cache" / "graph").glob("*-99"))
    assert not list((root / "cache" / "graph").glob(".*"))
