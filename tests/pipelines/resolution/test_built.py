"""Resolution in whole builds: what an index holds, and what questions find."""

from collections.abc import Iterator
from pathlib import Path

import conspectus
import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.query.question.linking import open_linker
from conspectus.query.question.topics import rows_of
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Mention, Merge
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeServer
from tests.graph_model import reply

TEXTS = {
    "a.txt": "Sherlock Holmes met John Watson in Baker Street. He knew Holmes. Holmes smoked. He was tall.",
    "b.txt": "The National Signal Office (NSO) hired Anna Berg. Renée Holt left the NSO in Port Alma.",
    "c.txt": "Renee Holt met Mary Quill in Port Alma. Mary Quill joined NSO. World War II ended.",
    "d.txt": "The Second World War began. Henry IV was the father of Henry V. Mary Quill sailed.",
}


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(reply) as running:
        yield running


def overrides(server: FakeServer) -> dict[str, dict[str, object]]:
    return {
        "extraction": {"pipeline": "regex"},
        "embedding": {"provider": "endpoint", "model": "e"},
        "embedding_server": {"base_url": server.url},
        "communities": {"update": "exact"},
    }


@pytest.fixture
def settings(server: FakeServer) -> Settings:
    return load_settings(overrides=overrides(server))


def write(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names or TEXTS:
        (folder / name).write_text(TEXTS[name], "utf-8")
    return folder


def merged(root: Path) -> dict[str, str]:
    return {each.alias: each.name for each in StoredIndex.open(root).rows(Merge) if not each.undone}


def test_an_index_holds_its_merges(tmp_path: Path, settings: Settings) -> None:
    root = tmp_path / "index"
    build_index([write(tmp_path / "docs")], root, settings)
    found = merged(root)
    assert {"Holmes", "Sherlock Holmes"} == {"Holmes", found["Holmes"]}
    assert {frozenset(pair) for pair in found.items()} >= {
        frozenset({"NSO", "The National Signal Office"}),
        frozenset({"Renée Holt", "Renee Holt"}),
        frozenset({"World War II", "Second World War"}),
    }
    index = StoredIndex.open(root)
    names = {each.name for each in index.rows(Entity)}
    assert not names & found.keys()
    assert not {"Henry IV", "Henry V"} & {each for pair in found.items() for each in pair}
    rows = {each.id: each.name for each in index.rows(Entity)}
    aliases = {
        (rows[each.entity_id], each.surface) for each in index.rows(Mention) if each.match == "alias" and each.entity_id
    }
    assert ("Sherlock Holmes", "Holmes") in aliases
    assert build_index([tmp_path / "docs"], root, settings).unchanged


def test_questions_find_the_entity_by_its_merged_names(tmp_path: Path, settings: Settings) -> None:
    root = tmp_path / "index"
    build_index([write(tmp_path / "docs")], root, settings)
    index = conspectus.open(root, settings)
    entities = index.context.index.rows(Entity)
    (row,) = open_linker(index.context.index).link("What did Mr. Holmes do?").entity_rows
    assert entities[row].name == "Sherlock Holmes"
    assert open_linker(index.context.index).types_of("Holmes") == entities[row].types
    rows, missing = rows_of(index.context, ["Holmes", "Nobody"])
    assert ([entities[each].name for each in rows], missing) == (["Sherlock Holmes"], ("Nobody",))
    assert {each.alias for each in index.merges()} == merged(root).keys()


def test_a_graph_that_was_brought_along_keeps_its_names(tmp_path: Path, server: FakeServer) -> None:
    graph = tmp_path / "graph.tsv"
    graph.write_text("Renée Holt\tknows\tRenee Holt\nNSO\tpart of\tPort Alma\n", "utf-8")
    chosen = load_settings(overrides={**overrides(server), "kg": {"files": [str(graph)]}})
    root = tmp_path / "index"
    build_index([write(tmp_path / "docs")], root, chosen)
    names = {each.name for each in StoredIndex.open(root).rows(Entity)}
    assert {"Renée Holt", "Renee Holt", "NSO"} <= names
    assert merged(root)["The National Signal Office"] == "NSO"
    assert verify(StoredIndex.open(root)) == []
