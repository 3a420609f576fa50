"""A new version is published while clients ask: no request is lost, and each is answered by one version."""

import threading
from pathlib import Path

import pytest
from conspectus.pipelines.purge import purge
from conspectus.storage.errors import IndexBusy
from conspectus.storage.publishing import build_lock, leased, prune, take_lease
from conspectus.storage.settings import load_settings

from tests.conspectus.server.running import build, running
from tests.waiting import wait_until


def town(number: int) -> list[dict[str, object]]:
    """Return rows whose every sentence has the number of the version that they are for."""
    name = f"Town{'abcdefgh'[number]}"
    return [{"id": f"{i}", "title": f"{name} {i}", "text": f"Otto Brand went to {name} in spring."} for i in range(5)]


def test_every_answer_is_of_one_version_and_none_is_lost(tmp_path: Path) -> None:
    root = build(tmp_path, town(0))
    names = {}
    with running(("notes", root)) as server:
        names[server.indexes[0].version] = "Towna"
        said: list[tuple[int, str, str]] = []
        stop = threading.Event()

        def asks() -> None:
            while not stop.is_set():
                got = server.ask(question="Where did Otto Brand go?", method="ppr")
                said.append((got.status_code, got.headers.get("conspectus-version", ""), got.text))

        clients = [threading.Thread(target=asks) for _ in range(4)]
        for client in clients:
            client.start()
        for number in (1, 2, 3):
            before = server.indexes[0].version
            build(tmp_path, town(number))
            wait_until(lambda: server.indexes[0].version != before)  # noqa: B023
            newest = server.indexes[0].version
            names[newest] = f"Town{'abcd'[number]}"
            wait_until(lambda: newest in {version for _, version, _ in said})  # noqa: B023
        stop.set()
        for client in clients:
            client.join()
        assert {status for status, _, _ in said} == {200}
        assert {version for _, version, _ in said} == set(names)
        for _, version, text in said:
            found = {name for name in names.values() if name in text}
            assert found == {names[version]}, "an answer mixes versions"
        wait_until(lambda: leased(root) == {server.indexes[0].version})
        assert 'conspectus_reloads_total{index="notes",result="changed"} 3.0' in server.client.get("/metrics").text


def test_prune_leaves_a_version_in_use_and_purge_refuses(tmp_path: Path) -> None:
    root = build(tmp_path, town(0))
    with running(("notes", root)) as server:
        old = server.indexes[0].hold()
        build(tmp_path, town(1))
        wait_until(lambda: server.indexes[0].version != old.name)
        with build_lock(root):
            assert prune(root).in_use == (old.name,)
        with pytest.raises(IndexBusy, match=old.name):
            purge(root, load_settings())
        assert old.index.failures() == []
        assert old.index.context.index.rows.__self__.folder.is_dir()
        old.let_go()
        with build_lock(root):
            pruned = prune(root)
        assert (pruned.versions, pruned.in_use) == ((old.name,), ())
        assert server.ask().status_code == 200


def test_a_version_that_cannot_be_read_does_not_replace_one_that_can(tmp_path: Path) -> None:
    root = build(tmp_path, town(0))
    with running(("notes", root)) as server:
        good = server.indexes[0].version
        (root / "CURRENT").write_text("0" * 12 + "\n")
        wait_until(lambda: any(row.get("event") == "not loaded" for row in server.log))
        assert server.ask().json()["version"] == good
        (root / "CURRENT").write_text(good + "\n")
        assert server.client.get("/readyz").status_code == 200
        assert leased(root) == {good}


def test_a_lease_of_a_program_that_died_holds_nothing(tmp_path: Path) -> None:
    versions = tmp_path / "versions"
    versions.mkdir()
    (versions / ".lease-aaaaaaaaaaaa-1-00").touch()
    lease = take_lease(tmp_path, "bbbbbbbbbbbb")
    assert lease is not None
    assert leased(tmp_path) == {"bbbbbbbbbbbb"}
    lease.give_back()
    assert leased(tmp_path) == set()
    assert not list(versions.iterdir())
