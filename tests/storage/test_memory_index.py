"""An index in memory: its parts, and nothing of a folder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.index import StoredIndex
from conspectus.storage.memory_index import MemoryIndex, Parts
from conspectus.storage.records import Entity
from conspectus.storage.tables import TABLES
from conspectus.storage.text.bm25 import Bm25
from conspectus.storage.vectors.windowed import WindowedIndex, windowed_in_memory

ENTITY = Entity("e", "Ada", "NAME", ("NAME",), "", 1, 0)
VECTORS = np.eye(4, dtype=np.float32)


@pytest.fixture
def made() -> list[str]:
    return []


@pytest.fixture
def index(sample_root: Path, made: list[str]) -> MemoryIndex:
    def given(name: str, value: Any) -> Any:  # noqa: ANN401  (a part of any kind)
        def make() -> Any:  # noqa: ANN401
            made.append(name)
            return value

        return make

    tables: dict[type, Any] = {record: given(name, []) for name, record in TABLES.items()}
    tables[Entity] = given("entities", [replace(ENTITY, description="Ada wrote programs.")])
    parts = Parts(
        tables,
        {"chunks": given("vectors", windowed_in_memory(VECTORS, np.array([0, 0, 2, 3]), 5))},
        given("graph", Adjacency.from_edges(1, [], [], [])),
        given("lexical", Bm25.of(["Ada wrote"], ["en"])),
    )
    return MemoryIndex(sample_root, StoredIndex.open(sample_root).manifest, parts)


def test_each_part_is_made_once_and_when_it_is_wanted(index: MemoryIndex, made: list[str]) -> None:
    assert made == []
    assert index.manifest.rows["entities"] == 1
    assert index.arrow(Entity, "id", "name").to_pylist() == [{"id": "e", "name": "Ada"}]
    assert made == ["entities"]
    assert index.rows(Entity)[0].description == index.arrow(Entity, "description").to_pylist()[0]["description"]
    assert index.arrow(Entity).num_rows == 1
    assert index.lexical().scores("ada")[0] > 0
    assert index.graph().n_nodes == 1
    assert index.graph() is index.graph()
    assert made == ["entities", "lexical", "graph"]
    assert dict(index.manifest.rows) == {**dict.fromkeys(TABLES, 0), "entities": 1}


def test_vectors_of_some_rows_are_found_as_in_the_whole(index: MemoryIndex) -> None:
    whole = index.vectors("chunks")
    kept, owners = whole.vectors_of(np.array([0, 1, 3]))
    assert owners.tolist() == [0, 0, 2]
    part = windowed_in_memory(kept, owners, 3)
    assert isinstance(part, WindowedIndex)
    assert part.scores(VECTORS, np.array([0, 1, 2])).tolist() == whole.scores(VECTORS, np.array([0, 1, 3])).tolist()
    assert part.search(VECTORS[3:], 1)[1].tolist() == [[2]]
    none = windowed_in_memory(np.zeros((0, 4), np.float32), np.zeros(0, np.int64), 2)
    assert none.search(VECTORS, 3)[1].shape == (4, 0)
