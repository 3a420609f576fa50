"""Whatever can be wrong with an index on disk is found and named."""

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.index import StoredIndex
from conspectus.storage.publishing import publish, staging
from conspectus.storage.records import Community, Place, Report, Span
from conspectus.storage.tables import TABLES, write_table
from conspectus.storage.text.bm25 import write_bm25
from conspectus.storage.vectors.codes import CodedIndex
from conspectus.storage.vectors.faiss_index import codes_path, write_faiss
from conspectus.storage.verify import Problem, verify

Change = Callable[[Path, StoredIndex], None]


@pytest.fixture
def copy(sample_root: Path, tmp_path: Path) -> Path:
    """A copy of the sample index to damage."""
    root = tmp_path / "index"
    shutil.copytree(sample_root, root, ignore=shutil.ignore_patterns("cache", ".lock"))
    return root


def folder_of(root: Path) -> Path:
    return StoredIndex.open(root).folder


def problems(root: Path) -> list[Problem]:
    return verify(StoredIndex.open(root))


def changed(sample_root: Path, root: Path, change: Change, rows: dict[str, int] | None = None) -> list[Problem]:
    """Publish the sample index with a change, so that checksums hold, and return what is wrong with it."""
    built = StoredIndex.open(sample_root)
    with staging(root) as folder:
        shutil.copytree(built.folder, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("manifest.json"))
        change(folder, built)
        facts = built.manifest
        publish(
            root, folder, settings=facts.settings, fingerprint="", rows={**facts.rows, **(rows or {})},
            models=facts.models, tools=facts.tools,
        )  # fmt: skip
    return problems(root)


def table(name: str, edit: Callable[[list[Any]], Sequence[object]]) -> Change:
    def change(folder: Path, built: StoredIndex) -> None:
        write_table(folder / f"{name}.parquet", TABLES[name], edit(list(built.rows(TABLES[name]))))

    return change


def first(**values: object) -> Callable[[list[Any]], list[Any]]:
    return lambda rows: [replace(rows[0], **values), *rows[1:]]


def test_a_built_index_is_sound(sample_root: Path) -> None:
    assert problems(sample_root) == []


def test_every_file_is_guarded(copy: Path) -> None:
    """One bit of any file, its loss, or its end cut off: the file is named, and only that file."""
    folder = folder_of(copy)
    manifest = StoredIndex.open(copy).manifest
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == {
        *manifest.files,
        "manifest.json",
    }
    for name in manifest.files:
        path = folder / name
        whole = path.read_bytes()
        middle = len(whole) // 2
        for content in (whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :], whole[:-1], None):
            path.unlink()
            if content is not None:
                path.write_bytes(content)
            assert problems(copy) == [Problem(name, "missing or not what its checksum says")]
        path.write_bytes(whole)
    assert problems(copy) == []


def test_a_file_that_does_not_belong(copy: Path) -> None:
    folder = folder_of(copy)
    (folder / "vectors" / "notes.txt").write_text("mine")
    (folder / "graph" / "indices.npy").write_bytes(b"")
    assert problems(copy) == [
        Problem("graph/indices.npy", "missing or not what its checksum says"),
        Problem("vectors/notes.txt", "not named in the manifest"),
    ]


@pytest.mark.parametrize("change", [{"settings": {"chunks": {"chunk_size": 3}}}, {"files": {}}])
def test_a_manifest_that_was_edited(change: dict[str, object], copy: Path) -> None:
    path = folder_of(copy) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **change}), "utf-8")
    found = problems(copy)
    assert found[0] == Problem("manifest.json", "settings or checksums are not those that the version is named after")


def test_swapped_and_foreign_tables_with_checksums_that_hold(sample_root: Path, tmp_path: Path) -> None:
    def swap(folder: Path, built: StoredIndex) -> None:
        (folder / "relations.parquet").write_bytes((built.folder / "entities.parquet").read_bytes())

    found = changed(sample_root, tmp_path, swap)
    assert found
    assert all("relations.parquet has columns" in each.what for each in found)


def twice(rows: list[Any]) -> list[Any]:
    return [rows[0], *rows]


def reverse(rows: list[Any]) -> list[Any]:
    return rows[::-1]


def less(rows: list[Any]) -> list[Any]:
    return rows[1:]


def elsewhere(rows: list[Any]) -> list[Any]:
    """Move the span of the first mention that has one."""
    row = next(i for i, each in enumerate(rows) if each.start is not None)
    return [*rows[:row], replace(rows[row], start=rows[row].start + 1), *rows[row + 1 :]]


def doubled(rows: list[Community]) -> list[Community]:
    """Put an entity of one community into another of its level too."""
    other = next(each for each in rows[1:] if each.level == rows[0].level)
    return first(entity_ids=(*rows[0].entity_ids, other.entity_ids[0]))(rows)


def past_the_end(rows: list[Report]) -> list[Report]:
    cited = rows[0].findings[0]
    span = replace(cited.citations[0], end=10**6)
    return first(findings=(replace(cited, citations=(span,)), *rows[0].findings[1:]))(rows)


def unknown_document(rows: list[Report]) -> list[Report]:
    cited = replace(rows[0].findings[0], citations=(Span("nowhere", "nothing", 0, 1),))
    return first(findings=(cited,))(rows)


