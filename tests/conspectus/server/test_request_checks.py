"""What every request passes: Host, Origin, size, and what errors and logs say."""

import json
import socket
from pathlib import Path

import httpx
import pytest
from conspectus.server.app import application
from conspectus.server.request_checks import Bounds
from conspectus.server.tokens import CallerLimits, read_callers
from conspectus.storage.settings import load_settings
from prometheus_client.parser import text_string_to_metric_families

from tests.conspectus.server.running import QUESTION, Running, build, running
from tests.waiting import LIMIT, wait_until

TOKEN = "a-token-of-more-than-16-bytes"


def routes() -> list[tuple[str, str]]:
    """Return every route of the interface with a method, its parameters filled in."""
    paths = application().openapi()["paths"]
    filled = {"index": "notes", "version": "0" * 12, "document": "a", "entity": "x", "community": "x"}
    filled |= {"name": "a.txt", "job": "0" * 16, "model": "notes/ppr"}
    return [(method.upper(), path.format(**filled)) for path, item in paths.items() for method in item]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "127.0.0.1:evil", "127.0.0.1.evil.com", "[::1]evil", "localhost:80@evil.example", "", "0.0.0.1",
        "127.0.0.1:0", "127.0.0.1:99999", "localhost.", "127.1", "::1",
    ],
)  # fmt: skip
def test_a_host_that_is_not_ours_is_refused(server: Running, host: str) -> None:
    assert raw(server, f"GET /livez HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n") == 421


def test_a_foreign_host_is_refused_on_every_route(server: Running) -> None:
    assert len(routes()) > 20
    for method, path in [*routes(), ("GET", "/"), ("GET", "/mcp"), ("POST", "/mcp"), ("GET", "/openapi.json")]:
        head = f"{method} {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        assert raw(server, head) == 421, path


def test_two_hosts_or_none_are_refused(server: Running) -> None:
    assert (
        raw(server, "GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n") == 400
    )
    assert raw(server, "GET /livez HTTP/1.0\r\n\r\n") == 421


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "null", "http://localhost", "http://127.0.0.1.evil.com:80", "file://", "http://["],
)
def test_pages_of_other_origins_are_refused(server: Running, origin: str) -> None:
    for method, path in routes() if origin == "null" else routes()[:1]:
        got = server.client.request(method, path, headers={"origin": origin})
        assert (got.status_code, got.json()["error"]["type"]) == (403, "foreign_origin"), path
    assert server.client.get("/livez", headers={"origin": server.url}).status_code == 200


def test_names_of_this_machine_are_ours(server: Running) -> None:
    for host in ("localhost", "LOCALHOST", f"127.0.0.1:{server.port}", "[::1]:8000"):
        assert server.client.get("/livez", headers={"host": host}).status_code == 200


def test_every_response_forbids_scripts_and_guessing(server: Running) -> None:
    for path in ("/livez", "/v1/methods", "/nothing", "/metrics"):
        headers = server.client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers
        assert "access-control-allow-origin" not in headers


def test_the_page_needs_no_token_holds_no_data_and_runs_its_own_files_only(notes: Path) -> None:
    with running(("notes", notes), callers=read_callers(None, {"CONSPECTUS_TOKEN": TOKEN}, CallerLimits())) as server:
        page = server.client.get("/")
        policy = page.headers["content-security-policy"]
        assert page.status_code == 200
        for rule in ("default-src 'none'", "script-src 'self';", "style-src 'self';", "frame-ancestors 'none'"):
            assert rule in policy
        assert "unsafe" not in policy
        assert "notes" not in page.text
        again = server.client.get("/", headers={"if-none-match": page.headers["etag"]})
        assert again.status_code == 304
        for name in ("main.js", "style.css", "map.js", "map.html"):
            assert server.client.get(f"/page/{name}").status_code == 200
        for name in ("..%2fapp.py", "%2e%2e/app.py", "app.py", "index.html/../../app.py", ""):
            assert server.client.get(f"/page/{name}").status_code in {401, 404}, name
        assert server.client.get("/v1/indexes/notes/map").status_code == 401


def test_a_body_that_is_too_large_or_too_slow_is_refused(notes: Path) -> None:
    with running(("notes", notes), bounds=Bounds(body_bytes=1_000, body_seconds=LIMIT)) as server:
        assert server.ask(question="x" * 2_000).status_code == 413
        chunks = server.client.post("/v1/indexes/notes/ask", content=(b"x" * 100 for _ in range(20)))
        assert chunks.status_code == 413
    with running(("notes", notes), bounds=Bounds(body_seconds=0.5)) as server:
        slow = "POST /v1/indexes/notes/ask HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
        assert raw(server, slow) == 408
        assert server.client.get("/livez").status_code == 200


