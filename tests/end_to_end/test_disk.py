"""A disk that is full and folders that cannot be written to: one clear line, the version in force stays, and building
again once there is space gives what it would have given.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conspectus.storage.index import StoredIndex
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeServer
from tests.command_line import Done, conspectus
from tests.end_to_end.killing import published
from tests.graph_model import reply

QUESTION = "Who met Bela Brand?"

Run = Callable[..., Done]


def mount(*words: str | Path) -> None:
    done = subprocess.run(["mount", *words], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")


def unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", folder], check=True, capture_output=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of four megabytes."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", folder)
    try:
        yield folder
    finally:
        unmount(folder)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    mount("--bind", folder, folder)
    mount("-o", "remount,bind,ro", folder)
    try:
        yield
    finally:
        unmount(folder)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply) as running:
        yield running


@pytest.fixture
def index(disk: Path, tmp_path: Path, server: FakeServer) -> Run:
    """Makes the index on the disk (or another one) of `docs`."""
    docs = tmp_path / "docs"
    docs.mkdir()
    settings = {
        "extraction.pipeline": "regex", "extraction.method": "nlp", "embedding.provider": "endpoint",
        "embedding.model": "e", "embedding_server.base_url": server.url,
    }  # fmt: skip
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]

    def run(folder: Path = disk / "index") -> Done:
        return conspectus("index", docs, "--index", folder, "--quiet", *options)

    write(docs, 10, 0)
    assert run().status == 0
    write(docs, 40, 1)
    return run


def write(docs: Path, number: int, edition: int) -> None:
    for each in range(number):
        text = f"Ada Quill met Bela Brand in note {each} of edition {edition}. Dov Stone wrote to Cleo Marsh {each}. "
        (docs / f"{each}.txt").write_text(text * 5, "utf-8")


@contextmanager
def leaving(disk: Path, free: int) -> Iterator[None]:
    """Fill a disk until so many bytes are left."""
    ballast = disk / "ballast"
    left = os.statvfs(disk)
    ballast.write_bytes(b"x" * (left.f_bavail * left.f_frsize - free))
    try:
        yield
    finally:
        ballast.unlink()


def test_a_disk_that_is_full_is_said_and_costs_nothing(disk: Path, index: Run, tmp_path: Path) -> None:
    old = published(disk / "index")
    shutil.copytree(disk / "index", tmp_path / "before")
    assert index(tmp_path / "twin").status == 0
    needed = sum(path.stat().st_size for path in (tmp_path / "twin").rglob("*") if path.is_file())
    stopped = set()
    for share in range(0, 100, 16):
        shutil.rmtree(disk / "index")
        shutil.copytree(tmp_path / "before", disk / "index")
        with leaving(disk, needed * share // 100):
            done = index()
            assert conspectus("retrieve", QUESTION, "--method", "bm25", "--index", disk / "index").status == 0
        if done.status == 0:
            break
        assert (done.status, done.out) == (4, "")
        assert done.err.startswith(f"conspectus: no space left on the disk of {disk / 'index'}")
        assert done.err.count("\n") == 1
        stopped.add("cache" if "cache" in done.err else "version")
        assert published(disk / "index") == old
        assert verify(StoredIndex.open(disk / "index")) == []
        assert not list(disk.glob("index/versions/.*")), "what was begun takes no space"
        assert index().status == 0
        assert published(disk / "index") == published(tmp_path / "twin")
    assert stopped == {"cache", "version"}


@pytest.mark.parametrize("place", ["", "cache", "versions"])
def test_what_cannot_be_written_to_can_be_read_and_is_said(disk: Path, index: Run, place: str) -> None:
    old = published(disk / "index")
    with read_only(disk / "index" / place):
        done = index()
        assert (done.status, done.out) == (4, "")
        assert done.err.startswith(f"conspectus: cannot write in {disk / 'index'}")
        assert "Read-only file system" in done.err
        assert done.err.count("\n") == 1
        assert published(disk / "index") == old
        for words in (["status"], ["verify"], ["retrieve", QUESTION, "--method", "bm25"]):
            assert conspectus(*words, "--index", disk / "index").status == 0
    assert index().status == 0
    assert published(disk / "index") != old


def test_a_folder_without_permission_is_said(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere; the tests above mount a folder read-only")
    (tmp_path / "note.txt").write_text("Ada Quill met Bela Brand.", "utf-8")
    (tmp_path / "closed").mkdir(mode=0o555)
    done = conspectus("index", tmp_path / "note.txt", "--index", tmp_path / "closed" / "index")
    assert (done.status, done.out) == (4, "")
    assert done.err.startswith("conspectus: cannot write in ")
