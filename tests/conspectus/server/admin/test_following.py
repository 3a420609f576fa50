"""A folder of documents is followed through a server: on and off, what it adds and removes, and what fails in it."""

import time
from pathlib import Path
from typing import Any

import pytest
from conspectus.pipelines.build_report import failures_of
from conspectus.server.admin import following
from conspectus.server.admin.following import NO_FOLDER

from tests.command_line import conspectus
from tests.conspectus.server.admin.test_admin_routes import ADMIN, OFFLINE, callers, ended, start, upload
from tests.conspectus.server.running import Running, build, running
from tests.waiting import wait_until

FOLLOWING = "/v1/indexes/notes/following"


def uris(server: Running) -> set[str]:
    rows = server.client.get("/v1/indexes/notes/documents").json()["rows"]
    return {each["uri"] for each in rows if not each["uri"].startswith("rows.jsonl")}


def updates(server: Running) -> list[dict[str, Any]]:
    return [each for each in server.client.get("/v1/indexes/notes/jobs").json() if each["kind"] == "update"]


def state(server: Running) -> dict[str, Any]:
    found: dict[str, Any] = server.client.get("/v1/indexes/notes/changes").json()["following"]
    return found


def test_a_folder_is_followed_until_that_is_switched_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_SECONDS_UNTIL_AGAIN", 0.2)
    root, docs = build(tmp_path), tmp_path / "docs"
    docs.mkdir()
    (docs / "0.txt").write_text("Ida Moss painted the mill.", "utf-8")
    (docs / "gone.txt").write_text("Hugo Vale sold the mill.", "utf-8")
    serving = {"settings": OFFLINE, "callers": callers(), "token": ADMIN, "documents": str(docs)}
    with running(("notes", root), **serving) as server:  # type: ignore[arg-type]
        assert state(server) == {"folder": "docs", "on": False, "by": "", "problem": ""}
        assert upload(server, "own.txt").status_code == 201
        ended(server, start(server, "build").json()["id"])
        assert server.client.put(FOLLOWING).json()["on"]
        wait_until(lambda: uris(server) == {"own.txt", "0.txt", "gone.txt"})

        before = len(updates(server))
        for edit in range(40):
            (docs / f"{edit % 4}.txt").write_text(f"Ida Moss painted Hugo Vale. Edit {edit}.", "utf-8")
            (docs / "bad.pdf").write_bytes(b"%PDF-1.4 broken")
            (docs / "gone.txt").unlink(missing_ok=True)
            time.sleep(0.02)
        wait_until(lambda: uris(server) == {"own.txt", *(f"{n}.txt" for n in range(4))})
        wait_until(lambda: "Edit 36." in server.client.get("/v1/indexes/notes/documents/0.txt").text)
        assert 1 <= len(updates(server)) - before <= 3, "changes within seconds are one update"
        last = ended(server, updates(server)[0]["id"])
        assert (last["state"], [each["item_id"] for each in last["result"]["unread"]]) == ("done", ["bad.pdf"])

    (docs / "1.txt").unlink()  # while no server runs
    (docs / "bad.pdf").unlink()
    with running(("notes", root), **serving) as server:  # type: ignore[arg-type]
        wait_until(lambda: uris(server) == {"own.txt", "0.txt", "2.txt", "3.txt"})
        assert failures_of(root) == [], "a failure of a file that is gone is forgotten"
        docs.rename(tmp_path / "elsewhere")
        wait_until(lambda: state(server)["problem"] != "")
        (tmp_path / "elsewhere").rename(docs)
        wait_until(lambda: state(server)["problem"] == "")
        assert uris(server) == {"own.txt", "0.txt", "2.txt", "3.txt"}, "a folder that is not there removes nothing"
        assert state(server)["by"] == "administrator"

        wait_until(lambda: all(each["state"] != "running" for each in updates(server)))
        assert not server.client.delete(FOLLOWING).json()["on"]
        before = len(updates(server))
        (docs / "later.txt").write_text("Read when it is asked for.", "utf-8")
        assert ended(server, start(server, "update").json()["id"])["state"] == "done", "it can also be started"
        wait_until(lambda: "later.txt" in uris(server))
        assert len(updates(server)) == before + 1
        assert "folder no longer followed" in {each.get("event") for each in server.log}


def test_without_a_folder_there_is_nothing_to_follow(tmp_path: Path, notes: Path) -> None:
    with running(("notes", build(tmp_path)), settings=OFFLINE, callers=callers(), token=ADMIN) as server:
        assert server.client.get("/v1/indexes/notes/changes").json()["following"] is None
        for got in (server.client.put(FOLLOWING), server.client.delete(FOLLOWING), start(server, "update")):
            assert (got.status_code, got.json()["error"]["message"]) == (409, NO_FOLDER)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("--documents", "docs"), "administrator's token"),
        (("--documents", "docs", "--admin-token"), "name one of the indexes"),
        (("--documents", "notes=none", "--admin-token"), "that exist can be followed"),
    ],
)
def test_a_folder_that_cannot_be_followed_is_refused(
    given: tuple[str, ...], why: str, notes: Path, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(ADMIN)
    token.chmod(0o600)
    words = [*given, token] if given[-1] == "--admin-token" else given
    others = [f"other={notes}"] if "name one" in why else []
    done = conspectus("serve", f"notes={notes}", *others, *words, "--port", "0")
    assert done.status == 2
    assert why in " ".join(done.err.split())
