"""An index that Microsoft GraphRAG made, brought in, asked in every way, and given back; as a user does it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import conspectus as package
import pyarrow.parquet as pq
import pytest
from conspectus.query.menu import METHODS
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import current_version
from conspectus.storage.records import (
    Claim,
    Entity,
    Failure,
    Relation,
    Report,
)
from conspectus.storage.settings import load_settings
from conspectus.storage.tables import TABLES

from tests.command_line import conspectus
from tests.pipelines.exchange.graphrag_tables import EXCERPT, small, write

QUESTION = "What was Tobias Renn to the Grey Petrel?"


def told(*words: str | Path) -> dict[str, Any]:
    done = conspectus(*words, "--json", "-q")
    assert done.status == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("graphrag") / "i"
    done = told("import-graphrag", EXCERPT, "--index", root)
    assert done["read"] == {
        "documents": 1,
        "text_units": 3,
        "entities": 22,
        "relationships": 27,
        "communities": 7,
        "community_reports": 4,
        "covariates": 6,
    }
    assert done["dangling_ends"] == 2
    assert done["rows"]["chunks"] == 3
    return root


def test_it_is_a_sound_index(imported: Path) -> None:
    assert conspectus("verify", "--index", imported).status == 0
    index = StoredIndex.open(imported)
    assert index.manifest.settings["imported"] == {"from": "Microsoft GraphRAG"}
    assert index.manifest.models["extraction"] == "Microsoft GraphRAG"
    assert sum(each.stage == "import" for each in index.rows(Failure)) >= 2


@pytest.mark.parametrize("name", ["global:c0", "local", "ppr", "tog2", "gretriever"])
def test_answers_cite_its_documents(imported: Path, name: str) -> None:
    answer = package.open(imported).ask(QUESTION, name)
    text = pq.read_table(EXCERPT / "documents.parquet").column("text")[0].as_py()
    assert answer.citations
    for each in answer.citations:
        assert text[each.start : each.end] == each.quote
    assert "[Data" not in answer.text


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("films")
    package.import_graphrag(write(small(), folder / "t"), folder / "i")
    return folder / "i"


@pytest.mark.parametrize("name", [name for name, each in METHODS.items() if each.missing(load_settings()) is None])
def test_every_method_works_on_it(films: Path, name: str) -> None:
    index = package.open(films)
    answer = index.ask("Who filmed Grey Heron?", name)
    assert answer.text
    assert all(each.quote for each in answer.citations)
    if METHODS[name].retrieves:
        assert index.retrieve("Who filmed Grey Heron?", name).passages


def test_an_unchanged_import_is_a_no_op(imported: Path) -> None:
    assert told("import-graphrag", EXCERPT, "--index", imported)["unchanged"]


@pytest.mark.parametrize("words", [("index", "docs"), ("add", "docs"), ("remove", "the-loss-of-the-grey-petrel.txt")])
def test_its_documents_are_changed_where_it_was_made(imported: Path, words: tuple[str, ...]) -> None:
    Path("docs").mkdir()
    Path("docs", "a.txt").write_text("Ada lives in Tarn.")
    before = current_version(imported)
    done = conspectus(*words, "--index", imported, "-q")
    assert (done.status, done.out) == (2, "")
    assert "was imported from Microsoft GraphRAG: change its documents there" in done.err
    assert current_version(imported) == before


def test_what_was_built_from_documents_is_not_replaced(sample_root: Path) -> None:
    done = conspectus("import-graphrag", EXCERPT, "--index", sample_root, "-q")
    assert done.status == 2
    assert "was built from documents" in done.err


def test_it_is_told_what_was_read(tmp_path: Path) -> None:
    write(small(), tmp_path / "project" / "output")
    done = conspectus("import-graphrag", tmp_path / "project", "--index", tmp_path / "i", "-q")
    assert done.status == 0
    assert done.out.startswith("read 1 documents, 2 text units, 4 entities, 3 relationships")
    assert "1 relationships join two entities that another row joins" in done.out


@pytest.mark.parametrize(
    ("change", "status", "said"),
    [
        ("gone", 3, "there is no such folder"),
        ("table", 3, "lacks communities.parquet"),
        ("kg", 2, "kg.files: an import takes no further graph"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, change: str, status: int, said: str) -> None:
    folder = write(small(), tmp_path / "t")
    words: list[str | Path] = ["import-graphrag", folder, "--index", tmp_path / "i", "-q"]
    if change == "gone":
        words[1] = tmp_path / "nowhere"
    elif change == "table":
        (folder / "communities.parquet").unlink()
    else:
        Path("a.tsv").write_text("a\tb\tc\n")
        words += ["--set", "kg.files=[a.tsv]"]
    done = conspectus(*words)
    assert (done.status, done.out, done.err.count("\n")) == (status, "", 1)
    assert said in done.err
    assert not (tmp_path / "i").exists()


def test_a_filter_holds_for_what_was_imported(tmp_path: Path) -> None:
    tables = small()
    other = replace(
        tables.documents[0], id="d2", title="Secret", text="The Vault of Orm is in Tarn.", raw_data={"year": 2001}
    )
    unit = replace(tables.text_units[0], id="u3", text="The Vault of Orm is in Tarn.", document_id="d2")
    orm = replace(tables.entities[1], id="e9", title="VAULT OF ORM", description="A vault.", text_unit_ids=("u3",))
    ada = replace(tables.entities[0], text_unit_ids=("u1", "u2", "u3"), description="She hides in the vault.")
    made = replace(
        tables,
        documents=[tables.documents[0], other],
        text_units=[*tables.text_units, unit],
        entities=[ada, *tables.entities[1:], orm],
    )
    index = package.import_graphrag(write(made, tmp_path / "t"), tmp_path / "i")
    assert index.verify() == []
    narrowed = index.filter("year = 1970").context.index
    told = " ".join(
        [each.name + each.description for each in narrowed.rows(Entity)]
        + [each.description for each in narrowed.rows(Relation)]
        + [each.full_text for each in narrowed.rows(Report)]
        + [each.description for each in narrowed.rows(Claim)]
    )
    assert "ADA MIRREN" in told.upper()
    assert "vault" not in told.lower()
    done = index.filter("year = 1970").export("graphrag", tmp_path / "out")
    assert done.rows["documents"] == 1
    read = " ".join(str(pq.read_table(path).to_pylist()) for path in sorted((tmp_path / "out").glob("*.parquet")))
    assert "vault" not in read.lower()


def test_an_index_of_ours_comes_back(sample_root: Path, tmp_path: Path) -> None:
    told("export", "graphrag", "--index", sample_root, "--to", tmp_path / "out")
    settings = load_settings(overrides={"synonyms": {"threshold": 0.6}})  # as that index was made with
    index = package.import_graphrag(tmp_path / "out", tmp_path / "i", settings).context.index
    before = StoredIndex.open(sample_root)
    for name in ("chunks", "names", "synonyms", "reports"):
        assert index.rows(TABLES[name]) == before.rows(TABLES[name]), name
    untyped = [replace(each, types=each.types[:1]) for each in before.rows(Entity)]
    assert index.rows(Entity) == untyped
    assert {each.name for each in index.rows(Entity)} >= {"C++", "北京大学", "Paul Marlow"}
