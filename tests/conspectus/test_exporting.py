"""Exports from the command line and from Python."""

import csv
import json
from pathlib import Path

import conspectus
import pytest
from conspectus.exporting import EXPORTS
from conspectus.storage.errors import UsageError
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Mention, Relation
from conspectus.storage.tables import TABLES

from tests.command_line import conspectus as run


@pytest.mark.parametrize("name", ["graphml", "ntriples", "openie", "csv", "csv:spreadsheet"])
def test_each_format_is_written_and_told(sample_root: Path, tmp_path: Path, name: str) -> None:
    done = run("export", name, "--index", sample_root, "--to", tmp_path / "out", "--quiet")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"wrote {tmp_path / 'out'}: ")
    assert (tmp_path / "out").is_dir() == bool(EXPORTS[name].holds)
    again = run("export", name, "--index", sample_root, "--to", tmp_path / "out")
    assert (again.status, again.err.count("\n")) == (2, 1)
    assert "--force" in again.err
    forced = run("export", name, "--index", sample_root, "--to", tmp_path / "out", "--force", "--json", "-q")
    told = json.loads(forced.out)
    assert told["format"] == name
    assert all(Path(each).is_file() for each in told["files"])
    assert set(map(Path, told["files"])) == (
        set((tmp_path / "out").iterdir()) if EXPORTS[name].holds else {tmp_path / "out"}
    )


@pytest.mark.parametrize("name", [name for name, each in EXPORTS.items() if not each.to_server])
def test_what_a_folder_holds_can_be_replaced(sample_root: Path, tmp_path: Path, name: str) -> None:
    index = conspectus.open(sample_root)
    first = index.export(name, tmp_path / "out")
    content = {each.name: each.read_bytes() for each in first.files}
    second = index.export(name, tmp_path / "out", force=True)
    assert {each.name: each.read_bytes() for each in second.files} == content, "the same index, the same bytes"


def test_an_unknown_format_is_one_line_with_the_nearest(sample_root: Path, tmp_path: Path) -> None:
    done = run("export", "graphmll", "--index", sample_root, "--to", tmp_path / "out")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("conspectus: unknown format 'graphmll'; did you mean 'graphml'? There are: ")
    with pytest.raises(UsageError, match="did you mean 'csv'"):
        conspectus.open(sample_root).export("cvs", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_help_lists_the_formats(tmp_path: Path) -> None:
    out = run("export", "--help").out
    for name, each in EXPORTS.items():
        assert f"  {name} " in out
        assert each.about in out


def test_a_narrowed_index_exports_what_it_has(sample_root: Path, tmp_path: Path) -> None:
    done = conspectus.open(sample_root).filter('title = "Oxford"').export("csv", tmp_path / "out")
    assert done.rows["documents"] == 1
    assert "Stroustrup" not in "".join(each.read_text("utf-8") for each in done.files)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, strict=True))


def test_the_tables_are_all_there_to_the_letter(sample_root: Path, tmp_path: Path) -> None:
    index = StoredIndex.open(sample_root)
    conspectus.open(sample_root).export("csv", tmp_path / "out")
    for name, record in TABLES.items():
        assert len(rows(tmp_path / "out" / f"{name}.csv")) == len(index.rows(record))
    names = {each.id: each.name for each in index.rows(Entity)}
    for row, relation in zip(rows(tmp_path / "out" / "relations.csv"), index.rows(Relation), strict=True):
        assert (row["id"], row["predicate"], row["description"]) == (
            relation.id,
            relation.predicate,
            relation.description,
        )
        assert (row["source"], row["target"]) == (names[relation.source_id], names[relation.target_id])
        assert (float(row["weight"]), json.loads(row["chunk_ids"])) == (relation.weight, list(relation.chunk_ids))
    for row, mention in zip(rows(tmp_path / "out" / "mentions.csv"), index.rows(Mention), strict=True):
        assert (row["start"], row["end"]) == tuple(
            "" if each is None else str(each) for each in (mention.start, mention.end)
        )
        assert (row["surface"], row["entity"]) == (mention.surface, names.get(mention.entity_id or "", ""))
    assert b"\r\n" in (tmp_path / "out" / "claims.csv").read_bytes(), "RFC 4180"


def test_a_broken_index_and_a_place_within_it(sample_root: Path, tmp_path: Path) -> None:
    done = run("export", "csv", "--index", tmp_path / "none", "--to", tmp_path / "out")
    assert (done.status, done.err.count("\n")) == (4, 1)
    done = run("export", "csv", "--index", sample_root, "--to", sample_root, "--force")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "no part of such an export" in done.err
