"""An index is a function of its input: whatever the order, the place, the history and the accidents of its making."""

import hashlib
import os
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.build_report import BuildReport
from conspectus.pipelines.runner import RunHere
from conspectus.storage.index import StoredIndex
from conspectus.storage.publishing import build_lock
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.verify import verify

from tests.command_line import conspectus, conspectus_apart

EXACT = {"communities": {"update": "exact"}}
SETTINGS = load_settings(overrides=EXACT)
TEXTS = {
    "Marie Curie.txt": "Marie Curie discovered polonium and radium. She was born in Warsaw and worked in Paris.",
    "Warsaw.txt": "Warsaw is the capital of Poland. The Vistula flows through Warsaw.",
    "rivers/Vistula.md": "# Vistula\n\nThe Vistula is the longest river in Poland. It ends in the Baltic Sea.",
    "rivers/Seine.md": "# Seine\n\nThe Seine flows through Paris. Paris is the capital of France.",
    "北京大学.txt": "北京大学位于北京市海淀区。鲁迅曾在北京大学任教。",
    "long.txt": "\n\n".join(
        f"Radium was studied by {name} in Paris. {name} wrote a letter to Marie Curie about the Vistula."
        for name in ("Pierre Curie", "Ernest Rutherford", "Niels Bohr", "Lise Meitner", "Otto Hahn") * 12
    ),
    "people.jsonl": '{"id": "x1", "title": "Lu Xun", "text": "Lu Xun taught at Peking University."}\n'
    '{"id": "x2", "title": "Chopin", "text": "Frederic Chopin was born near Warsaw and lived in Paris."}\n'
    '{"id": "x2", "title": "taken", "text": "This id is taken."}\n',
    "broken.csv": "a,b\n1,2\n",
}
MORE = "Albert Einstein was born in Ulm. He wrote to Marie Curie."

Item = TypeVar("Item")
Result = TypeVar("Result")


class Watched:
    """Runs shards here, and keeps what each step was given to do."""

    def __init__(self) -> None:
        self.given: defaultdict[str, list[object]] = defaultdict(list)

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        for part in parts:
            self.given[step] += part
        return RunHere()(step, work, parts)


def write(folder: Path, names: Sequence[str]) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(TEXTS[name], "utf-8")
    return folder


def build(source: Path, index: Path, settings: Settings = SETTINGS) -> tuple[BuildReport, Watched]:
    watched = Watched()
    return build_index([source], index, settings, watched), watched