@pytest.mark.parametrize(
    ("name", "edit", "where", "what"),
    [
        ("documents", first(places=(Place(5, "page", "2", 0), Place(0, "page", "1", 0))), "documents ", "not sorted"),
        ("documents", first(places=(Place(10**6, "page", "1", 0),)), "documents ", "outside its text"),
        ("documents", first(places=(Place(-1, "page", "1", 0),)), "documents ", "outside its text"),
        ("documents", first(places=(Place(0, "heading", "x", 0),)), "documents ", "a level that"),
        ("synonyms", less, "synonyms", "the manifest counts"),
        ("entities", twice, "entities", "stands twice"),
        ("chunks", reverse, "chunks", "not sorted"),
        ("chunks", first(text="something else"), "chunks ", "not what stands at its span"),
        ("chunks", first(document_id="nowhere"), "chunks ", "names document nowhere"),
        ("mentions", elsewhere, "mentions ", "surface is not what stands"),
        ("mentions", first(chunk_id="nowhere"), "mentions ", "names chunk nowhere"),
        ("mentions", first(entity_id="nobody", relation_id=None), "mentions ", "names entity nobody"),
        ("mentions", first(entity_id=None, relation_id="nothing"), "mentions ", "names relation nothing"),
        ("mentions", first(entity_id=None, relation_id=None), "mentions ", "one entity or one relation"),
        ("relations", first(target_id="nobody"), "relations ", "names entity nobody"),
        ("relations", first(chunk_ids=("nowhere",)), "relations ", "names chunk nowhere"),
        ("names", first(chunk_ids=("nowhere",)), "names ", "names chunk nowhere"),
        ("synonyms", first(target_id="nobody"), "synonyms ", "names entity nobody"),
        ("communities", first(parent_id="nowhere"), "communities ", "names community nowhere"),
        ("communities", first(same_as="nowhere"), "communities ", "names community nowhere"),
        ("communities", first(entity_ids=()), "communities of level", "every entity exactly once"),
        ("communities", doubled, "communities of level", "every entity exactly once"),
        ("reports", first(community_id="nowhere"), "reports ", "names community nowhere"),
        ("reports", past_the_end, "reports ", "lies outside its document"),
        ("reports", unknown_document, "reports ", "names document nowhere"),
    ],
)
def test_what_tables_say_must_hold(
    name: str, edit: Callable[[list[Any]], list[Any]], where: str, what: str, sample_root: Path, tmp_path: Path
) -> None:
    found = changed(sample_root, tmp_path, table(name, edit))
    assert any(each.where.startswith(where) and what in each.what for each in found), found


def other_graph(folder: Path, built: StoredIndex) -> None:
    Adjacency.from_edges(3, [0], [1], [1.0]).save(folder / "graph")


def broken_graph(folder: Path, built: StoredIndex) -> None:
    np.save(folder / "graph" / "strength.npy", np.zeros(3))


def other_words(folder: Path, built: StoredIndex) -> None:
    write_bm25(folder / "bm25", ["one", "two"], ["en", "en"])


def with_codes(folder: Path, built: StoredIndex, of: str) -> None:
    """Write codes of a table's vectors beside those of the entities."""
    vectors = built.vectors(of)
    path = folder / "vectors" / f"{of}.faiss"
    write_faiss(path, vectors.windows.vectors(np.arange(vectors.windows.n_rows)), exact_rows=0)
    codes_path(path).rename(folder / "vectors" / "entities.codes")


def test_codes_are_found_beside_their_vectors(sample_root: Path, tmp_path: Path) -> None:
    assert changed(sample_root, tmp_path, lambda *facts: with_codes(*facts, "entities")) == []
    index, plain = StoredIndex.open(tmp_path).vectors("entities"), StoredIndex.open(sample_root).vectors("entities")
    assert isinstance(index.windows, CodedIndex)
    queries = plain.windows.vectors(np.arange(3))
    for one, other in zip(index.search(queries, 5), plain.search(queries, 5), strict=True):
        np.testing.assert_array_equal(one, other)


def other_codes(folder: Path, built: StoredIndex) -> None:
    with_codes(folder, built, "reports")


def other_vectors(folder: Path, built: StoredIndex) -> None:
    for suffix in (".faiss", ".rows.npy"):
        source = built.folder / "vectors" / f"reports{suffix}"
        (folder / "vectors" / f"chunks{suffix}").write_bytes(source.read_bytes())


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (other_graph, "3 nodes; chunks and entities are"),
        (broken_graph, "strength.npy"),
        (other_words, "ranks 2 rows; the table has"),
        (other_vectors, "of a table that has"),
        (other_codes, "entities.codes: not the codes of"),
    ],
)
def test_arrays_must_fit_their_tables(change: Change, what: str, sample_root: Path, tmp_path: Path) -> None:
    assert any(what in each.what for each in changed(sample_root, tmp_path, change))


def test_rows_that_the_manifest_miscounts(sample_root: Path, tmp_path: Path) -> None:
    found = changed(sample_root, tmp_path, lambda folder, built: None, rows={"claims": 7})
    assert found == [Problem("claims", "0 rows; the manifest counts 7")]
