"""Files that end the process that reads them: each is one failure, and the files beside it are read."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conspectus.pipelines.readers.process import MOST_AHEAD, FileReader
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.pipelines.steps.documents import read_documents
from conspectus.storage import plugins
from conspectus.storage.settings import InputSettings, KgSettings

HARMFUL = """
import ctypes, os, signal, tempfile, time
from conspectus.pipelines.readers.rows import Row

def crash(path, settings):
    yield Row(1, None, None, "before", {})
    ctypes.string_at(0)

def fill(path, settings):
    yield Row(None, None, None, "x" * 20_000_000_000, {})

def spin(path, settings):
    while True:
        pass

def sleep(path, settings):
    tempfile.mkdtemp()
    signal.pause()

def leave(path, settings):
    os._exit(0)

def deep(path, settings):
    yield from deep(path, settings)

def fail(path, settings):
    yield from {}["absent"]

def speak(path, settings):
    print("this is no row", flush=True)
    yield Row(None, None, None, "a row", {})
"""
REASONS = {
    "crash": ("its reader crashed", "SIGSEGV"),
    "fill": ("takes too much memory", "input.max_memory limits it"),
    "spin": ("takes too long", "more than input.max_seconds (1)"),
    "sleep": ("takes too long", "more than input.max_seconds (1)"),
    "leave": ("its reader crashed", ""),
    "deep": ("nested too deeply", ""),
    "fail": ("its reader failed", "the plug-in '.fail' (readers) of harmful-readers 1 failed: KeyError: 'absent'"),
}


@pytest.fixture
def harmful(tmp_path: Path) -> Iterator[None]:
    """Install readers that do what a hostile file makes a library do."""
    (tmp_path / "harmful_readers.py").write_text(HARMFUL, "utf-8")
    facts = tmp_path / "harmful_readers-1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: harmful-readers\nVersion: 1\n", "utf-8")
    entries = "".join(f".{name} = harmful_readers:{name}\n" for name in (*REASONS, "speak"))
    (facts / "entry_points.txt").write_text(f"[conspectus.readers]\n{entries}", "utf-8")
    sys.path.insert(0, str(tmp_path))
    plugins._found.cache_clear()
    yield
    sys.path.remove(str(tmp_path))
    plugins._found.cache_clear()


def test_a_file_that_ends_its_reader_is_one_failure(harmful: None, tmp_path: Path) -> None:
    docs, temporary = tmp_path / "docs", tmp_path / "temporary"
    for folder in (docs, temporary):
        folder.mkdir()
    for name in REASONS:
        (docs / f"a.{name}").write_text("x")
        (docs / f"b.{name}").write_text("x")
    good = [f"{letter}{number}.txt" for letter in "abc" for number in range(MOST_AHEAD)]
    for name in good:
        (docs / name).write_text(f"The text of {name}.")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(temporary))
        documents, failures = read_documents([docs], InputSettings(max_seconds=1.0))
    assert {each.uri for each in documents} == {*good}
    assert {each.item_id: (each.reason, each.detail) for each in failures} == {
        f"{letter}.{name}": why for letter in "ab" for name, why in REASONS.items()
    }
    assert not list(temporary.iterdir())


def test_what_a_reader_prints_is_no_row(harmful: None, tmp_path: Path) -> None:
    (tmp_path / "a.speak").write_text("x")
    documents, failures = read_documents([tmp_path / "a.speak"], InputSettings())
    assert ([each.text for each in documents], failures) == (["a row"], [])


def test_a_file_with_more_rows_than_a_pipe_holds_is_read_whole(tmp_path: Path) -> None:
    lines = [f'{{"text": "{number} {"word " * 400}"}}\n' for number in range(200)]
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("".join(lines), "utf-8")
    documents, failures = read_documents([tmp_path], InputSettings())
    assert (len(documents), failures) == (400, [])
    assert {each.text.split()[0] for each in documents if each.uri.startswith("b")} == set(map(str, range(200)))


def test_a_graph_read_before_changes_no_limit_of_a_table(tmp_path: Path) -> None:
    (tmp_path / "graph.csv").write_text("head,relation,tail\nAda,knows,Bea\n", "utf-8")
    (tmp_path / "endless.csv").write_text('id,text\n1,good\n2,"' + "never closed\n" * 40_000, "utf-8")
    settings = InputSettings(max_characters=400_000)
    reader = FileReader(settings)
    assert list(reader.rows([tmp_path / "graph.csv"], str(tmp_path), settings, KgSettings()))
    *rows, lost = reader.rows([tmp_path / "endless.csv"], str(tmp_path), settings)
    reader.stop()
    assert [row.text for row in rows if isinstance(row, Row)] == ["good"]
    assert isinstance(lost, Lost)
    assert lost.reason == "row 2 does not end"
