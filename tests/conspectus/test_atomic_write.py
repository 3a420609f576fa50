"""What is written takes its place whole, or not at all."""

from pathlib import Path

import pytest
from conspectus.exporting import placing
from conspectus.storage.errors import UsageError

FOLDER = ("*.csv",)


def put(to: Path, text: str, names: tuple[str, ...] = (), *, force: bool = False) -> None:
    with placing(to, names, force=force) as staged:
        assert not staged.exists()
        if names:
            staged.mkdir()
            (staged / "a.csv").write_text(text)
        else:
            staged.write_text(text)
        assert to.read_text() != text if to.is_file() else True


def test_a_file_and_a_folder(tmp_path: Path) -> None:
    put(tmp_path / "a", "1")
    put(tmp_path / "f", "1", FOLDER)
    (tmp_path / "empty").mkdir()
    put(tmp_path / "empty", "1", FOLDER)
    assert [(tmp_path / each).read_text() for each in ("a", "f/a.csv", "empty/a.csv")] == ["1", "1", "1"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "empty", "f"], "nothing is left beside"


def test_what_is_there_stays_unless_forced(tmp_path: Path) -> None:
    for place, names in ((tmp_path / "a", ()), (tmp_path / "f", FOLDER)):
        put(place, "1", names)
        with pytest.raises(UsageError, match="--force"):
            put(place, "2", names)
        put(place, "3", names, force=True)
    assert ((tmp_path / "a").read_text(), (tmp_path / "f" / "a.csv").read_text()) == ("3", "3")


def test_force_replaces_a_whole_export_and_nothing_else(tmp_path: Path) -> None:
    put(tmp_path / "f", "1", FOLDER)
    (tmp_path / "f" / "old.csv").write_text("stale")
    put(tmp_path / "f", "2", FOLDER, force=True)
    assert [each.name for each in (tmp_path / "f").iterdir()] == ["a.csv"]
    (tmp_path / "f" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="which is no part of such an export"):
        put(tmp_path / "f", "3", FOLDER, force=True)
    assert (tmp_path / "f" / "thesis.txt").read_text() == "years of work"
    assert (tmp_path / "f" / "a.csv").read_text() == "2"


def test_an_error_changes_nothing(tmp_path: Path) -> None:
    put(tmp_path / "a", "1")

    def fails() -> None:
        with placing(tmp_path / "a", (), force=True) as staged:
            staged.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        fails()
    assert (tmp_path / "a").read_text() == "1"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    (tmp_path / "folder" / "a.csv").write_text("x")
    cases: list[tuple[Path, tuple[str, ...], str]] = [
        (tmp_path / "none" / "a", (), "there is no folder"),
        (tmp_path / "folder", (), "is a folder; name a file"),
        (tmp_path / "file", FOLDER, "is a file; name a folder"),
        (tmp_path / "link", FOLDER, "is a link"),
        (Path("/"), FOLDER, "not the name"),
        (Path(), (), "not the name"),
    ]
    for place, names, what in cases:
        with pytest.raises(UsageError, match=what):
            put(place, "1", names, force=True)


def test_what_comes_meanwhile_stays(tmp_path: Path) -> None:
    def late() -> None:
        with placing(tmp_path / "a", (), force=False) as staged:
            staged.write_text("ours")
            (tmp_path / "a").write_text("theirs")

    with pytest.raises(UsageError, match="already exists"):
        late()
    assert (tmp_path / "a").read_text() == "theirs"
