"""Uploads: hostile names and contents end in a refusal, and nothing is written outside the folder of uploads."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from conspectus.server.admin.changes import Changes, Removal, UploadLimits, checked_name
from conspectus.server.request_checks import Refused

HOSTILE_NAMES = [
    "", ".", "..",
    "../out.txt", "a/b.txt", "/etc/passwd", "..\\out.txt", "c:\\out.txt", "a:b.txt", "a\0.txt", "a\n.txt",
    ".hidden.txt", "a.txt~", "a.txt.", " a.txt", "a.txt ", "settings.yaml", "Thumbs.db", "CON.txt", "nul", "com1.a.txt",
    "a\u202etxt.exe.txt", "a\u2028.txt", "x" * 197 + ".txt", "\ud800.txt", "*.txt", "?.txt", "<b>.txt", "a|b.txt",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_hostile_name_is_refused(name: str) -> None:
    with pytest.raises(Refused) as refused:
        checked_name(name)
    assert refused.value.kind == "bad_name"


@pytest.mark.parametrize("name", ["a.exe", "a.gif", "a.docm", "a.txt.gpg", "a.gz.gz", "a.so"])
def test_a_format_without_a_reader_is_refused(name: str) -> None:
    with pytest.raises(Refused) as refused:
        checked_name(name)
    assert (refused.value.status, refused.value.kind) == (415, "unknown_format")


def test_two_spellings_of_one_name_are_one_name() -> None:
    assert checked_name("Re\u0301sume\u0301 (2).pdf") == checked_name("R\u00e9sum\u00e9 (2).pdf")
    for good in ("README", "\u8cc7\u6599.docx", "a b, c; d & e's.md", "data.csv.gz", "Screenshot 3.05\u202fPM.txt"):
        assert checked_name(good) == good


async def parts(*given: bytes, wait: float = 0.0) -> AsyncIterator[bytes]:
    for part in given:
        await asyncio.sleep(wait)
        yield part


def stored(changes: Changes, name: str, *given: bytes, declared: int = 0, wait: float = 0.0) -> str:
    """Store a file; return its name, or the kind of the refusal."""
    try:
        return asyncio.run(changes.store(name, parts(*given, wait=wait), declared)).name
    except Refused as refused:
        return refused.kind


def test_limits_hold_and_leave_nothing_behind(tmp_path: Path) -> None:
    changes = Changes(tmp_path, UploadLimits(file_bytes=100, all_bytes=150, files=3, idle_seconds=0.2))
    assert stored(changes, "a.txt", b"x" * 101) == "too_large"
    assert stored(changes, "a.txt", b"x", declared=101) == "too_large"
    assert stored(changes, "a.txt", b"x" * 60, b"x" * 40) == "a.txt"
    assert stored(changes, "b.txt", b"x" * 51) == "too_large"
    assert stored(changes, "b.txt", b"late", wait=0.5) == "too_slow"
    assert stored(changes, "b.txt", b"x" * 40) == "b.txt"
    assert stored(changes, "a.txt", b"y" * 90) == "a.txt", "what it replaces is not counted"
    assert stored(changes, "c.txt", b"z") == "c.txt"
    assert stored(changes, "d.txt", b"z") == "too_many_files"
    assert sorted(path.name for path in changes.uploads.iterdir()) == ["a.txt", "b.txt", "c.txt"]
    (tmp_path / "jobs" / "0").mkdir(parents=True)
    changes.hand_over(tmp_path / "jobs" / "0" / "files", ["a.txt"], [])
    assert stored(changes, "d.txt", b"z" * 90) == "too_many_files", "files of unfinished jobs count too"


def test_an_upload_that_was_cut_off_is_gone_and_the_earlier_one_stays(tmp_path: Path) -> None:
    changes = Changes(tmp_path, UploadLimits())
    assert stored(changes, "a.txt", b"whole") == "a.txt"

    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        asyncio.run(changes.store("a.txt", broken(), 0))
    assert (changes.uploads / "a.txt").read_bytes() == b"whole"
    assert len(list(changes.uploads.iterdir())) == 1


def test_a_link_in_the_folder_is_replaced_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    (tmp_path / "admin").mkdir()
    changes = Changes(tmp_path / "admin", UploadLimits())
    (changes.uploads / "a.txt").symlink_to(outside)
    assert stored(changes, "a.txt", b"theirs") == "a.txt"
    assert outside.read_text() == "mine"


def test_what_waits_has_a_name_that_changes_with_it(tmp_path: Path) -> None:
    changes = Changes(tmp_path, UploadLimits())
    seen = {changes.waiting().changes}
    stored(changes, "a.txt", b"one")
    seen.add(changes.waiting().changes)
    changes.remove([Removal(id="17", title="Old", uri="old.txt")])
    seen.add(changes.waiting().changes)
    stored(changes, "a.txt", b"two!")
    seen.add(changes.waiting().changes)
    assert len(seen) == 4
    assert Changes(tmp_path, UploadLimits()).waiting() == changes.waiting(), "it is on disk"
