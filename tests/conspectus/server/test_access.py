"""What a token may not see is in nothing that the server says to it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from conspectus.server.tokens import Caller, Callers, _digest

from tests.conspectus.server.running import FORBIDDEN, QUESTION, Running, running

TEAM, ONLY_OTHER, ALL = "token-of-team-a-and-b", "token-of-one-index", "token-of-everything"


@pytest.fixture(scope="module")
def guarded(notes: Path) -> Iterator[Running]:
    callers = {
        _digest(TEAM.encode().decode()): Caller("team", ("team-a", "team-b")),
        _digest(ONLY_OTHER): Caller("other", None, frozenset({"other"})),
        _digest(ALL): Caller("all"),
    }
    with running(("notes", notes), ("other", notes), callers=Callers(callers), token=TEAM) as server:
        yield server


def everything(server: Running, token: str, questions: Sequence[str]) -> dict[str, httpx.Response]:
    """Ask every route in every way that could show the forbidden document."""
    said = {}
    headers = {"authorization": f"Bearer {token}"}
    base = "/v1/indexes/notes"
    version = server.indexes[0].version
    chunks = server.indexes[0].hold().index.context.chunk_rows
    gets = [
        "/v1/indexes", "/v1/versions", "/metrics", f"{base}/status", f"{base}/failures", f"{base}/documents",
        f"{base}/documents/secret/plan.md", f"{base}/documents/secret/plan.md?start=0&end=5", f"{base}/entities",
        f"{base}/entities?name=zebra", f"{base}/entities/Otto Brand", f"{base}/entities/Viola Krantz",
        f"{base}/entities/Otto Brand/neighbours", f"{base}/reports", f"{base}/reports?level=c0",
        f"{base}/versions/{version}/documents", f"{base}/versions/{version}/entities",
        f"{base}/versions/{version}/documents/secret/plan.md",
        f"{base}/metadata", f"{base}/map", f"{base}/documents?title=zebra",
        f"{base}/passages?{'&'.join(f'chunk={id_}' for id_ in chunks)}",
    ]  # fmt: skip
    for path in gets:
        said[path] = server.client.get(path, headers=headers)
    reports = server.client.get(f"{base}/reports", headers={"authorization": f"Bearer {ALL}"}).json()["rows"]
    for row in reports:
        path = f"{base}/reports/{row['community_id']}"
        said[path] = server.client.get(path, headers=headers)
    for question in questions:
        for method in ("auto", "bm25", "dense", "ppr", "global", "local", "tog2", "gretriever", "sparql"):
            for more in ({}, {"access": ["board", "team-a"]}, {"stream": True}):
                body = {"question": question, "method": method, **more}
                said[f"ask {body}"] = server.client.post(f"{base}/ask", json=body, headers=headers)
            chat = {"model": f"notes/{method}", "messages": [{"role": "user", "content": question}]}
            for more in ({}, {"stream": True}):
                body = {**chat, **more}
                said[f"chat {body}"] = server.client.post("/v1/chat/completions", json=body, headers=headers)
        for method in ("bm25", "dense", "ppr"):
            body = {"question": question, "method": method, "k": 50}
            for route in ("retrieve", "explain"):
                said[f"{route} {body}"] = server.client.post(f"{base}/{route}", json=body, headers=headers)
    turn = {
        "question": "What?",
        "answer": "It.",
        "citations": [{"document_id": "secret/plan.md", "start": 0, "end": 9}],
    }
    for body in (
        {"question": "And who signed it?", "history": [turn]},
        {"question": "Who?", "where": "code = 1"},
        {"question": "Who?", "where": "year = 2023"},
        {"question": "Who?", "method": "tog2", "topics": ["Otto Brand"]},
        {"question": "Who?", "where": "nosuchkey = 1"},
    ):
        said[f"ask {body}"] = server.client.post(f"{base}/ask", json=body, headers=headers)
    return said


def test_no_word_of_a_forbidden_document_is_said(guarded: Running) -> None:
    questions = ("What moves Otto Brand?", QUESTION, "Who signed it?", "What is this about?")
    for what, got in everything(guarded, TEAM, questions).items():
        assert got.status_code < 500, (what, got.text)
        for word in FORBIDDEN:
            assert word not in got.text.casefold().replace(str(what).casefold(), ""), (what, word, got.text)
    ids = [row["id"] for row in guarded.client.get("/v1/indexes/notes/documents").json()["rows"]]
    assert ids == ["a", "b", "c"]


def test_the_same_is_said_to_whoever_may_see_it(guarded: Running) -> None:
    said = " ".join(got.text for got in everything(guarded, ALL, ["What moves Otto Brand?"]).values()).casefold()
    assert all(word in said for word in FORBIDDEN), "the test above would find nothing"


def test_a_caller_sees_its_indexes_only(guarded: Running) -> None:
    headers = {"authorization": f"Bearer {ONLY_OTHER}"}
    assert [row["name"] for row in guarded.client.get("/v1/indexes", headers=headers).json()] == ["other"]
    hidden = guarded.client.get("/v1/indexes/notes/status", headers=headers)
    missing = guarded.client.get("/v1/indexes/nothing/status", headers=headers)
    assert hidden.status_code == missing.status_code == 404
    assert hidden.json()["error"]["message"] == missing.json()["error"]["message"]
    assert guarded.client.get("/metrics", headers=headers).status_code == 403


def test_what_one_caller_has_is_not_new_to_another(guarded: Running) -> None:
    all_of_it = guarded.client.get("/v1/indexes/notes/documents", headers={"authorization": f"Bearer {ALL}"})
    part = guarded.client.get("/v1/indexes/notes/documents", headers={"if-none-match": all_of_it.headers["etag"]})
    assert part.status_code == 200
    assert part.headers["etag"] != all_of_it.headers["etag"]