def checksums(index: Path) -> dict[str, str]:
    """Return the sha256 of each published file by its place in the index."""
    version = (index / "CURRENT").read_text("utf-8").strip()
    files = [index / "CURRENT", *(each for each in (index / "versions" / version).rglob("*") if each.is_file())]
    return {path.relative_to(index).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def remembered(index: Path) -> dict[str, int]:
    """Return how many results of each kind the memo holds."""
    connection = sqlite3.connect(index / "cache" / "memo.sqlite")
    try:
        return dict(connection.execute("SELECT kind, count(*) FROM results GROUP BY kind"))
    finally:
        connection.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `docs`, all texts, and `index`, built from nothing without disturbance."""
    folder = tmp_path_factory.mktemp("undisturbed")
    build(write(folder / "docs", list(TEXTS)), folder / "index")
    assert verify(StoredIndex.open(folder / "index")) == []
    return folder


@pytest.fixture
def work(tmp_path: Path, undisturbed: Path) -> Path:
    """A copy of the folder that a test may change."""
    shutil.copytree(undisturbed, tmp_path / "work")
    return tmp_path / "work"


def test_the_same_input_gives_the_same_bytes(undisturbed: Path, tmp_path: Path) -> None:
    write(tmp_path / "deep" / "copy", list(reversed(TEXTS)))
    done = conspectus_apart(
        "index", "../deep/copy", "--index", "index", "--quiet", "--set", "build.shard_size=2",
        "--set", "communities.update=exact",
        cwd=_folder(tmp_path / "elsewhere"), PYTHONHASHSEED="4711", OMP_NUM_THREADS="1", TZ="Asia/Tokyo", LC_ALL="C",
    )  # fmt: skip
    assert done.status == 5, "two failures among few documents"
    assert checksums(tmp_path / "elsewhere" / "index") == checksums(undisturbed / "index")


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def test_an_unchanged_build_does_nothing(work: Path) -> None:
    def state() -> dict[str, int]:
        versions = work / "index" / "versions"
        return {
            str(path): path.stat().st_mtime_ns for path in (work / "index" / "CURRENT", versions, *versions.rglob("*"))
        }

    before = state()
    for each in (work / "docs").rglob("*"):
        os.utime(each)  # only contents count
    report, watched = build(work / "docs", work / "index")
    assert report.unchanged
    assert watched.given == {}
    assert state() == before


def test_a_moved_input_is_the_same_input(work: Path) -> None:
    (work / "docs").rename(work / "papers")
    report, _ = build(work / "papers", work / "index")
    assert report.unchanged


def _change(docs: Path) -> list[str]:
    (docs / "Warsaw.txt").write_text(MORE, "utf-8")
    return [MORE]


def _remove(docs: Path) -> list[str]:
    (docs / "rivers" / "Seine.md").unlink()
    return []


@pytest.mark.parametrize("edit", [_change, _remove])
def test_an_update_pays_for_what_changed_and_equals_a_build_from_nothing(
    edit: Callable[[Path], list[str]], work: Path, tmp_path: Path
) -> None:
    before, known = (work / "index" / "CURRENT").read_text(), remembered(work / "index")
    new_texts = edit(work / "docs")
    _, watched = build(work / "docs", work / "index")
    assert (work / "index" / "CURRENT").read_text() != before
    assert [text for _language, text in watched.given["extract"]] == new_texts
    assert [str(text).partition("\n")[2] for text in watched.given["embed chunks"]] == new_texts
    now = remembered(work / "index")
    assert now["extract"] == known["extract"] + len(new_texts)
    embedded = sum(len(texts) for step, texts in watched.given.items() if step.startswith("embed"))
    assert sum(now.values()) - sum(known.values()) == len(new_texts) + embedded
    assert verify(StoredIndex.open(work / "index")) == []
    if not new_texts:
        assert watched.given["embed entities"] == []

    build(work / "docs", tmp_path / "fresh")
    assert checksums(work / "index") == checksums(tmp_path / "fresh")


def test_without_the_cache_the_same_is_made_again(work: Path) -> None:
    before = checksums(work / "index")
    shutil.rmtree(work / "index" / "cache")
    assert build(work / "docs", work / "index")[0].unchanged, "the cache is never needed"
    shutil.rmtree(work / "index" / "versions")
    build(work / "docs", work / "index")
    assert checksums(work / "index") == before


def test_a_damaged_version_is_made_again(work: Path) -> None:
    before = checksums(work / "index")
    victim = next((work / "index").glob("versions/*/chunks.parquet"))
    victim.write_bytes(victim.read_bytes()[: victim.stat().st_size // 2])
    report, watched = build(work / "docs", work / "index")
    assert not report.unchanged
    assert not any(watched.given.values()), "from memory"
    assert checksums(work / "index") == before


def test_of_two_builds_at_once_the_second_says_so(work: Path) -> None:
    before = checksums(work / "index")
    with build_lock(work / "index"):
        done = conspectus("index", work / "docs", "--index", work / "index", "--quiet")
        assert (done.status, done.out) == (4, "")
        assert done.err.startswith("conspectus: another build holds ")
        assert conspectus("status", "--index", work / "index").status == 0, "readers are not held up"
    assert checksums(work / "index") == before
    assert conspectus("index", work / "docs", "--index", work / "index", "--quiet").status == 5
