"""An index of an earlier format opens after one command."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from conspectus.pipelines.migration import migrate
from conspectus.storage.errors import IndexCorrupt, IndexTooNew
from conspectus.storage.hashing import file_digest
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import FORMAT_VERSION
from conspectus.storage.records import Document, Merge, Origin, Relation
from conspectus.storage.settings import load_settings
from conspectus.storage.verify import verify

from conspectus.api import open_index
from tests.command_line import conspectus

FORMAT_2 = Path(__file__).parent / "data" / "format2"
"""Three documents as the last program with format 2 indexed them, without its memo."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    shutil.copytree(FORMAT_2, tmp_path / "index")
    return tmp_path / "index"


def change_manifest(index: Path, **values: object) -> None:
    version = (index / "CURRENT").read_text("utf-8").strip()
    path = index / "versions" / version / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **values}), "utf-8")


def test_format_2_is_taken_over_with_what_it_lacked(old: Path, tmp_path: Path) -> None:
    with pytest.raises(IndexCorrupt, match="bring it up to date with: conspectus migrate --index"):
        StoredIndex.open(old)
    done = migrate(old, load_settings())
    assert (done.before_format, done.how) == (2, "files")
    index = StoredIndex.open(old)
    assert (index.manifest.version, index.manifest.format_version) == (done.after, FORMAT_VERSION)
    assert verify(index) == []
    before = old / "versions" / done.before
    for path in before.rglob("*.*"):
        # The terms of the lexical index have changed.
        if path.is_file() and path.name != "manifest.json" and path.parent.name != "bm25":
            assert file_digest(path) == file_digest(index.folder / path.relative_to(before))
    predicates = {each.predicate for each in index.rows(Relation)}
    assert index.manifest.rows["predicates"] == index.vectors("predicates").n_rows == len(predicates) > 2
    opened = open_index(old)
    assert "polonium" in opened.retrieve("Who discovered polonium?", "hybrid").passages[0].text
    assert opened.ask("Who discovered polonium?").citations
    again = conspectus("migrate", "--index", old)
    assert again.out.endswith(f"version {done.after} has the current format, nothing to do\n")


def test_an_update_goes_on_from_what_was_migrated(old: Path, tmp_path: Path) -> None:
    done = conspectus("migrate", "--index", old, "--json", "--quiet")
    assert json.loads(done.out)["how"] == "files"
    (tmp_path / "Seine.txt").write_text("The Seine flows through Paris.", "utf-8")
    assert conspectus("add", tmp_path / "Seine.txt", "--index", old, "--quiet").status == 0
    index = StoredIndex.open(old)
    assert len(index.rows(Document)) == 4
    assert verify(index) == []


def test_format_3_lacks_two_tables(old: Path) -> None:
    migrate(old, load_settings())
    index = StoredIndex.open(old)
    files = dict(index.manifest.files)
    for name in ("merges", "origins"):
        (index.folder / f"{name}.parquet").unlink()
        del files[f"{name}.parquet"]
    rows = {name: n for name, n in index.manifest.rows.items() if name not in ("merges", "origins")}
    change_manifest(old, format_version=3, files=files, rows=rows)
    done = migrate(old, load_settings())
    assert (done.before_format, done.how) == (3, "files")
    assert verify(StoredIndex.open(old)) == []
    assert StoredIndex.open(old).rows(Merge) == StoredIndex.open(old).rows(Origin) == []


def test_what_is_older_is_built_from_its_documents(old: Path) -> None:
    """Format 1 had documents without places."""
    version = old / "versions" / (old / "CURRENT").read_text("utf-8").strip()
    documents = version / "documents.parquet"
    pq.write_table(pq.read_table(documents).drop_columns(["places"]), documents)
    files = json.loads((version / "manifest.json").read_text("utf-8"))["files"]
    files["documents.parquet"]["sha256"] = file_digest(documents)
    change_manifest(old, format_version=1, files=files)
    settings = load_settings(overrides={"extraction": {"pipeline": "regex"}})
    done = migrate(old, settings)
    assert (done.before_format, done.how) == (1, "documents")
    index = StoredIndex.open(old)
    assert verify(index) == []
    assert {each.id: each.metadata for each in index.rows(Document)}["x1"] == {"year": "1810"}


def test_what_is_damaged_or_newer_is_refused(old: Path) -> None:
    victim = next(old.glob("versions/*/entities.parquet"))
    victim.write_bytes(victim.read_bytes()[:-1])
    with pytest.raises(IndexCorrupt, match=r"entities\.parquet is missing or damaged"):
        migrate(old, load_settings())
    change_manifest(old, format_version=FORMAT_VERSION + 1)
    with pytest.raises(IndexTooNew, match="upgrade it"):
        migrate(old, load_settings())
