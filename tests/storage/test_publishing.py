"""Versions that take their place whole, and names of places."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from conspectus.storage.errors import IndexBusy
from conspectus.storage.locators import described, places_at, places_between, sections_at
from conspectus.storage.publishing import build_lock
from conspectus.storage.records import Place
from hypothesis import given
from hypothesis import strategies as st

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


def page(start: int, label: str) -> Place:
    return Place(start, "page", label, 0)


def heading(start: int, label: str, level: int) -> Place:
    return Place(start, "heading", label, level)


BOOK = (
    page(0, "iv"), heading(0, "Preface", 1), page(10, "1"), heading(12, "Methods", 1), heading(14, "Data", 2),
    heading(16, "Sources", 3), heading(18, "Model", 2), page(20, "2"), heading(25, "Results", 1),
)  # fmt: skip


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 5, 'page iv, "Preface"'),
        (11, 12, 'page 1, "Preface"'),
        (12, 13, 'page 1, "Methods"'),
        (17, 18, 'page 1, "Methods > Data > Sources"'),
        (19, 20, 'page 1, "Methods > Model"'),
        (19, 21, 'pages 1-2, "Methods > Model"'),
        (5, 30, 'pages iv-2, "Preface"'),
        (30, 31, 'page 2, "Results"'),
    ],
)
def test_where_characters_stand(start: int, end: int, expected: str) -> None:
    assert described(BOOK, start, end) == expected


def test_slides_and_sheets_end_headings() -> None:
    for kind in ("slide", "sheet"):
        places = (Place(0, kind, "1", 0), heading(0, "Risks", 1), Place(9, kind, "2", 0))
        assert described(places, 3, 4) == f'{kind} 1, "Risks"'
        assert described(places, 9, 10) == f"{kind} 2"
        assert described(places, 3, 10) == f'{kind}s 1-2, "Risks"'


def by_hand(places: Sequence[Place], start: int) -> list[Place]:
    """Return the headings above a character, each checked against all that follow."""
    above = [each for each in places if each.kind == "heading" and each.start <= start]
    return [each for at, each in enumerate(above) if all(later.level > each.level for later in above[at + 1 :])]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), max_size=12), st.integers(0, 30), st.integers(1, 9))
def test_against_the_definition(drawn: list[tuple[int, int]], start: int, length: int) -> None:
    places = sorted(
        (heading(at, str(at), level) if level else page(at, str(at)) for at, level in drawn),
        key=lambda each: (each.start, each.level),
    )
    found = places_at(places, start)
    assert [each for each in found if each.kind == "heading"] == by_hand(places, start)
    assert sections_at(places, start) == tuple(each.label for each in by_hand(places, start))
    pages = [each for each in places if each.kind == "page"]
    before = [each for each in pages if each.start <= start]
    inside = [each for each in pages if start < each.start < start + length]
    assert list(places_between(places, start, start + length)) == before[-1:] + inside
