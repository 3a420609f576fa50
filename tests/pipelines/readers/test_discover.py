import os
from pathlib import Path

import pytest
from conspectus.pipelines.readers.discover import find_files
from conspectus.storage.errors import InputError


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"The text of {name}.")


def names(*inputs: Path | str) -> list[str]:
    files, failures = find_files(inputs)
    assert failures == []
    return [file.uri for file in files]


def test_a_folder_stands_for_its_files_without_hidden_ones_and_clutter(tmp_path: Path) -> None:
    make(tmp_path, "b.txt", "a/c.txt", "a/b/d.md", "README.md")
    make(tmp_path, ".hidden", ".git/config.txt", "a/.x/y.txt", "Thumbs.db", "b.txt~", "__MACOSX/b.txt")
    assert names(tmp_path) == ["README.md", "a/b/d.md", "a/c.txt", "b.txt"]
    assert names(str(tmp_path / "a")) == ["b/d.md", "c.txt"]
    assert names(tmp_path / "a" / "c.txt") == ["c.txt"]


def test_globs_name_files_from_the_part_without_wildcards(tmp_path: Path) -> None:
    make(tmp_path, "b.txt", "a/c.txt", "a/b/d.txt", "a/b/e.md", ".h/i.txt", "x[1].txt")
    assert names(tmp_path / "*.txt") == ["b.txt", "x[1].txt"]
    assert names(tmp_path / "**" / "*.txt") == ["a/b/d.txt", "a/c.txt", "b.txt", "x[1].txt"]
    assert names(tmp_path / "a" / "*") == ["b/d.txt", "b/e.md", "c.txt"]
    assert names(tmp_path / "x[1].txt") == ["x[1].txt"]
    assert names(tmp_path / ".h" / "*") == ["i.txt"]


def test_links_are_followed_to_files_inside_only(tmp_path: Path) -> None:
    root = tmp_path / "root"
    make(tmp_path, "secret.txt", "root/a/b.txt", "root/.data/c.txt", "elsewhere/d.txt")
    (root / "out.txt").symlink_to(tmp_path / "secret.txt")
    (root / "outside").symlink_to(tmp_path / "elsewhere")
    (root / "same.txt").symlink_to("a/b.txt")
    (root / "c.txt").symlink_to(".data/c.txt")
    (root / "up").symlink_to("..")
    (root / "a" / "loop").symlink_to("..", target_is_directory=True)
    (root / "gone.txt").symlink_to("nothing")
    (root / "self.txt").symlink_to("self.txt")
    files, failures = find_files([root])
    assert [file.uri for file in files] == ["a/b.txt", "c.txt"]
    leads_out, broken = "symbolic link leads outside the input folder", "broken symbolic link"
    assert {(failure.item_id, failure.reason) for failure in failures} == {
        ("out.txt", leads_out),
        ("outside", leads_out),
        ("up", leads_out),
        ("gone.txt", broken),
        ("self.txt", broken),
    }
    assert {failure.stage for failure in failures} == {"read"}
    assert [file.uri for file in find_files([root / "**" / "*.txt"])[0]] == ["a/b.txt", "c.txt"]


def test_names_that_are_no_utf8_can_be_stored(tmp_path: Path) -> None:
    for name in (b"\xff.txt", b"\xfe.txt"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("text")
    found = names(tmp_path)
    assert len(set(found)) == 2
    assert [name.encode("utf-8").decode() for name in found] == found


@pytest.mark.parametrize("missing", ["nothing.txt", "*.nothing", "nowhere/*.txt", "a\0b", "x" * 5_000])
def test_what_is_not_there_is_an_error_that_names_it(tmp_path: Path, missing: str) -> None:
    make(tmp_path, "a.txt")
    with pytest.raises(InputError, match=r"no such file or folder|cannot be read"):
        find_files([tmp_path / "a.txt", tmp_path / missing])


def test_a_folder_without_files_is_an_error(tmp_path: Path) -> None:
    make(tmp_path, "empty/deeper/.hidden", "a.txt")
    with pytest.raises(InputError, match=r"no file in .*empty"):
        find_files([tmp_path / "a.txt", tmp_path / "empty"])
    with pytest.raises(InputError, match="no input"):
        find_files([])
