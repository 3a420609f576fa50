"""One build at a time, and the next one may wait for it."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conspectus.storage.errors import IndexBusy
from conspectus.storage.publishing import build_lock

from tests.command_line import conspectus, start

HOLD = """
import pathlib, sys, time
from conspectus.storage.publishing import build_lock
with build_lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""
SETTINGS = ("--set", "extraction.pipeline=regex")


@contextmanager
def held(root: Path, seconds: float = 60) -> Iterator["subprocess.Popen[str]"]:
    """Have another process hold the index for some seconds, or until it is killed."""
    command = [sys.executable, "-c", HOLD, str(root), str(seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent.parent)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def note(tmp_path: Path) -> Path:
    (tmp_path / "note.txt").write_text("Ada Lovelace worked in London.", "utf-8")
    return tmp_path / "note.txt"


def test_one_that_waits_says_so_and_has_its_turn(tmp_path: Path) -> None:
    waited: list[str] = []
    with held(tmp_path / "index", 0.6):
        began = time.monotonic()
        with build_lock(tmp_path / "index", 30, lambda: waited.append("waits")):
            assert 0.1 < time.monotonic() - began < 20
    with build_lock(tmp_path / "index", 30, lambda: waited.append("waits for nobody")):
        pass
    assert waited == ["waits"]


def test_one_that_does_not_wait_long_enough_is_told(tmp_path: Path) -> None:
    with held(tmp_path / "index"):
        began = time.monotonic()
        with pytest.raises(IndexBusy, match=r"has held .* for 0\.3 s and more"), build_lock(tmp_path / "index", 0.3):
            pass
        assert 0.3 <= time.monotonic() - began < 5
        began = time.monotonic()
        with pytest.raises(IndexBusy, match="another build holds"), build_lock(tmp_path / "index"):
            pass
        assert time.monotonic() - began < 0.3


def test_a_build_waits_as_long_as_it_is_told(note: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    with held(index) as other:
        done = conspectus("index", note, "--index", index, "--quiet", "--wait", "0.2", *SETTINGS)
        assert (done.status, done.out) == (4, "")
        assert "has held" in done.err
        done = conspectus("index", note, "--index", index, "--quiet", "--set", "build.wait=0.2", *SETTINGS)
        assert "has held" in done.err
        process = start("index", note, "--index", index, "--wait", "60", *SETTINGS)
        assert process.stderr is not None
        time.sleep(0.5)
        assert process.poll() is None
        other.kill()  # the lock goes with its holder, however that ends
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert b"published version" in out
