"""Asking over HTTP: answers, streams, passages, explanations."""

import json

import pytest

from tests.conspectus.server.running import QUESTION, Running


def events(text: str) -> list[tuple[str, object]]:
    found = []
    for block in text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines())
        found.append((lines["event"], json.loads(lines["data"])))
    return found


def test_a_stream_has_the_steps_and_then_the_answer(server: Running) -> None:
    whole = server.ask(method="ppr").json()
    answer = server.ask(method="ppr", stream=True)
    assert answer.headers["content-type"].startswith("text/event-stream")
    *steps, (last, answered) = events(answer.text)
    assert last == "answer"
    assert (answered["text"], answered["citations"]) == (whole["text"], whole["citations"])
    assert steps
    assert all(name == "step" and step in answered["trace"] for name, step in steps)


def test_a_walk_is_told_decision_by_decision(server: Running) -> None:
    found = events(server.ask(method="tog2", stream=True).text)
    walk = dict(found)["answer"]["walk"]
    assert walk["decisions"]
    told = [step["name"] for name, step in found if name == "step"]
    assert {decision["stage"] for decision in walk["decisions"]} <= set(told)
    assert server.ask(method="bm25").json()["walk"] is None


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({"question": ""}, 422, "question"),
        ({"question": "x" * 9_000}, 422, "question"),
        ({"question": "  "}, 400, "empty"),
        ({"question": "lone \udcff"}, 422, "question"),
        ({"method": "pprr"}, 400, "did you mean"),
        ({"method": "io"}, 501, "language model"),
        ({"where": "year >>"}, 400, "character"),
        ({"unknown": 1}, 422, "unknown"),
    ],
)
def test_what_is_wrong_with_a_question_is_told(
    server: Running, body: dict[str, object], status: int, says: str
) -> None:
    content = json.dumps({"question": QUESTION, **body})
    for stream in (False, True):
        text = content if not stream else content[:-1] + ', "stream": true}'
        got = server.client.post("/v1/indexes/notes/ask", content=text, headers={"content-type": "application/json"})
        assert got.status_code == status, got.text
        assert says in got.json()["error"]["message"]
