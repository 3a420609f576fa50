"""Versions of an index: what differs between them, the gate before publishing, going back, and following a folder."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import conspectus
import pytest
from conspectus.storage.errors import ChecksFailed, InputError, UsageError
from conspectus.storage.index import StoredIndex
from conspectus.storage.publishing import complete_versions, published
from conspectus.storage.records import Failure
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeServer
from tests.command_line import conspectus as run
from tests.conspectus.server.running import running
from tests.graph_model import reply
from tests.pipelines.resolution.test_built import overrides

LAMP = "The lamp of the lighthouse on Gull Point failed in 1911. Mara Quill repaired it."
CHECKS = [
    {"question": "Who repaired the lamp?", "method": "bm25", "cites": ["lamp"], "contains": ["mara QUILL"]},
    {"question": "Which moons of Jupiter did Galileo discover?", "declines": True},
]


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(reply) as running:
        yield running


def settings_of(server: FakeServer, **build: object) -> Settings:
    return load_settings(overrides={**overrides(server), "build": build})


def version_of(root: Path) -> str:
    return StoredIndex.open(root).manifest.version


def test_what_differs_is_the_same_on_each_front(tmp_path: Path, server: FakeServer) -> None:
    settings, root = settings_of(server), tmp_path / "index"
    texts = {"lamp": LAMP, "old": "Otto Brand met Lena Storm."}
    first = conspectus.build(texts=texts, index=root, settings=settings)
    with pytest.raises(UsageError, match="no earlier version"):
        first.diff()
    texts = {"lamp": f"{LAMP} Ida Moss wept.", "new": "Hugo Vale painted Ida Moss."}
    index = conspectus.build(texts=texts, index=root, settings=settings)
    found = index.diff()
    assert (found.before, found.after) == (first.manifest.version, index.manifest.version)
    told = {(each.table, each.change): each.names for each in found.changes}
    assert told["documents", "came"] == ["new"]
    assert told["documents", "gone"] == ["old"]
    assert told["documents", "changed"] == ["lamp"]
    assert {"Ida Moss", "Hugo Vale"} <= {*told["entities", "came"]}
    assert {"Otto Brand", "Lena Storm"} <= {*told["entities", "gone"]}
    back = {(each.table, each.change): each.names for each in index.diff(found.after, found.before).changes}
    assert back["documents", "came"] == told["documents", "gone"]
    assert index.diff(found.after[:6], found.after).changes == []
    assert [len(each.names) for each in index.diff(limit=1).changes] == [1] * len(found.changes)
    shown = json.loads(run("diff", "--index", str(root), "--json").out)
    assert shown["changes"] == [
        {"table": each.table, "change": each.change, "count": each.count, "names": each.names} for each in found.changes
    ]
    assert "1 document came: new" in run("diff", found.before, found.after, "--index", str(root)).out
    with running(("notes", root), settings=settings) as served:
        got = served.client.get("/v1/indexes/notes/diff", params={"before": found.before}).json()
        assert got["changes"] == shown["changes"]
    with pytest.raises(UsageError, match="has no version 'nothing'"):
        index.diff("nothing")


def test_a_model_states_relations_that_differ(tmp_path: Path, server: FakeServer) -> None:
    settings = load_settings(overrides={**overrides(server), "llm": {"model": "m", "base_url": server.url}})
    conspectus.build(texts={"a": "Otto Brand met Lena Storm."}, index=tmp_path / "index", settings=settings)
    texts = {"a": "Otto Brand met Lena Storm. Ida Moss met Lena Storm."}
    found = conspectus.build(texts=texts, index=tmp_path / "index", settings=settings).diff()
    assert {"relations", "statements", "entities", "documents"} <= {each.table for each in found.changes}


def test_a_bad_update_is_stopped_and_a_good_one_is_published(tmp_path: Path, server: FakeServer) -> None:
    root, file = tmp_path / "index", tmp_path / "checks.jsonl"
    file.write_text("\n".join(map(json.dumps, CHECKS)), "utf-8")
    settings = settings_of(server, checks=str(file))
    good = conspectus.build(texts={"lamp": LAMP}, index=root, settings=settings)
    assert [each.wrong for each in good.check(file)] == [(), ()]
    with pytest.raises(ChecksFailed, match=r"kept, but not published: 1 of 2 checks fail") as raised:
        conspectus.build(texts={"lamp": LAMP.replace("Mara Quill", "Odo Fenn")}, index=root, settings=settings)
    assert version_of(root) == good.manifest.version
    assert raised.value.version in complete_versions(root)
    assert raised.value.results[0].wrong == ("does not contain 'mara QUILL'",)
    assert "documents" in {each.table for each in good.diff(good.manifest.version, raised.value.version).changes}
    better = conspectus.build(texts={"lamp": f"{LAMP} It shone."}, index=root, settings=settings)
    assert version_of(root) == better.manifest.version
    assert published(root) == [good.manifest.version, better.manifest.version]
    lenient = settings_of(server, checks=str(file), checks_failed=1)
    assert conspectus.build(texts={"lamp": "Odo Fenn left."}, index=root, settings=lenient).report
    assert verify(StoredIndex.open(root)) == []


def test_the_first_version_is_not_published_either(tmp_path: Path, server: FakeServer) -> None:
    file = tmp_path / "gate.jsonl"
    file.write_text(json.dumps(CHECKS[0]), "utf-8")
    options = [f"--set={name}.{key}={value}" for name, keys in overrides(server).items() for key, value in keys.items()]
    (tmp_path / "other.txt").write_text("Odo Fenn left.", "utf-8")
    where = ["--index", str(tmp_path / "index"), *options, f"--set=build.checks={file}"]
    done = run("index", str(tmp_path / "other.txt"), *where, "-q")
    assert done.status == 11
    assert "0 of 1 check passed" in done.out
    assert len(done.err.strip().splitlines()) == 1
    done = run("index", str(tmp_path / "other.txt"), *where, "--json")
    assert json.loads(done.out)["published"] is False
    assert not (tmp_path / "index" / "CURRENT").exists()
    done = run("index", str(tmp_path / "other.txt"), "--index", str(tmp_path / "index"), *options)
    assert done.status == 0, done.err
    assert run("check", "--file", str(file), "--index", str(tmp_path / "index"), *options).status == 11
    assert run("check", "--index", str(tmp_path / "index"), *options).status == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"question": "Who?"}', "checks.jsonl:2: it needs cites or contains"),
        ('{"question": "Who?", "cites": ["a"], "declines": true}', "checks.jsonl:2: it needs cites"),
        ('{"question": "Who?", "site": ["a"]}', "checks.jsonl:2: site"),
        ("[1]", "checks.jsonl:2: "),
        ("{", "checks.jsonl:2: not JSON"),
    ],
)
def test_a_wrong_check_is_told_with_its_line(tmp_path: Path, line: str, message: str, server: FakeServer) -> None:
    file = tmp_path / "checks.jsonl"
    file.write_text(f"{json.dumps(CHECKS[0])}\n{line}\n", "utf-8")
    index = conspectus.build(texts={"lamp": LAMP}, index=tmp_path / "index", settings=settings_of(server))
    with pytest.raises(InputError, match=message):
        index.check(file)


def test_versions_are_kept_and_made_current_again(tmp_path: Path, server: FakeServer) -> None:
    root, settings = tmp_path / "index", settings_of(server, keep_versions=1)
    made = [
        conspectus.build(texts={"a": f"Otto Brand saw {n}."}, index=root, settings=settings).manifest.version
        for n in range(4)
    ]
    assert published(root) == made
    assert conspectus.prune(root, settings=settings).pruned.versions == tuple(sorted(made[:2]))
    assert conspectus.rollback(root, settings).manifest.version == made[2] == version_of(root)
    assert published(root) == [made[2]]
    done = run("rollback", "--index", str(root))
    assert done.status == 2
    assert "no earlier version" in done.err
    again = conspectus.build(texts={"a": "Otto Brand saw 3."}, index=root, settings=settings)
    assert again.manifest.version == made[3]
    assert published(root) == made[2:]
    assert json.loads(run("rollback", "--index", str(root), "--json").out)["version"] == made[2]
    assert conspectus.prune(root, settings=settings).pruned.versions == (made[3],)
    with pytest.raises(UsageError, match="current version only"):
        conspectus.rollback("s3://bucket/docs.index")


def test_a_folder_is_followed(tmp_path: Path, server: FakeServer) -> None:
    docs, root = tmp_path / "docs", tmp_path / "docs" / "own.index"
    docs.mkdir()
    (docs / "a.txt").write_text("Otto Brand met Lena Storm.", "utf-8")
    options = [f"--set={name}.{key}={value}" for name, keys in overrides(server).items() for key, value in keys.items()]
    command = [
        sys.executable,
        "-m",
        "conspectus.cli",
        "index",
        f"{docs}/*.*",
        "--index",
        str(root),
        "--watch",
        *options,
    ]
    log = tmp_path / "log"
    with log.open("w") as out, subprocess.Popen([*command, "-q"], stdout=out, stderr=out) as process:
        try:
            until(lambda: (root / "CURRENT").exists())
            for edit in range(20):
                (docs / f"{edit % 5}.txt").write_text(f"Ida Moss painted Hugo Vale {edit}.", "utf-8")
                (docs / "bad.pdf").write_bytes(b"%PDF-1.4 broken")
                (docs / "a.txt").unlink(missing_ok=True)
                time.sleep(0.02)
            until(lambda: {each.uri for each in conspectus.open(root).documents()} == {f"{n}.txt" for n in range(5)})
            (docs / "4.txt").write_text("The end.", "utf-8")
            until(lambda: conspectus.open(root).document("4.txt").text == "The end.")
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()  # else the block would wait for it for ever
                raise
    assert process.returncode == 130
    assert [each.item_id for each in StoredIndex.open(root).rows(Failure)] == ["bad.pdf"]
    assert 3 <= log.read_text("utf-8").count("published version") <= 5
    assert run("index", str(tmp_path / "nothing"), "--watch", "--index", str(root)).status == 2


def until(happened: object) -> None:
    assert callable(happened)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            if happened():
                return
        except conspectus.ConspectusError:
            pass  # not yet
        time.sleep(0.2)
    raise AssertionError("it did not happen within a minute")