def test_an_error_says_nothing_of_the_machine_or_the_documents(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError(f"{notes} holds: Mary Quill lives in North Bay")

    with running(("notes", notes)) as server:
        monkeypatch.setattr("conspectus.documents._row", broken)
        monkeypatch.setattr("conspectus.query.explain.explain.explain", broken)
        said = [server.client.get("/v1/indexes/notes/documents")]
        said.append(server.client.post("/v1/indexes/notes/explain", json={"question": QUESTION}))
        for got in said:
            assert got.status_code == 500
            assert "Mary" not in got.text
            assert str(notes) not in got.text
            assert "Traceback" not in got.text
        wait_until(lambda: [row.get("status") for row in server.log].count(500) == 2)
        rows = [row for row in server.log if row.get("status") == 500]
        assert [row["error"] for row in rows] == ["RuntimeError"] * 2
        assert {row["request"] for row in rows} == {got.json()["error"]["request_id"] for got in said}
        assert "Mary" not in json.dumps(server.log)


def test_a_damaged_index_is_an_error_without_its_place(notes: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(notes, tmp_path / "index")
    with running(("notes", tmp_path / "index")) as server:
        shutil.rmtree(tmp_path / "index" / "versions")
        got = server.client.get("/v1/indexes/notes/documents")
        assert got.status_code == 503
        assert str(tmp_path) not in got.text


def test_no_question_key_or_token_is_in_the_log_or_the_metrics(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-key")
    callers = read_callers(None, {"CONSPECTUS_TOKEN": TOKEN}, CallerLimits())
    with running(("notes", notes), settings=load_settings(), callers=callers, token=TOKEN) as server:
        question = "Where does Mary Quill live, wondered Bartholomew?"
        assert server.ask(question=question).status_code == 200
        assert server.ask(question=question, stream=True).status_code == 200
        server.ask(question=question, where='codeword = "xylophone"')
        server.ask(question=question, method="Bartholomew")
        server.client.get("/v1/indexes/notes/entities?name=Bartholomew")
        server.client.get("/v1/indexes/notes/documents/Bartholomew")
        httpx.get(f"{server.url}/livez?Bartholomew")
        httpx.get(f"{server.url}/v1/methods", headers={"authorization": "Bearer Bartholomew"})
        told = json.dumps(server.log) + server.client.get("/metrics").text
        for word in ("Bartholomew", "Quill", "xylophone", TOKEN, "sk-very-secret-key"):
            assert word not in told
        assert 'conspectus_requests_total{method="POST"' in told
        assert 'conspectus_index_info{index="notes"' in told
        lines = [row for row in server.log if row.get("route", "").endswith("/ask")]
        assert {"request", "seconds", "status", "caller", "index", "version"} <= lines[0].keys()


def raw(server: Running, text: str) -> int:
    """Send bytes as they are and return the status."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT) as wire:
        wire.sendall(text.encode("latin-1"))
        return int(wire.recv(100).split()[1])


def test_after_it_stops_nothing_is_held(notes: Path) -> None:
    before = set((notes / "versions").glob(".lease-*"))
    with running(("notes", notes)):
        assert len(set((notes / "versions").glob(".lease-*")) - before) == 1
    assert set((notes / "versions").glob(".lease-*")) == before


def test_metrics_are_in_the_form_that_prometheus_parses(server: Running) -> None:
    server.ask(method="bm25")
    server.client.get("/nothing")
    got = server.client.get("/metrics")
    families = {family.name: family for family in text_string_to_metric_families(got.text)}
    requests = {tuple(sorted(one.labels.items())): one.value for one in families["conspectus_requests"].samples}
    asked = (("method", "POST"), ("route", "/v1/indexes/{index}/ask"), ("status", "200"))
    assert requests[asked] >= 1
    assert families["conspectus_request_seconds"].type == "histogram"
    [info] = families["conspectus_index_info"].samples
    assert info.labels == {"index": "notes", "version": server.indexes[0].version}
    assert got.headers["content-type"].startswith("text/plain; version=0.0.4")


def test_head_is_get_without_the_body(server: Running) -> None:
    for path in ("/livez", "/", "/v1/indexes/notes/documents"):
        head, got = server.client.head(path), server.client.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == str(len(got.content))
    assert server.client.head("/v1/indexes/notes/ask").status_code == 405


def test_a_body_that_cannot_be_read_is_told_in_words(server: Running) -> None:
    address, as_json = "/v1/indexes/notes/ask", {"content-type": "application/json"}
    broken = server.client.post(address, content=b'{"question": "Who', headers=as_json)
    assert broken.json()["error"]["message"].startswith("the body is not JSON: ")
    untyped = server.client.post(address, content=b'{"question": "Who?"}')
    assert "content-type is not application/json" in untyped.json()["error"]["message"]


def test_characters_that_turn_a_line_around_are_escaped(tmp_path: Path) -> None:
    text = "Otto Brand met \u202eAnna Berg\u202c in Port Alma."
    with running(("notes", build(tmp_path, [{"id": "../a", "title": "A", "text": text}]))) as server:
        got = server.client.get("/v1/indexes/notes/documents/..%2Fa")
        chat = {"model": "notes", "messages": [{"role": "user", "content": "Who met Otto Brand?"}]}
        replied = server.client.post("/v1/chat/completions", json=chat).text
        told = [got.text, server.ask(question="Who met Otto Brand?").text, server.ask(stream=True).text, replied]
    assert "\u202e" in got.json()["text"]
    for one in told:
        assert "Otto Brand" in one
        assert "\u202e" not in one
