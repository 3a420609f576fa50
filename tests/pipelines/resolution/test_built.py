"""Resolution in whole builds: what an index holds, takes back, and keeps to."""

from collections.abc import Iterator
from pathlib import Path

import conspectus
import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.incremental import add_documents, remove_documents
from conspectus.pipelines.resolution.undo import change_merges, merges_in
from conspectus.query.question.linking import open_linker
from conspectus.query.question.topics import rows_of
from conspectus.storage.errors import IndexNotFound, UsageError
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Mention, Merge
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.tables import TABLES
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeServer
from tests.command_line import conspectus as run
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


@pytest.fixture
def off(server: FakeServer) -> Settings:
    return load_settings(overrides={**overrides(server), "resolution": {"method": "off"}})


def write(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in names or TEXTS:
        (folder / name).write_text(TEXTS[name], "utf-8")
    return folder


def tables(root: Path) -> dict[str, list[object]]:
    index = StoredIndex.open(root)
    assert verify(index) == []
    return {name: index.rows(record) for name, record in TABLES.items() if record is not Merge}


def merged(root: Path) -> dict[str, str]:
    return {each.alias: each.name for each in merges_in(root) if not each.undone}


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


def test_taking_all_back_is_the_index_without_and_merging_again_what_it_was(
    tmp_path: Path, settings: Settings, off: Settings
) -> None:
    docs = write(tmp_path / "docs")
    build_index([docs], tmp_path / "index", settings)
    build_index([docs], tmp_path / "off", off)
    version, before = StoredIndex.open(tmp_path / "index").manifest.version, tables(tmp_path / "index")
    change_merges(None, tmp_path / "index", settings, undone=True)
    assert tables(tmp_path / "index") == tables(tmp_path / "off") != before
    assert all(each.undone for each in merges_in(tmp_path / "index"))
    change_merges(None, tmp_path / "index", settings, undone=False)
    assert tables(tmp_path / "index") == before
    assert StoredIndex.open(tmp_path / "index").manifest.version == version


def test_one_merge_is_taken_back_and_stays_so(tmp_path: Path, settings: Settings) -> None:
    docs, root = write(tmp_path / "docs", "a.txt", "b.txt"), tmp_path / "index"
    build_index([docs], root, settings)
    change_merges(["holmes"], root, settings, undone=True)
    assert "Holmes" not in merged(root)
    assert {each.alias for each in merges_in(root) if each.undone} == {"Holmes"}
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "c.txt").write_text(TEXTS["c.txt"], "utf-8")
    add_documents([tmp_path / "more"], root, settings)
    assert "Holmes" not in merged(root)
    assert "Holmes" in {each.name for each in StoredIndex.open(root).rows(Entity)}
    build_index([docs], root, settings)
    assert "Holmes" not in merged(root)
    assert build_index([docs], root, settings).unchanged
    change_merges(["Sherlock Holmes"], root, settings, undone=False)
    assert merged(root)["Holmes"] == "Sherlock Holmes"
    assert verify(StoredIndex.open(root)) == []


def test_a_decision_on_names_that_are_gone_is_gone(tmp_path: Path, settings: Settings) -> None:
    docs, root = write(tmp_path / "docs", "a.txt", "b.txt"), tmp_path / "index"
    build_index([docs], root, settings)
    change_merges(["Holmes"], root, settings, undone=True)
    remove_documents(["a.txt"], root, settings)
    assert all("Holmes" not in (each.alias, each.name) for each in merges_in(root))


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


def test_a_model_describes_what_is_merged_once(tmp_path: Path, server: FakeServer) -> None:
    chosen = load_settings(overrides={**overrides(server), "llm": {"model": "m", "base_url": server.url}})
    root = tmp_path / "index"
    report = build_index([write(tmp_path / "docs")], root, chosen)
    assert not report.failures
    index = StoredIndex.open(root)
    assert verify(index) == []
    ids = {each.id for each in index.rows(Entity)}
    assert {each.entity_id for each in index.rows(Mention) if each.entity_id} <= ids
    change_merges(None, root, chosen, undone=True)
    assert verify(StoredIndex.open(root)) == []


def test_wrong_use_is_told(tmp_path: Path, settings: Settings, off: Settings) -> None:
    root = tmp_path / "index"
    with pytest.raises(IndexNotFound):
        change_merges(None, root, settings, undone=True)
    build_index([write(tmp_path / "docs", "a.txt")], root, settings)
    with pytest.raises(UsageError, match="did you mean 'Holmes'"):
        change_merges(["Homes"], root, settings, undone=True)
    with pytest.raises(UsageError, match=r"resolution\.method"):
        change_merges(["Holmes"], root, off, undone=True)
    assert merged(root)


def test_the_command_lists_takes_back_and_merges_again(tmp_path: Path, server: FakeServer) -> None:
    root = tmp_path / "index"
    options = [
        f"--set={section}.{key}={value}" for section, keys in overrides(server).items() for key, value in keys.items()
    ]
    run("index", str(write(tmp_path / "docs", "a.txt")), "--index", str(root), *options)
    listed = run("resolve", "--index", str(root))
    assert "Sherlock Holmes\n  Holmes  the family name alone" in listed.out
    assert "1 name merged, 0 undone" in listed.out
    assert run("resolve", "--undo", "Holmes", "--index", str(root), *options).status == 0
    assert "undone: the family name" in run("resolve", "holmes", "--index", str(root)).out
    assert run("resolve", "--redo-all", "--index", str(root), *options, "--json").status == 0
    assert '"undone": false' in run("resolve", "--json", "--index", str(root)).out
    for wrong in (["--undo"], ["--undo-all", "x"], ["--undo", "--redo", "x"], ["nobody"], ["--undo", "nobody"]):
        done = run("resolve", *wrong, "--index", str(root), *options)
        assert done.status == 2
        assert len(done.err.strip().splitlines()) == 1
