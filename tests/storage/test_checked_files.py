"""A large file is hashed once, and again as soon as it is another."""

import os
from pathlib import Path

import pytest
from conspectus.storage import checked_files, manifest, publishing
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.manifest import Manifest, verified_file
from conspectus.storage.publishing import publish, staging


@pytest.fixture
def version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Manifest]:
    for module in (manifest, publishing):
        monkeypatch.setattr(module, "LARGE_FILE", 1)
    monkeypatch.setattr(manifest, "_checked", set())
    with staging(tmp_path) as folder:
        (folder / "a.txt").write_text("one", "utf-8")
        made = publish(tmp_path, folder, settings={}, fingerprint="f", rows={}, models={}, tools={})
    return tmp_path / "versions" / made.version, made


def test_what_the_build_hashed_is_not_hashed_again(
    version: tuple[Path, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, made = version
    monkeypatch.setattr(manifest, "file_digest", lambda path: pytest.fail(f"{path} was hashed"))
    assert verified_file(folder, "a.txt", made.files).read_text("utf-8") == "one"


def test_another_text_is_found_whatever_its_time_says(version: tuple[Path, Manifest]) -> None:
    folder, made = version
    before = (folder / "a.txt").stat()
    (folder / "a.txt").write_text("two", "utf-8")
    os.utime(folder / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(IndexCorrupt, match="does not match its checksum"):
        verified_file(folder, "a.txt", made.files)


@pytest.mark.parametrize("text", ["", "[]", '{"a.txt": 1}', "[" * 100_000])
def test_a_damaged_record_only_costs_time(version: tuple[Path, Manifest], text: str) -> None:
    folder, made = version
    place = next((folder.parent.parent / "cache" / checked_files.FOLDER).rglob("files.json"))
    place.write_text(text, "utf-8")
    verified_file(folder, "a.txt", made.files)
    assert checked_files.is_remembered(
        folder, "a.txt", checked_files.state((folder / "a.txt").stat(), made.files["a.txt"]["sha256"])
    )
