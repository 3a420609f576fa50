"""A build that ends before its time: the old version is in force, nothing finished is done twice, the end is the same.

Thirty random moments of each kind are `python -m benchmarks.killing`; here are two.
"""

import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from conspectus.storage.errors import IndexUnusable
from conspectus.storage.memo import Memo

from benchmarks.fake_server import FakeServer
from tests.command_line import start
from tests.end_to_end.killing import QUESTION, Life, Moment, published, remembered, with_model
from tests.end_to_end.nursery import Job, Nursery, nursery
from tests.end_to_end.watching import watching
from tests.graph_model import reply
from tests.waiting import HELD, LIMIT, wait_until

ROUNDS = (Moment(0.5, "memo"), Moment(0.985, "files"))
"""Among the calls, and while the version is put in force."""


@pytest.fixture(scope="module")
def place() -> Iterator[Nursery]:
    with nursery(warm=False) as started:
        yield started


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply, latency=0.03) as running:
        yield running


@pytest.fixture
def life(tmp_path: Path, place: Nursery, server: FakeServer) -> Life:
    return Life(tmp_path, place, with_model(server.url), server)


def test_whenever_it_is_killed_nothing_is_lost_and_nothing_is_paid_twice(life: Life) -> None:
    with watching(life.index, QUESTION) as reader:
        rounds = [life.round(number, moment) for number, moment in enumerate(ROUNDS, start=1)]
    assert [each.problems for each in rounds] == [()] * len(ROUNDS)
    assert all(each.killed for each in rounds)
    assert any(0 < each.kept < each.needed for each in rounds), "some work was done and some was not"
    assert all(each.kept + each.made == each.needed for each in rounds)
    assert reader.seen
    assert reader.seen.wrong == []
    assert len(reader.seen.versions) > 1


def test_files_that_were_cut_short_with_it_do_no_harm(life: Life) -> None:
    old = published(life.index)
    job = Job(str(life.docs), str(life.index), life.settings)
    for path in life.docs.iterdir():
        path.write_text(path.read_text("utf-8").replace("wrote", "sent"), "utf-8")
    twin = life.nursery.build(Job(str(life.docs), str(life.twin), life.settings))
    assert life.nursery.build(Moment(0.8, "files").job(job, twin)).killed
    begun = [path for path in life.index.glob("versions/.staging-*/**/*") if path.is_file()]
    assert begun
    for path in (*begun, life.index / "CURRENT.new"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if path.exists() else b"12ab")
    assert published(life.index) == old
    assert not life.nursery.build(job).error
    assert published(life.index) == published(life.twin)
    assert not list(life.index.glob("versions/.*"))


def test_a_log_of_the_memo_that_was_cut_short_costs_its_end_only(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "whole" / "memo.sqlite")
    reader = sqlite3.connect(memo.path)  # as long as one is open the log is not written into the file
    reader.execute("SELECT count(*) FROM results").fetchall()
    for number in range(20):
        memo.put_many("reply", {f"{number:02}": b"r" * 3000})
    log = (tmp_path / "whole" / "memo.sqlite-wal").read_bytes()
    lasting = []
    for share in range(11):
        folder = tmp_path / str(share)
        folder.mkdir()
        shutil.copy(memo.path, folder / "memo.sqlite")
        (folder / "memo.sqlite-wal").write_bytes(log[: len(log) * share // 10])
        found = Memo(folder / "memo.sqlite").get_many("reply", [f"{number:02}" for number in range(20)])
        assert sorted(found) == [f"{number:02}" for number in range(len(found))], "the first ones, in order"
        assert set(found.values()) <= {b"r" * 3000}
        lasting.append(len(found))
    assert lasting == sorted(lasting)
    assert (lasting[0], lasting[-1]) == (0, 20)
    reader.close()
    memo.path.write_bytes(memo.path.read_bytes()[:5000])
    with pytest.raises(IndexUnusable, match=r"unusable .*; delete it to continue"):
        Memo(memo.path).get_many("reply", [f"{number:02}" for number in range(20)])


def test_ctrl_c_while_a_server_is_asked_is_one_line_and_what_was_paid_is_kept(life: Life, server: FakeServer) -> None:
    old, memo = published(life.index), life.index / "cache" / "memo.sqlite"
    for path in life.docs.iterdir():
        path.write_text(path.read_text("utf-8").replace("wrote", "sent"), "utf-8")
    known, before = remembered(memo), len(server.requests)
    server.change(latency=lambda request: 0.0 if request.number < before + 12 else HELD)
    sections = [
        word
        for section, values in life.settings.items()
        for key, value in values.items()
        for word in ("--set", f"{section}.{key}={value}")
    ]
    process = start("index", life.docs, "--index", life.index, "--quiet", *sections)
    # As many chat calls as are sent at a time wait for replies; a call for vectors may wait beside them.
    wait_until(lambda: len(server.requests) >= before + 12 + 4)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    assert (process.returncode, out) == (130, b"")
    assert err.decode() == "conspectus: interrupted; run the same command again to go on\n"
    assert published(life.index) == old
    kept = remembered(memo) - known
    assert kept["reply"] >= 4

    server.change(latency=0.0)
    twin = life.nursery.build(Job(str(life.docs), str(life.twin), life.settings))
    needed = remembered(life.twin / "cache" / "memo.sqlite") - known
    before = len(server.requests)
    again = life.nursery.build(Job(str(life.docs), str(life.index), life.settings))
    assert (again.error, again.version) == ("", twin.version)
    asked = sum(each.path.endswith("/chat/completions") for each in server.requests[before:])
    assert asked == (needed - kept)["reply"]
