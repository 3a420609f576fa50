"""Five conversations on every front: Python, HTTP, chat protocol, page, terminal. All understand and answer alike."""

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import conspectus
import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.query.types import Answer
from conspectus.storage.settings import load_settings

from tests.command_line import conspectus as run
from tests.conspectus.map.chromium import PROGRAM, Page, chromium
from tests.conspectus.server.running import Running, running
from tests.conspectus.server.test_page import READY, ask

PAGES = Path(__file__).parents[2] / "examples" / "world" / "pages"
CONVERSATIONS = {
    "institute": ("Who founded the Tidal Institute?", "Where was she born?", "And when?"),
    "causeway": ("Who built the Lowmere Causeway?", "Where did he grow up?"),
    "lifeboat": ("Who designed the Constant Anna?", "Which other ships did she design?"),
    "place": ("Who gave the Constant Anna?", "And when was it built?", "Where does it stand?"),
    "unknown": ("Which moons has Jupiter?", "Who founded the Tidal Institute?", "When did he found it?"),
}
METHOD = "auto"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    place = tmp_path_factory.mktemp("talks")
    names = "tidal-institute ilse-varn brennick lowmere-causeway bram-tolliver constant-anna edda-marsh"
    build_index([*(PAGES / f"{name}.html" for name in names.split())], place / "index", load_settings())
    with running(("world", place / "index")) as found:
        yield found


@pytest.fixture(scope="module")
def talks(server: Running) -> dict[str, list[Answer]]:
    """What Python answers."""
    found = {}
    for name, questions in CONVERSATIONS.items():
        chat = conspectus.open(server.indexes[0].root).chat(METHOD)
        found[name] = [chat.ask(question) for question in questions]
    return found


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    if PROGRAM is None:
        pytest.skip("there is no Chromium: apt-get install chromium")
    with chromium() as found:
        yield found


def plain(text: str) -> str:
    """Return a text without marks, its spaces made one."""
    return " ".join(re.sub(r"\[\d+\]|\*\*|`", " ", text).split())


def shows(answer: Answer, said: str) -> None:
    """Check that what a front said has every statement of an answer, its short answer and its notes."""
    for part in (*answer.text.split("\n"), answer.span, *answer.notes):
        assert plain(part).casefold() in plain(said).casefold()


def test_follow_ups_are_understood(talks: dict[str, list[Answer]]) -> None:
    for name, answers in talks.items():
        assert any(each.standalone != each.question for each in answers[1:]), name
    assert talks["institute"][1].standalone == "Where was she born? (Ilse Varn)"
    assert [answers[0].known for answers in talks.values()] == [True, True, True, True, False]


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_the_terminal(
    name: str, server: Running, talks: dict[str, list[Answer]], monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = []
    for turns in range(1, len(CONVERSATIONS[name]) + 1):
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(CONVERSATIONS[name][:turns])))
        done = run("chat", "--index", server.indexes[0].root, "--method", METHOD)
        assert done.status == 0, done.err
        printed.append(done.out)
    before = ""
    for answer, whole in zip(talks[name], printed, strict=True):
        mine = re.sub(r"answered in .*", "", whole)
        shows(answer, mine.removeprefix(before))
        before = mine


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_http(name: str, server: Running, talks: dict[str, list[Answer]]) -> None:
    history: list[dict[str, object]] = []
    for expected in talks[name]:
        got = server.ask("world", question=expected.question, method=METHOD, history=history).json()
        for field in ("text", "span", "known"):
            assert got[field] == getattr(expected, field)
        assert got["standalone"] in (expected.standalone, "" if not history else None), (
            "empty where nothing was said before"
        )
        assert got["notes"] == list(expected.notes)
        cited = [{key: each[key] for key in ("document_id", "start", "end")} for each in got["citations"]]
        turn = {
            "question": got["question"],
            "answer": got["text"],
            "short": got["span"],
            "citations": cited,
            "standalone": got["standalone"],
        }
        history.append(turn)


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_chat_protocol(name: str, server: Running, talks: dict[str, list[Answer]]) -> None:
    messages: list[dict[str, str]] = []
    for expected in talks[name]:
        messages.append({"role": "user", "content": expected.question})
        got = server.client.post("/v1/chat/completions", json={"model": f"world/{METHOD}", "messages": messages}).json()
        messages.append(got["choices"][0]["message"])
        shows(expected, messages[-1]["content"])


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_page(name: str, server: Running, talks: dict[str, list[Answer]], page: Page) -> None:
    page.open(server.url, address="/#/world/ask", ready=READY)
    for expected in talks[name]:
        ask(page, expected.question, METHOD)
        shows(expected, page.run("document.querySelector('.turn:last-child .answer').textContent"))
