"""Administration over HTTP: who may, what changes an index, and what is said of it."""

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from conspectus.server.admin.changes import UploadLimits
from conspectus.server.tokens import Caller, CallerLimits, Callers, _digest, read_callers
from conspectus.storage.settings import Settings, load_settings

from benchmarks.fake_server import FakeServer
from benchmarks.fake_server.replies import FakeRequest, Rule
from tests.command_line import conspectus
from tests.conspectus.server.running import Running, build, running
from tests.conspectus.server.test_request_checks import raw, routes
from tests.end_to_end.killing import with_model
from tests.waiting import HELD, wait_until

READER, ADMIN = "a-reader-of-16-bytes", "an-administrator-of-16-bytes"
OFFLINE = load_settings(overrides={"extraction": {"pipeline": "regex"}})
NEW = "Mary Quill painted the lighthouse of Cape Stone blue in 1954."
ASKED = "Who painted the lighthouse of Cape Stone?"


def callers() -> Callers:
    return Callers({_digest(READER): Caller("reader")}, admin_token=ADMIN)


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def start(server: Running, kind: str, **more: str) -> httpx.Response:
    return server.client.post("/v1/indexes/notes/jobs", json={"kind": kind, **more})


def ended(server: Running, job: str) -> dict[str, Any]:
    """Wait for a job and return it."""
    path = f"/v1/indexes/notes/jobs/{job}"
    wait_until(lambda: server.client.get(path).json()["state"] != "running")
    found: dict[str, Any] = server.client.get(path).json()
    return found


def upload(server: Running, name: str, text: str = NEW) -> httpx.Response:
    return server.client.put(f"/v1/indexes/notes/uploads/{name}", content=text.encode())


@pytest.fixture
def administered(tmp_path: Path) -> Iterator[Running]:
    """A server of an index of its own whose client is the administrator."""
    with running(("notes", build(tmp_path)), settings=OFFLINE, callers=callers(), token=ADMIN) as server:
        yield server


def of_administration() -> list[tuple[str, str]]:
    parts = ("/changes", "/uploads/", "/removals/", "/following", "/jobs")
    return [(method, path) for method, path in routes() if any(part in path for part in parts)]


def test_a_server_without_an_administrators_token_has_no_such_routes(server: Running) -> None:
    assert len(of_administration()) >= 12
    for method, path in of_administration():
        got = server.client.request(method, path, headers=bearer(ADMIN))
        assert (got.status_code, got.json()["error"]["type"]) == (404, "not_found"), path
    assert server.client.get("/v1/administration").json() == {"on": False, "administrator": False}
    assert not (server.indexes[0].root / "admin").exists()


def test_a_readers_token_is_refused_and_one_of_a_file_never_administers(administered: Running) -> None:
    for method, path in of_administration():
        got = administered.client.request(method, path, headers=bearer(READER))
        assert (got.status_code, got.json()["error"]["type"]) == (403, "not_permitted"), path
        assert administered.client.request(method, path, headers=bearer("x" * 20)).status_code == 401
        foreign = {"origin": "https://evil.example"}
        assert administered.client.request(method, path, headers=foreign).json()["error"]["type"] == "foreign_origin"
    assert administered.client.get("/v1/administration").json() == {"on": True, "administrator": True}


def test_where_readers_need_no_token_the_administrator_does(notes: Path) -> None:
    made = read_callers(None, {"CONSPECTUS_ADMIN_TOKEN": ADMIN}, CallerLimits())
    assert made.administered
    assert not made.needed, "the server stays on this machine"
    for authorization in (None, f"Bearer {ADMIN}x", f"Basic {ADMIN}", ADMIN):
        caller = made.of(authorization)
        assert caller is not None
        assert not caller.administers
    done = conspectus("serve", notes, "--host", "192.0.2.1", "--port", "0")
    assert done.status == 2


