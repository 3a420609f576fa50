"""One build at a time, and the next one may wait for it."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from conspectus.storage.errors import IndexBusy
from conspectus.storage.publishing import build_lock

from tests.command_line import conspectus
from tests.waiting import LIMIT

HOLD = """
import pathlib, sys
from conspectus.storage.publishing import build_lock
with build_lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
SETTINGS = ("--set", "extraction.pipeline=regex")


@contextmanager
def held(root: Path) -> Iterator["subprocess.Popen[str]"]:
    """Have another process hold the index until its standard input ends, or it is killed."""
    command = [sys.executable, "-c", HOLD, str(root)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, cwd=Path(__file__).parent.parent.parent, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def note(tmp_path: Path) -> Path:
    (tmp_path / "note.txt").write_text("Ada Lovelace worked in London.", "utf-8")
    return tmp_path / "note.txt"


def test_one_that_waits_says_so_and_has_its_turn(tmp_path: Path) -> None:
    waited: list[str] = []
    with held(tmp_path / "index") as other:
        assert other.stdin is not None
        waits = (lambda: waited.append("waits"), other.stdin.close)
        with build_lock(tmp_path / "index", LIMIT, lambda: [each() for each in waits]):
            pass
    with build_lock(tmp_path / "index", LIMIT, lambda: waited.append("waits for nobody")):
        pass
    assert waited == ["waits"]


def test_one_that_does_not_wait_long_enough_is_told(tmp_path: Path) -> None:
    with held(tmp_path / "index"):
        began = time.monotonic()
        with pytest.raises(IndexBusy, match=r"has held .* for 0\.3 s and more"), build_lock(tmp_path / "index", 0.3):
            pass
        assert time.monotonic() - began >= 0.3
        with pytest.raises(IndexBusy, match="another build holds"), build_lock(tmp_path / "index"):
            pass


def test_a_build_waits_as_long_as_it_is_told(note: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = tmp_path / "index"
    with held(index) as other:
        done = conspectus("index", note, "--index", index, "--quiet", "--wait", "0.2", *SETTINGS)
        assert (done.status, done.out) == (4, "")
        assert "has held" in done.err
        done = conspectus("index", note, "--index", index, "--quiet", "--set", "build.wait=0.2", *SETTINGS)
        assert "has held" in done.err

        def lock(root: Path, wait: float, waiting: Callable[[], None]) -> AbstractContextManager[None]:
            return build_lock(root, wait, lambda: [waiting(), other.kill()].clear())

        monkeypatch.setattr("conspectus.pipelines.build_index.build_lock", lock)
        done = conspectus("index", note, "--index", index, "--wait", "600", *SETTINGS)
    assert (done.status, other.returncode) == (0, -signal.SIGKILL), "the lock goes with its holder, however that ends"
    assert "published version" in done.out
