"""Progress: lines where stderr is a file, a bar where it is a terminal, nothing where it is not wanted."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from conspectus.progress import progress

ROOT = Path(__file__).parent.parent.parent
WORK = (
    "from conspectus.progress import progress\n"
    "with progress() as report:\n"
    "    report('extract', 0, 2); report('extract', 1, 2); report('extract', 2, 2); report('embed', 0, 0)\n"
    "print('result')"
)


def on_a_terminal(terminal: str) -> tuple[str, str]:
    """Return what the work writes to stdout, a pipe, and to stderr, a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": terminal, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-c", WORK], stdout=subprocess.PIPE, stderr=theirs, env=environment, timeout=60
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # what Linux says when the other end is closed and all is read
            block = b""
        if not block:
            break
        written += block
    os.close(ours)
    assert done.returncode == 0
    return done.stdout.decode(), written.decode()


def test_lines_tell_what_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as report:
        for done in range(4):
            report("extract", done, 3)
        report("embed", 0, 0)
        report("embed", 1, 1)
    out, err = capsys.readouterr()
    assert (out, err) == ("", "extract: 3 of 3\nembed: 1 of 1\n")


def test_lines_come_in_between_where_it_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conspectus.progress._SECONDS_BETWEEN_LINES", 0)
    with progress() as report:
        report("extract", 0, 2)
        report("extract", 1, 2)
    assert capsys.readouterr().err == "extract: 0 of 2\nextract: 1 of 2\n"


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(quiet=True) as report:
        report("extract", 1, 1)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_bar_and_stdout_the_result_alone() -> None:
    out, err = on_a_terminal("xterm")
    assert out == "result\n"
    assert "extract" in err
    assert "2/2" in err
    assert "━" in err
    assert "embed" not in err, "a step without work shows no bar"


def test_a_terminal_that_cannot_draw_gets_lines() -> None:
    assert on_a_terminal("dumb") == ("result\n", "extract: 2 of 2\r\n")