def test_a_document_is_added_and_removed_and_nothing_of_it_stays(administered: Running, tmp_path: Path) -> None:
    server, root = administered, administered.indexes[0].root
    assert not server.ask(question=ASKED).json()["known"]
    assert upload(server, "light%20house.txt").json() == {"name": "light house.txt", "bytes": len(NEW)}
    waiting = server.client.get("/v1/indexes/notes/changes").json()
    assert [each["name"] for each in waiting["uploads"]] == ["light house.txt"]

    estimate = ended(server, start(server, "estimate").json()["id"])
    (tmp_path / "light house.txt").write_text(NEW)
    chosen = ("--set", "extraction.pipeline=regex", "--estimate", "--json", "--index", root)
    printed = json.loads(conspectus("add", tmp_path / "light house.txt", *chosen).out)
    assert estimate["result"].pop("text").startswith("notes: ")
    assert estimate["result"] == {**printed, "index": "notes"}

    stale = start(server, "build", changes="0" * 12)
    assert (stale.status_code, stale.json()["error"]["type"]) == (409, "changed")
    job = start(server, "build", changes=estimate["changes"]).json()
    with server.client.stream("GET", f"/v1/indexes/notes/jobs/{job['id']}/events") as stream:
        told = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    assert told[-1]["state"] == "done"
    assert len({len(each["steps"]) for each in told}) > 2, "progress came one by one"
    wait_until(lambda: server.indexes[0].version == told[-1]["result"]["version"])
    answer = server.ask(question=ASKED).json()
    assert "Mary Quill" in answer["text"]
    document = answer["citations"][0]["document_id"]
    assert server.client.get(f"/v1/indexes/notes/documents/{document}").json()["uri"] == "light house.txt"
    assert list((root / "admin").rglob("*.txt")) == [root / "admin" / "jobs" / job["id"] / "output.txt"]

    assert server.client.put("/v1/indexes/notes/removals/nothing").status_code == 404
    assert server.client.put(f"/v1/indexes/notes/removals/{document}").status_code == 204
    assert server.client.delete("/v1/indexes/notes/removals/light%20house.txt").status_code == 204
    assert start(server, "build").json()["error"]["type"] == "nothing_waits"
    assert server.client.put("/v1/indexes/notes/removals/light%20house.txt").status_code == 204
    removed = ended(server, start(server, "build").json()["id"])
    assert (removed["state"], removed["notes"]) == ("done", [])
    assert not server.ask(question=ASKED).json()["known"]
    assert server.ask().json()["known"], "the others stay"
    left = [path for path in root.rglob("*") if path.is_file() and b"Cape Stone" in path.read_bytes()]
    assert left == [], "it is purged from older versions and the cache"


def slow_server(tmp_path: Path, fake: FakeServer) -> tuple[Path, Settings]:
    """Return an index that asks a model, and its settings."""
    from conspectus.pipelines.build_index import build_index

    settings = load_settings(overrides=with_model(fake.url))
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "harbour.txt").write_text("Anna Berg met Otto Brand in Port Alma.")
    build_index([docs], tmp_path / "index", settings)
    return tmp_path / "index", settings


def test_what_a_stopped_build_was_to_add_waits_again_and_a_second_build_is_refused(tmp_path: Path) -> None:
    seconds = 0.0
    with FakeServer(latency=lambda _: seconds) as fake:
        root, settings = slow_server(tmp_path, fake)
        with running(("notes", root), settings=settings, callers=callers(), token=ADMIN) as server:
            before, seconds, asked = server.indexes[0].version, HELD, len(fake.requests)
            upload(server, "light.txt")
            job = start(server, "build").json()["id"]
            for kind in ("build", "estimate", "retry"):
                second = start(server, kind)
                assert (second.status_code, second.json()["error"]["type"]) == (409, "busy")
            wait_until(lambda: len(fake.requests) > asked)
            assert server.client.get("/livez").status_code == 200
            upload(server, "more.txt", "Bela Stone keeps bees.")
            stopped = server.client.post(f"/v1/indexes/notes/jobs/{job}/stop").json()
            assert (stopped["state"], stopped["uploads"]) == ("stopped", ["light.txt"])
            assert server.indexes[0].version == before
            asked = len(fake.requests)
            seconds = 0.0
            time.sleep(0.5)
            assert len(fake.requests) == asked, "nothing asks a model any more"

            names = [each["name"] for each in server.client.get("/v1/indexes/notes/changes").json()["uploads"]]
            assert names == ["light.txt", "more.txt"], "what it was to add waits again"
            assert ended(server, start(server, "build").json()["id"])["state"] == "done"
            uris = {row["uri"] for row in server.client.get("/v1/indexes/notes/documents").json()["rows"]}
            wait_until(lambda: server.indexes[0].version != before)
            uris = {row["uri"] for row in server.client.get("/v1/indexes/notes/documents").json()["rows"]}
            assert uris == {"harbour.txt", "light.txt", "more.txt"}


