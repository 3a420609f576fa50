import bz2
import gzip
import io
import lzma
import stat
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from conspectus.pipelines.readers import archives as containers
from conspectus.storage.settings import InputSettings

from tests.pipelines.readers.reading import read, texts


def packed(members: dict[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return whole.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w") -> bytes:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return whole.getvalue()


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.fixture(autouse=True)
def _nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


def left_behind(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "temporary").iterdir())


MEMBERS: dict[str, bytes] = {
    "a.txt": b"A text.",
    "folder/b.MD": b"# Heading\nText.",
    "folder/rows.csv": b"id,text\n1,One.\n2,\n",
    "folder/": b"",
    ".hidden/c.txt": b"no",
    "__MACOSX/a.txt": b"no",
    "folder/.DS_Store": b"no",
    "photo.gif": b"\xff\xd8\xff",
    "empty.txt": b"",
}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.zip", packed(MEMBERS)),
        ("x.tar", tarred({name: content for name, content in MEMBERS.items() if name != "folder/"})),
        ("x.tgz", tarred({f"./{name}": content for name, content in MEMBERS.items() if name != "folder/"}, "w:gz")),
    ],
)
def test_members_are_read_by_their_own_format(tmp_path: Path, name: str, content: bytes) -> None:
    rows, lost = read(put(tmp_path / name, content))
    assert texts(rows) == {"a.txt": "A text.", "folder/b.MD": "Heading\n\nText.", "folder/rows.csv#1": "One."}
    assert rows["folder/b.MD"].title == "Heading"
    assert {key: reason for key, reason in lost.items() if key != "a.txt"} == {
        "folder/rows.csv#2": "empty",
        "photo.gif": "unsupported format .gif",
        "empty.txt": "empty",
    }
    assert left_behind(tmp_path) == []


def test_a_packed_file_is_read_as_it_is_unpacked(tmp_path: Path) -> None:
    rows, lost = read(put(tmp_path / "c.jsonl.gz", gzip.compress(b'{"text": "One."}\n{"text": "Two."}\n')))
    assert (texts(rows), lost) == ({"#1": "One.", "#2": "Two."}, {})
    assert texts(read(put(tmp_path / "README.gz", gzip.compress(b"Read me.")))[0]) == {"": "Read me."}
    assert read(put(tmp_path / "c.gz", gzip.compress(bytes(99))))[1] == {"!": "unsupported format (no suffix)"}
    assert read(put(tmp_path / "c.exe.gz", gzip.compress(b"x")))[1] == {"!": "unsupported format .exe.gz"}
    assert read(put(tmp_path / "c.txt.gz.gz", b""))[1] == {"!": "unsupported format .gz.gz"}
    assert read(put(tmp_path / "cut.txt.gz", gzip.compress(b"text " * 99)[:-9]))[1] == {"!": "damaged archive"}
    bomb = put(tmp_path / "bomb.txt.gz", gzip.compress(bytes(20_000_000)))
    assert read(bomb)[1] == {"!": "extreme compression ratio"}


def test_archives_within_archives_are_read_to_a_bounded_depth(tmp_path: Path) -> None:
    inner = packed({"c.txt": "Third."})
    middle = packed({"c.zip": inner, "b.txt": "Second.", "b.csv": "id,text\n1,Row.\n"})
    path = put(
        tmp_path / "a.zip", packed({"b.zip": middle, "a.txt": "First.", "t.tar.gz": tarred({"t.md": b"T."}, "w:gz")})
    )
    rows, lost = read(path)
    assert texts(rows) == {
        "b.zip/c.zip/c.txt": "Third.",
        "b.zip/b.txt": "Second.",
        "b.zip/b.csv#1": "Row.",
        "a.txt": "First.",
        "t.tar.gz/t.md": "T.",
    }
    assert lost == {}
    with patch.object(containers, "MOST_NESTED", 2):
        rows, lost = read(path)
    assert "b.zip/c.zip/c.txt" not in rows
    assert lost == {"b.zip/c.zip": "nested too deeply"}


def test_a_bomb_of_bombs_ends_at_once(tmp_path: Path) -> None:
    content = packed({f"{number}.txt": bytes(1_000_000) for number in range(16)})
    for _ in range(5):
        content = packed({f"{number}.zip": content for number in range(16)})
    began = time.process_time()
    rows, lost = read(put(tmp_path / "42.zip", content))
    assert rows == {}
    assert set(lost.values()) == {"nested too deeply"}
    assert len(lost) == 16**3
    with patch.object(containers, "MOST_NESTED", 20):
        rows, lost = read(put(tmp_path / "42.zip", content), InputSettings(max_archive_bytes=3_000_000))
    assert rows == {}
    assert set(lost.values()) == {"binary data", "unpacks to more than input.max_archive_bytes (3000000)"}
    assert time.process_time() - began < 60  # a whole unpacking takes hours
    assert left_behind(tmp_path) == []


def test_what_a_member_says_of_its_size_is_checked_first(tmp_path: Path) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("zeros.txt", "w", force_zip64=True) as member:
            for _ in range(100):
                member.write(bytes(1_000_000))
        archive.writestr("good.txt", "Good.")
        archive.writestr("long.txt", "Long text. " * 10)
    rows, lost = read(put(tmp_path / "a.zip", whole.getvalue()), InputSettings(max_archive_bytes=50))
    assert texts(rows) == {"good.txt": "Good."}
    assert lost == {
        "zeros.txt": "extreme compression ratio",
        "long.txt": "unpacks to more than input.max_archive_bytes (50)",
    }
    tar = put(tmp_path / "a.tar", tarred({"long.txt": b"x" * 99, "good.txt": b"Good."}))
    rows, lost = read(tar, InputSettings(max_archive_bytes=50))
    assert (list(rows), list(lost)) == (["good.txt"], ["long.txt"])


