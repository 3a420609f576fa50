"""Input as it comes: each file that cannot be read is a row of failures, and no mistake harms the index in force."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import FORMAT_VERSION
from conspectus.storage.records import Document, Failure
from conspectus.storage.verify import verify

from tests.command_line import conspectus, conspectus_apart
from tests.waiting import LIMIT

GOOD = "Marie Curie discovered polonium. She was born in Warsaw."
QUESTION = "Who discovered polonium?"
MEGABYTE = 1_000_000


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "good.txt").write_text(GOOD, "utf-8")
    return folder


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the good document."""
    folder = tmp_path_factory.mktemp("published")
    (folder / "corpus").mkdir()
    (folder / "corpus" / "good.txt").write_text(GOOD, "utf-8")
    assert conspectus("index", folder / "corpus", "--index", folder / "index").status == 0
    return folder / "index"


@pytest.fixture
def index(tmp_path: Path, corpus: Path, published: Path) -> Path:
    """A copy of it."""
    shutil.copytree(published, tmp_path / "index")
    return tmp_path / "index"


def snapshot(index: Path) -> dict[str, tuple[bytes, int]]:
    """Return all that is published, and when each file was last touched."""
    files = [index / "CURRENT", *(index / "versions").rglob("*")]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files if path.is_file()}


def failures(index: Path) -> dict[str, str]:
    return {each.item_id: each.reason for each in StoredIndex.open(index).rows(Failure)}


def titles(index: Path) -> set[str]:
    return {each.title for each in StoredIndex.open(index).rows(Document)}


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["index", "empty"], 3),
        (["index", "missing"], 3),
        (["index", "corpus", "missing"], 3),
        (["index", "*.nothing"], 3),
        (["index", "index"], 3),
        (["index", "unreadable"], 3),
        (["index", "corpus", "--set", "chunks.chunk_sizes=3"], 2),
        (["index", "corpus", "--settings", "missing.yaml"], 2),
        (["index", "corpus", "--set", "extraction.pipeline=missing"], 7),
        (["index", "corpus", "--set", "embedding.model=missing"], 7),
        (["ask", QUESTION, "--method", "missing"], 2),
    ],
)
def test_a_mistake_is_one_line_and_leaves_the_index_in_force(
    words: list[str], status: int, tmp_path: Path, index: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "unreadable").mkdir()
    (tmp_path / "unreadable" / "nothing.txt").touch()
    (tmp_path / "unreadable" / "image.txt").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    before = snapshot(index)
    done = conspectus(*words, "--index", "index")
    assert (done.status, done.out) == (status, "")
    lines = [line for line in done.err.splitlines() if line.startswith("conspectus: ")]
    assert len(lines) == 1, done.err
    assert "Traceback" not in done.err
    assert snapshot(index) == before
    assert "polonium" in conspectus("ask", QUESTION, "--index", "index").out


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, corpus: Path) -> None:
    notes = tmp_path / "notes"
    (notes / "versions").mkdir(parents=True)
    (notes / "diary.txt").write_text("private", "utf-8")
    for target in ("notes", "corpus", "notes/diary.txt"):
        done = conspectus("index", "corpus", "--index", target)
        assert (done.status, done.out) == (4, "")
        assert done.err.startswith(f"conspectus: {target} ")
    assert sorted(path.name for path in notes.rglob("*")) == ["diary.txt", "versions"]
    done = conspectus("index", "corpus", "--index", "/proc/nowhere/index")
    assert (done.status, done.out) == (4, "")
    assert done.err.startswith("conspectus: cannot write in /proc/nowhere/index")
    assert [path.name for path in corpus.iterdir()] == ["good.txt"]


def test_an_index_begun_and_not_published_is_gone_on_with(index: Path) -> None:
    before = snapshot(index)
    (index / "CURRENT").unlink()
    assert conspectus("index", "corpus", "--index", "index").status == 0
    assert {path: content for path, (content, _) in snapshot(index).items()} == {
        path: content for path, (content, _) in before.items()
    }


def test_what_this_program_makes_is_no_document(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "sub").mkdir(parents=True)
    (docs / "good.txt").write_text(GOOD, "utf-8")
    assert conspectus("init", docs).status == 0
    for place in (docs / "made", docs / "sub" / "made", docs / ".conspectus" / "index"):
        for _ in range(2):  # the second time the index is there already
            assert conspectus("index", docs, "--index", place).status == 0
            assert titles(place) == {"good"}
            assert failures(place) == {}
    versions = {(each / "CURRENT").read_text() for each in (docs / "made", docs / "sub" / "made")}
    assert len(versions) == 1, "one input, one version"
    (docs / "made" / "CURRENT").unlink()  # as a build leaves it that died before it was published
    assert conspectus("index", docs / "**" / "*", "--index", docs / "sub" / "made").status == 0
    assert titles(docs / "sub" / "made") == {"good"}
    assert failures(docs / "sub" / "made") == {}