def test_what_a_model_lost_is_estimated_and_tried_again(tmp_path: Path) -> None:
    broken = True

    def fails(request: FakeRequest) -> bool:
        return broken and "messages" in request.body and "Cape Stone" in request.prompt

    with FakeServer([Rule("no records at all", fails)]) as fake:
        root, settings = slow_server(tmp_path, fake)
        with running(("notes", root), settings=settings, callers=callers(), token=ADMIN) as server:
            upload(server, "light.txt")
            assert ended(server, start(server, "build").json()["id"])["state"] == "done"
            wait_until(lambda: server.client.get("/v1/indexes/notes/failures").json()["total"] > 0)
            broken = False
            estimate = ended(server, start(server, "estimate_retry").json()["id"])
            assert estimate["result"]["total"]["calls"] > 0
            retried = ended(server, start(server, "retry").json()["id"])
            assert retried["result"]["failures"] == 0
            wait_until(lambda: server.client.get("/v1/indexes/notes/failures").json()["total"] == 0)


def test_what_cannot_be_read_is_told_and_can_be_forgotten(administered: Running) -> None:
    upload(administered, "broken.pdf", "not a PDF")
    upload(administered, "fine.txt")
    done = ended(administered, start(administered, "build").json()["id"])
    assert [each["item_id"] for each in done["result"]["unread"]] == ["broken.pdf"]
    wait_until(lambda: administered.indexes[0].version == done["result"]["version"])
    assert administered.client.put("/v1/indexes/notes/removals/broken.pdf").status_code == 204
    done = ended(administered, start(administered, "build").json()["id"])
    assert done["result"]["failures"] == 0


def test_a_failed_job_says_why_without_a_path(tmp_path: Path) -> None:
    root = build(tmp_path)
    other = load_settings(overrides={"chunks": {"chunk_size": 150}})
    with running(("notes", root), settings=other, callers=callers(), token=ADMIN) as server:
        upload(server, "light.txt")
        failed = ended(server, start(server, "build").json()["id"])
        assert (failed["state"], failed["error"]["type"]) == ("failed", "UsageError")
        assert "other settings" in failed["error"]["message"]
        for secret in (str(tmp_path), str(Path.home()), "Traceback"):
            assert secret not in json.dumps(failed)


@pytest.mark.parametrize(
    "path", ["..%2fout.txt", "%2e%2e%2f%2e%2e%2fCURRENT", "..%5cout.txt", "a%00.txt", "%2fetc%2fpasswd", "sub/a.txt"]
)
def test_a_name_that_climbs_is_refused_over_the_wire(administered: Running, path: str) -> None:
    before = sorted(each for each in administered.indexes[0].root.parent.rglob("*"))
    head = f"PUT /v1/indexes/notes/uploads/{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ADMIN}\r\n"
    assert raw(administered, f"{head}Content-Length: 4\r\nConnection: close\r\n\r\nevil") in {400, 404}
    assert sorted(each for each in administered.indexes[0].root.parent.rglob("*")) == before


def test_an_upload_is_bounded_before_it_is_read_and_the_log_has_no_text(tmp_path: Path) -> None:
    limits = UploadLimits(file_bytes=2_000_000, all_bytes=3_000_000)
    with running(("notes", build(tmp_path)), settings=OFFLINE, callers=callers(), token=ADMIN, limits=limits) as server:
        head = f"PUT /v1/indexes/notes/uploads/a.txt HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ADMIN}\r\n"
        assert raw(server, f"{head}Content-Length: 9000000000\r\n\r\n") == 413
        for token, status in ((READER, 413), (ADMIN, 201)):
            got = server.client.put(
                "/v1/indexes/notes/uploads/a.txt", content=b"Cape Stone " * 140_000, headers=bearer(token)
            )
            assert got.status_code == status, "others than the administrator send no large body"
        assert upload(server, "b.txt", "x" * 1_500_000).status_code == 413
        assert server.client.put("/v1/indexes/notes/uploads/b.gif", content=b"x").status_code == 415
        assert server.client.delete("/v1/indexes/notes/uploads/a.txt").status_code == 204
        assert server.client.delete("/v1/indexes/notes/uploads/a.txt").status_code == 404
        audit = [row for row in server.log if row.get("event") in {"uploaded", "upload taken back"}]
        assert [(row["caller"], row["name"]) for row in audit] == [("administrator", "a.txt")] * 2
        said = json.dumps(server.log)
        assert "Cape Stone" not in said
        assert ADMIN not in said


