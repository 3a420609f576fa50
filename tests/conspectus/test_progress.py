"""Progress: lines where stderr is a file, one that is written over on a terminal, nothing where it is not wanted."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conspectus.progress import progress

from tests.waiting import LIMIT, wait_until

ROOT = Path(__file__).parent.parent.parent
WORK = (
    "from conspectus.progress import progress\n"
    "with progress() as report:\n"
    "    report('extract', 0, 2); report('extract', 1, 2); report('extract', 2, 2); report('graph', 0, 0)\n"
    "print('result')"
)


def on_a_terminal(terminal: str) -> tuple[str, str]:
    """Return what the work writes to stdout, a pipe, and to stderr, a terminal."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": terminal, "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    done = subprocess.run(
        [sys.executable, "-c", WORK], stdout=subprocess.PIPE, stderr=theirs, env=environment, timeout=LIMIT
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


@pytest.fixture
def _no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conspectus.progress.time.monotonic", lambda: 0.0)


@pytest.mark.usefixtures("_no_time_passes")
def test_lines_tell_what_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as report:
        for done in range(4):
            report("extract", done, 3)
        report("embed", 0, 0)
        report("embed", 1, 1)
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"extract: 3 of 3 passages, 0\.0 s\n", err), "a step that ends at once is not worth a line"


@pytest.mark.usefixtures("_no_time_passes")
def test_a_sentence_that_is_no_step_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with progress() as report:
        report("edges.csv: source,target: 2 triples", 1, 1)
    assert capsys.readouterr().err == "edges.csv: source,target: 2 triples\n"


def test_lines_come_in_between_where_it_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conspectus.progress._SECONDS_BETWEEN_LINES", 0)
    with progress() as report:
        report("extract", 0, 2)
        report("extract", 1, 2)
    assert re.fullmatch(r"extract: 0 of 2 passages, \S+ s\nextract: 1 of 2 passages, \S+ s\n", capsys.readouterr().err)


def test_a_rate_and_the_time_left_are_told(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 1000, 20))
    monkeypatch.setattr("conspectus.progress.time.monotonic", lambda: float(next(now)))
    with progress() as report:
        report("embed chunks", 0, 400)
        report("embed chunks", 100, 400)
    assert re.search(
        r"embed chunks: 100 of 400 passages, [\d.]+/s, (\d+ min \d+|\d+\.\d) s left\n", capsys.readouterr().err
    )


def test_a_step_without_counted_items_is_named_while_it_runs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conspectus.progress._SECONDS_BETWEEN_LINES", 0.05)
    said: list[str] = []
    with progress() as report:
        report("communities", 0, 0)
        wait_until(lambda: said.append(capsys.readouterr().err) or "\n" in said[-1])
    assert re.fullmatch(r"communities: \S+ s\n", "".join(said))


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(quiet=True) as report:
        report("extract", 1, 1)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_gets_a_line_that_is_written_over_and_stdout_the_result_alone() -> None:
    out, err = on_a_terminal("xterm")
    assert out == "result\n"
    assert "extract" in err
    assert "2 of 2 passages" in err
    assert "\r\x1b[Kextract: 2 of 2 passages" in err


def test_a_terminal_that_cannot_draw_gets_lines() -> None:
    out, err = on_a_terminal("dumb")
    assert out == "result\n"
    assert re.fullmatch(r"extract: 2 of 2 passages, (\S+/s, )?\S+ s\r\n", err)
