"""Publishing, opening and refusing versions of an index."""

import json
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conspectus.storage.errors import IndexBusy, IndexCorrupt, IndexNotFound
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import (
    FORMAT_VERSION,
    Manifest,
    current_manifest,
    current_version,
    damaged_files,
    read_manifest,
)
from conspectus.storage.publishing import build_lock, publish, staging, version_name

from tests.waiting import wait_until


def published(root: Path, files: dict[str, str], **facts: object) -> Manifest:
    given: dict[str, Any] = {"settings": {"a": {"b": 1}}, "fingerprint": "f", "rows": {}, "models": {}, "tools": {}}
    with staging(root) as folder:
        for name, text in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, "utf-8")
        return publish(root, folder, **(given | facts))


def names_below(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_what_is_published_is_what_is_opened(tmp_path: Path) -> None:
    manifest = published(tmp_path, {"a.txt": "one", "sub/b.txt": "two"}, rows={"chunks": 3})
    index = StoredIndex.open(tmp_path)
    assert index.manifest == manifest == current_manifest(tmp_path)
    assert (index.folder / "sub" / "b.txt").read_text() == "two"
    assert set(manifest.files) == {"a.txt", "sub/b.txt"}
    assert damaged_files(tmp_path, manifest) == []
    assert names_below(tmp_path) == {"CURRENT", "PUBLISHED", *(f"versions/{manifest.version}/{n}" for n in (
        "a.txt", "sub/b.txt", "manifest.json"))}  # fmt: skip


def test_a_version_is_named_by_content_and_settings_alone(tmp_path: Path) -> None:
    files = {"a.txt": "one", "b.txt": "two"}
    first = published(tmp_path / "x", files)
    for facts in ({}, {"fingerprint": "g"}, {"tools": {"numpy": "9"}}, {"models": {"m": "n"}}, {"rows": {"chunks": 1}}):
        assert published(tmp_path / "elsewhere", files, **facts).version == first.version
    assert version_name(first.settings, first.files) == first.version
    others = [
        published(tmp_path / "x", files, settings={"a": {"b": 2}}),
        published(tmp_path / "x", {**files, "a.txt": "One"}),
        published(tmp_path / "x", {**files, "c.txt": ""}),
        published(tmp_path / "x", {"a.txt": "one"}),
        published(tmp_path / "x", {"a.txt": "two", "b.txt": "one"}),
    ]
    assert len({first.version, *(each.version for each in others)}) == 6


def test_equal_content_with_new_facts_updates_the_manifest(tmp_path: Path) -> None:
    """Otherwise a build whose tables come out the same would never again be recognised as unchanged."""
    old = published(tmp_path, {"a.txt": "one"}, fingerprint="before", tools={"numpy": "1"})
    new = published(tmp_path, {"a.txt": "one"}, fingerprint="after", tools={"numpy": "2"})
    assert new.version == old.version
    assert read_manifest(tmp_path, new.version) == new
    assert current_manifest(tmp_path) == new


@pytest.mark.parametrize("broken", ["a.txt", "manifest.json"])
@pytest.mark.parametrize("content", [None, "junk"])
def test_publishing_repairs_a_damaged_version(broken: str, content: str | None, tmp_path: Path) -> None:
    manifest = published(tmp_path, {"a.txt": "one", "b.txt": "two"})
    path = tmp_path / "versions" / manifest.version / broken
    path.unlink()
    if content is not None:
        path.write_text(content)
    assert published(tmp_path, {"a.txt": "one", "b.txt": "two"}) == manifest
    assert StoredIndex.open(tmp_path).manifest == manifest
    assert damaged_files(tmp_path, manifest) == []


def test_a_failing_build_leaves_the_version_in_force(tmp_path: Path) -> None:
    manifest = published(tmp_path, {"a.txt": "one"})
    before = names_below(tmp_path)
    with pytest.raises(TypeError):
        published(tmp_path, {"a.txt": "two"}, settings={"a": {1, 2}})  # what no manifest can hold
    with pytest.raises(FileExistsError):
        published(tmp_path, {"a": "two", "a/b": "three"})
    assert names_below(tmp_path) == before
    assert StoredIndex.open(tmp_path).manifest == manifest


def test_what_a_dead_build_left_is_removed(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from conspectus.storage.publishing import staging\n"
        "with staging(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'half.txt').write_text('half'); os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path], check=False).returncode == 9
    left = list((tmp_path / "versions").iterdir())
    assert len(left) == 1
    assert (left[0] / "half.txt").is_file()
    with pytest.raises(IndexNotFound):
        StoredIndex.open(tmp_path)
    manifest = published(tmp_path, {"a.txt": "one"})
    assert [each.name for each in (tmp_path / "versions").iterdir()] == [manifest.version]


def test_readers_only_ever_see_whole_versions(tmp_path: Path) -> None:
    published(tmp_path, {"a.txt": "0", "b.txt": "0"})
    stop = threading.Event()
    seen: set[str] = set()

    def read() -> None:
        while not stop.is_set():
            index = StoredIndex.open(tmp_path)
            assert damaged_files(tmp_path, index.manifest) == []
            assert (index.folder / "a.txt").read_text() == (index.folder / "b.txt").read_text()
            seen.add(index.manifest.version)

    with ThreadPoolExecutor(2) as threads:
        readers = [threads.submit(read) for _ in range(2)]
        try:
            versions = set()
            for number in range(1, 40):
                versions.add(published(tmp_path, {"a.txt": str(number), "b.txt": str(number)}).version)
                if number % 13 == 0:
                    wait_until(lambda: current_version(tmp_path) in seen)
        finally:
            stop.set()
        for each in readers:
            each.result()
    assert len(seen & versions) > 1


@pytest.mark.parametrize(
    "content",
    ["", " ", "..", ".", "../../etc", "/etc", "versions/..", "0123456789ab/..", "0123456789AB", "0123456789a",
     "0123456789abc", "0123456789ab\n0123456789ab", ".staging-1", "\x00" * 12, "\udcff", "０１２３４５６７８９ab"],
)  # fmt: skip
def test_current_names_a_version_and_nothing_else(content: str, tmp_path: Path) -> None:
    published(tmp_path, {"a.txt": "one"})
    (tmp_path / "CURRENT").write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(IndexCorrupt, match="does not name a version"):
        StoredIndex.open(tmp_path)
    assert current_manifest(tmp_path) is None


def test_a_folder_that_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(IndexNotFound, match="no such folder"):
        StoredIndex.open(tmp_path / "absent")
    with pytest.raises(IndexNotFound, match="no CURRENT file"):
        StoredIndex.open(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexNotFound):
        StoredIndex.open(tmp_path / "file")
    (tmp_path / "CURRENT").mkdir()
    with pytest.raises(IndexNotFound):
        current_version(tmp_path)


def test_a_pointer_to_a_version_that_is_gone(tmp_path: Path) -> None:
    published(tmp_path, {"a.txt": "one"})
    (tmp_path / "CURRENT").write_text("0123456789ab\n")
    with pytest.raises(IndexCorrupt, match=r"0123456789ab/manifest\.json is missing"):
        StoredIndex.open(tmp_path)


def rewritten(root: Path, manifest: Manifest, **facts: object) -> None:
    path = root / "versions" / manifest.version / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **facts}), "utf-8")