def test_an_upload_that_stops_coming_is_given_up(tmp_path: Path) -> None:
    limits = UploadLimits(idle_seconds=0.3)
    with running(("notes", build(tmp_path)), settings=OFFLINE, callers=callers(), token=ADMIN, limits=limits) as server:
        head = f"PUT /v1/indexes/notes/uploads/a.txt HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ADMIN}\r\n"
        assert raw(server, f"{head}Content-Length: 100\r\n\r\nhalf") == 408
        with socket.create_connection(("127.0.0.1", server.port)) as wire:
            wire.sendall(f"{head}Content-Length: 100\r\n\r\nhalf".encode())
        wait_until(lambda: ["/uploads/" in row.get("route", "") for row in server.log].count(True) == 2)
        assert list((server.indexes[0].root / "admin" / "uploads").iterdir()) == []


def test_the_administrators_token_is_a_secret_of_its_own(notes: Path, tmp_path: Path) -> None:
    file = tmp_path / "admin.token"
    for text, mode, says in (
        (f"{ADMIN}\n", 0o644, "mode 644"),
        ("short\n", 0o600, "shorter than 16"),
        ("", 0o600, "shorter than 16"),
        (f"{READER}\n", 0o600, "also a reader's"),
    ):
        file.write_text(text)
        file.chmod(mode)
        with pytest.raises(Exception, match=says) as refused:
            read_callers(None, {"CONSPECTUS_TOKEN": READER}, CallerLimits(), file)
        assert ADMIN not in str(refused.value)
    assert conspectus("serve", notes, "--admin-token", tmp_path / "none").status == 2


def test_one_server_administers_an_index(administered: Running) -> None:
    from conspectus.server.admin.jobs import Jobs
    from conspectus.storage.errors import UsageError

    with pytest.raises(UsageError, match="only one can"):
        Jobs("notes", administered.indexes[0].root, OFFLINE, UploadLimits(), administered.log.append)


def test_an_index_with_a_graph_is_administered_with_that_graph_and_another_without(tmp_path: Path) -> None:
    from conspectus.pipelines.build_index import build_index

    graph = Path(__file__).parents[4] / "examples" / "films" / "kg.tsv"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "harbour.txt").write_text("Anna Berg met Otto Brand in Port Alma.")
    plain = load_settings(overrides={"extraction": {"pipeline": "regex"}})
    given = load_settings(overrides={"extraction": {"pipeline": "regex"}, "kg": {"files": [str(graph)]}})
    build_index([tmp_path / "docs"], tmp_path / "plain", plain)
    build_index([tmp_path / "docs"], tmp_path / "films", given)
    for settings, problems in ((given, ("", "")), (plain, ("", "the server was not given 1 file of its graph"))):
        names = ("plain", "films")
        folders = [(name, tmp_path / name) for name in names]
        with running(*folders, settings=settings, callers=callers(), token=ADMIN) as server:
            for name, problem in zip(names, problems, strict=True):
                told = server.client.get(f"/v1/indexes/{name}/changes").json()["problem"]
                assert told.startswith(problem)
                assert bool(told) == bool(problem)
                server.client.put(f"/v1/indexes/{name}/uploads/new.txt", content=b"Bela Stone keeps bees.")
                job = server.client.post(f"/v1/indexes/{name}/jobs", json={"kind": "estimate"}).json()["id"]
                path = f"/v1/indexes/{name}/jobs/{job}"
                wait_until(lambda path=path: server.client.get(path).json()["state"] != "running")  # type: ignore[misc]
                assert server.client.get(path).json()["state"] == ("failed" if problem else "done")