def test_members_that_may_do_harm_are_lost_and_the_others_read(tmp_path: Path) -> None:
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("../../outside.txt", "no")
        archive.writestr("/absolute.txt", "no")
        archive.writestr("C:\\drive.txt", "no")
        archive.writestr("win\\dows.txt", "Good too.")
        archive.writestr("twice.txt", "First.")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("twice.txt", "Second.")
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("squeezed.txt", "text", zipfile.ZIP_BZIP2)
        archive.writestr("last.txt", "Good.")
    rows, lost = read(put(tmp_path / "a.zip", whole.getvalue()))
    assert texts(rows) == {
        "win/dows.txt": "Good too.",
        "twice.txt": "First.",
        "squeezed.txt": "text",
        "last.txt": "Good.",
    }
    assert lost["twice.txt"] == "name of an earlier member"
    assert lost["../../outside.txt"] == lost["/absolute.txt"] == "name that leads outside the archive"
    assert lost["C:/drive.txt"] == "name that leads outside the archive"
    assert lost["link.txt"] == "symbolic link in an archive"


def test_links_and_devices_of_a_tar_are_lost(tmp_path: Path) -> None:
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as archive:
        for name, kind in (("s.txt", tarfile.SYMTYPE), ("h.txt", tarfile.LNKTYPE), ("f.txt", tarfile.FIFOTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("../up.txt")
        info.size = 2
        archive.addfile(info, io.BytesIO(b"no"))
    assert read(put(tmp_path / "a.tar", whole.getvalue()))[1] == {
        "s.txt": "link in an archive",
        "h.txt": "link in an archive",
        "f.txt": "not a regular file",
        "../up.txt": "name that leads outside the archive",
    }


def test_broken_archives(tmp_path: Path) -> None:
    good = packed({"a.txt": "A. " * 999, "b.txt": "B."}, zipfile.ZIP_STORED)
    at = good.index(b"A. A.")
    damaged = good[:at] + b"?" + good[at + 1 :]
    rows, lost = read(put(tmp_path / "a.zip", damaged))
    assert (texts(rows), lost) == ({"b.txt": "B."}, {"a.txt": "damaged archive member"})
    assert read(put(tmp_path / "b.zip", good[:-30]))[1] == {"!": "damaged archive"}
    assert read(put(tmp_path / "c.zip", packed({})))[1] == {"!": "empty"}
    assert read(put(tmp_path / "d.zip", b""))[1] == {"!": "empty"}
    encrypted = bytearray(packed({"a.txt": "A."}))
    encrypted[6] |= 1
    encrypted[encrypted.index(b"PK\x01\x02") + 8] |= 1
    assert read(put(tmp_path / "e.zip", bytes(encrypted)))[1] == {"a.txt": "encrypted"}
    tar = tarred({"a.txt": b"A.", "b.txt": b"B. " * 999})
    rows, lost = read(put(tmp_path / "f.tar", tar[:2_000]))
    assert (texts(rows), set(lost)) == ({"a.txt": "A."}, {"b.txt", "!"})
    assert read(put(tmp_path / "g.tar", b"not a tar" * 99))[1] == {"!": "damaged archive"}
    assert read(put(tmp_path / "h.tgz", b"not a tar" * 99))[1] == {"!": "damaged archive"}


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_damaged_member_is_lost_however_it_is_packed(method: int, tmp_path: Path) -> None:
    good = packed({"a.txt": " ".join(map(str, range(999))), "b.txt": "B."}, method)
    rows, lost = read(put(tmp_path / "a.zip", good))
    assert (len(rows), lost) == (2, {})
    at = good.index(b"a.txt") + 60
    rows, lost = read(put(tmp_path / "b.zip", good[:at] + b"?????" + good[at + 5 :]))
    assert (texts(rows), lost) == ({"b.txt": "B."}, {"a.txt": "damaged archive member"})


def test_names_are_read_as_utf8_where_they_are(tmp_path: Path) -> None:
    content = packed({"n\u00e4h.txt": "Text.", "plain.txt": "Plain."})
    content = content.replace("n\u00e4h".encode(), b"na\xffh")  # flagged as UTF-8, and is none
    assert read(put(tmp_path / "a.zip", content))[1] == {"!": "damaged archive"}
    unmarked = packed({"XXXX.txt": "Text."}).replace(b"XXXX", "\u5317X".encode())
    assert list(read(put(tmp_path / "b.zip", unmarked))[0]) == ["\u5317X.txt"]
    old = packed({"XXXX.txt": "Text."}).replace(b"XXXX", b"X\x82XX")
    assert list(read(put(tmp_path / "c.zip", old))[0]) == ["X\u00e9XX.txt"]
    tar = tarred({"XXXX.txt": b"Text."})
    info = tarfile.TarInfo("X\udcffXX.txt")
    info.size = 5
    assert list(read(put(tmp_path / "d.tar", info.tobuf() + tar[512:]))[0]) == ["X?XX.txt"]


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, "zstd", asbytes=True))


def test_other_packed_files_are_unpacked_and_bombs_refused(tmp_path: Path) -> None:
    for suffix, pack in ((".xz", lzma.compress), (".bz2", bz2.compress), (".zst", zstd)):
        path = tmp_path / f"a.txt{suffix}"
        path.write_bytes(pack(b"Ada keeps the lamp."))
        assert texts(read(path)[0]) == {"": "Ada keeps the lamp."}
        path.write_bytes(path.read_bytes()[:-9])
        assert read(path)[1] == {"!": "damaged archive"}
        path.write_bytes(pack(bytes(20_000_000)))
        assert read(path)[1] == {"!": "extreme compression ratio"}