def test_an_index_of_another_format_is_refused_until_it_is_built_again(index: Path, corpus: Path) -> None:
    path = next(index.glob("versions/*/manifest.json"))
    manifest = json.loads(path.read_text("utf-8")) | {"format_version": FORMAT_VERSION + 1, "a_new_field": []}
    path.write_text(json.dumps(manifest), "utf-8")
    before = snapshot(index)
    for words in (["ask", QUESTION], ["status"], ["verify"], ["remove", "one.txt"]):
        done = conspectus(*words, "--index", "index")
        assert (done.status, done.out) == (4, "")
        assert f"has index format {FORMAT_VERSION + 1}" in done.err
        assert "build the index again with: conspectus index INPUT" in done.err
    assert snapshot(index) == before
    assert conspectus("index", "corpus", "--index", "index").status == 0
    assert conspectus("verify", "--index", "index").status == 0


def test_hostile_files_are_rows_and_good_ones_are_read(tmp_path: Path, corpus: Path) -> None:
    files: dict[str | bytes, bytes] = {
        "zero.txt": b"",
        "blank.md": b" \n\t\n",
        "image.txt": b"\x89PNG\r\n\x1a\n" + random.Random(7).randbytes(400),
        "paper.pps": b"\xd0\xcf\x11\xe0",
        "utf16.txt": "Ada Lovelace wrote about Bernoulli numbers.".encode("utf-16"),
        "no mark.txt": "Ada Lovelace wrote about Bernoulli numbers.".encode("utf-16-le"),
        "chinese.txt": "北京大学位于北京市海淀区。鲁迅曾在北京大学任教。".encode(),
        "arabic.txt": "جامعة القاهرة تقع في الجيزة. درس نجيب محفوظ في جامعة القاهرة.".encode(),
        "\N{GRINNING FACE}.txt": b"Oxford is a city in England.",
        b"caf\xe9.txt": b"The Vistula flows through Poland.",
        "no text.csv": b"name,born\nAda,1815\n",
        "lines.jsonl": b'{"text": "Albert Einstein was born in Ulm."}\nnot JSON\n[1]\n{"title": "x"}\n{"text": 5}\n',
    }
    for name, content in files.items():
        with open(os.path.join(os.fsencode(corpus), os.fsencode(name)), "wb") as stream:  # noqa: PTH118, PTH123
            stream.write(content)
    done = conspectus("index", "corpus", "--index", "index")
    assert done.status == 5
    assert failures(tmp_path / "index") == {
        "blank.md": "empty",
        "image.txt": "binary data",
        "lines.jsonl#2": "line 2 is not JSON",
        "lines.jsonl#3": "line 3 is not a JSON object",
        "lines.jsonl#4": "no text column 'text' (input.text_column)",
        "lines.jsonl#5": "the text is not a string",
        "paper.pps": "unsupported format .pps",
        "zero.txt": "empty",
    }
    opened = StoredIndex.open(tmp_path / "index")
    assert verify(opened) == []
    texts = {each.uri: each.text for each in opened.rows(Document)}
    assert texts["utf16.txt"] == texts["no mark.txt"] == "Ada Lovelace wrote about Bernoulli numbers."
    assert {"chinese.txt", "arabic.txt", "\N{GRINNING FACE}.txt", "caf?.txt", "lines.jsonl#1", "good.txt"} < set(texts)
    for question, answer in (
        ("鲁迅曾在哪里任教？", "北京大学"),
        ("أين درس نجيب محفوظ؟", "القاهرة"),
        ("What flows through Poland?", "Vistula"),
    ):
        assert answer in conspectus("retrieve", question, "--k", "1", "--method", "bm25", "--index", "index").out
    listed = conspectus("status", "--failures", "--index", "index").out
    assert "read: image.txt: binary data (begins like a PNG file)" in listed


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
def test_fifty_megabytes_on_one_line_are_refused_quickly_and_in_bounded_memory(kind: str, tmp_path: Path) -> None:
    before = {"jsonl": b'{"text": "', "csv": b"id,text\n1,"}[kind]
    (tmp_path / f"line.{kind}").write_bytes(before + b"word " * (10 * MEGABYTE) + (b'"}' if kind == "jsonl" else b""))
    code = (
        "import re, sys; from conspectus.cli import main; from pathlib import Path\n"
        "try: main()\n"
        "finally: print(re.search(r'VmHWM:\\s+(\\d+) kB', Path('/proc/self/status').read_text())[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "index", tmp_path / f"line.{kind}"], capture_output=True, text=True, timeout=LIMIT
    )
    assert done.stderr.splitlines()[-1].startswith("conspectus: nothing could be read: ")
    assert done.returncode == 3
    assert int(done.stdout) < 400_000, "kilobytes at most"


def test_names_that_are_no_utf8_may_be_given(tmp_path: Path) -> None:
    done = conspectus_apart("index", b"caf\xe9", "--quiet", cwd=tmp_path)
    assert (done.status, done.out) == (3, "")
    assert done.err == "conspectus: no such file or folder: caf\\udce9\n"
    name = os.fsdecode(b"caf\xe9.txt")
    Path(name).write_text(GOOD, "utf-8")
    done = conspectus("index", name, "--index", "index", "--json", "--quiet")
    assert (done.status, done.err) == (0, "")
    assert titles(tmp_path / "index") == {"caf?"}
    done = conspectus("index", name, "--index", os.fsdecode(b"ind\xe9x"))
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("conspectus: the name of the index folder is not UTF-8: 'ind\\udce9x'")