@pytest.mark.parametrize(
    "text", ["", "junk", "[]", "{}", "null", '"x"', "1", '{"version": "x"}', "\xff", "[" * 200_000]
)
def test_a_file_that_is_no_manifest(text: str, tmp_path: Path) -> None:
    manifest = published(tmp_path, {"a.txt": "one"})
    (tmp_path / "versions" / manifest.version / "manifest.json").write_text(text, "latin-1")
    with pytest.raises(IndexCorrupt, match="is not a manifest"):
        StoredIndex.open(tmp_path)


def test_a_manifest_of_another_version_or_format(tmp_path: Path) -> None:
    manifest = published(tmp_path, {"a.txt": "one"})
    rewritten(tmp_path, manifest, version="0123456789ab")
    with pytest.raises(IndexCorrupt, match="calls itself version '0123456789ab'"):
        StoredIndex.open(tmp_path)
    # Another format may have other keys; that is no damage.
    rewritten(tmp_path, manifest, version=manifest.version, format_version=FORMAT_VERSION + 1, shards=[])
    with pytest.raises(IndexCorrupt, match=f"has index format {FORMAT_VERSION + 1}, and .* build the index again"):
        StoredIndex.open(tmp_path)


def test_one_build_at_a_time(tmp_path: Path) -> None:
    root = tmp_path / "index"
    code = "import sys, pathlib, conspectus.storage.publishing as i\nwith i.build_lock(pathlib.Path(sys.argv[1])): pass"
    with build_lock(root):
        other = subprocess.run([sys.executable, "-c", code, root], check=False, capture_output=True, text=True)
        assert "IndexBusy" in other.stderr
        with pytest.raises(IndexBusy), build_lock(root):
            pass
    with build_lock(root):
        pass


def test_what_is_derived_is_made_once_however_many_ask(tmp_path: Path) -> None:
    published(tmp_path, {"a.txt": "one"})
    index = StoredIndex.open(tmp_path)
    made: list[object] = []

    def make() -> object:
        time.sleep(0.02)
        made.append(object())
        return made[-1]

    with ThreadPoolExecutor(8) as threads:
        kept = list(threads.map(lambda _: index.once("thing", make), range(16)))
    assert len(made) == 1
    assert all(each is made[0] for each in kept)
