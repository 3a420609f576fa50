"""Tokens: without one nobody else is let in, and a token is never shown."""

from pathlib import Path

import pytest
from conspectus.server.tokens import Allowance, CallerLimits, TooManyQuestions, read_callers
from conspectus.storage.errors import UsageError

from tests.command_line import conspectus, conspectus_apart
from tests.conspectus.server.running import running
from tests.waiting import LIMIT

TOKEN = "0123456789abcdef"


def file_of(tmp_path: Path, text: str, mode: int = 0o600) -> Path:
    path = tmp_path / "tokens.yaml"
    path.write_text(text, "utf-8")
    path.chmod(mode)
    return path


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", "127.0.0.1.example.org"])  # noqa: S104
def test_without_a_token_only_this_machine_is_served(notes: Path, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CONSPECTUS_TOKEN", raising=False)
    done = conspectus("serve", notes, "--host", host, "--port", "0")
    assert done.status == 2
    assert "there is no token" in done.err
    assert "CONSPECTUS_TOKEN" in done.err


def test_a_short_token_is_refused_and_not_shown(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSPECTUS_TOKEN", TOKEN[:15])
    done = conspectus("serve", notes, "--port", "0")
    assert done.status == 2
    assert "shorter than 16 bytes" in done.err
    assert TOKEN[:15] not in done.err


@pytest.mark.parametrize(
    ("text", "mode", "says"),
    [
        (f"- {{token: {TOKEN}xx, name: a}}", 0o640, "mode 640"),
        (f"- {{token: {TOKEN}xx, name: a}}", 0o604, "mode 604"),
        ("- {token: short-secret, name: a}", 0o600, "shorter"),
        (f"- {{token: {TOKEN}xx, name: a, acess: [x]}}", 0o600, "acess"),
        (f"- {{token: {TOKEN}xx}}", 0o600, "name"),
        (f"- {{token: {TOKEN}xx, name: a}}\n- {{token: {TOKEN}xx, name: b}}", 0o600, "is used twice"),
        (f"- {{token: {TOKEN}xx, name: a, access: team}}", 0o600, "access"),
        ("[]", 0o600, "at least 1"),
        (f"{TOKEN}: [", 0o600, "YAML"),
    ],
)
def test_a_file_of_tokens_that_cannot_be_used(notes: Path, tmp_path: Path, text: str, mode: int, says: str) -> None:
    done = conspectus("serve", notes, "--tokens", file_of(tmp_path, text, mode))
    assert done.status == 2
    assert says in done.err
    assert TOKEN not in done.err
    assert "short-secret" not in done.err


def test_a_token_is_needed_on_every_route_but_health(notes: Path) -> None:
    callers = read_callers(None, {"CONSPECTUS_TOKEN": TOKEN}, CallerLimits())
    with running(("notes", notes), callers=callers) as server:
        from tests.conspectus.server.test_request_checks import routes

        for method, path in [*routes(), ("GET", "/openapi.json"), ("POST", "/mcp")]:
            health = path in {"/livez", "/readyz"}
            got = server.client.request(method, path)
            assert (got.status_code == 200) if health else (got.status_code == 401), path
        for wrong in (f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN, "Bearer"):
            assert server.client.get("/v1/methods", headers={"authorization": wrong}).status_code == 401
        good = {"authorization": f"Bearer {TOKEN}"}
        kept = server.client.get("/v1/indexes/notes/status", headers=good).headers["cache-control"]
        assert kept.startswith("private")


def test_questions_a_minute_are_counted_by_token(notes: Path, tmp_path: Path) -> None:
    text = f"- {{token: {TOKEN}-one, name: one, questions_per_minute: 2}}\n- {{token: {TOKEN}-two, name: two}}"
    callers = read_callers(file_of(tmp_path, text), {}, CallerLimits())
    with running(("notes", notes), callers=callers, token=f"{TOKEN}-one") as server:
        assert [server.ask(method="bm25").status_code for _ in range(3)] == [200, 200, 429]
        refused = server.ask(stream=True)
        assert refused.status_code == 429
        assert 0 < int(refused.headers["retry-after"]) <= 31
        assert server.client.get("/v1/indexes/notes/status").status_code == 200, "it is no question"
        other = server.client.post(
            "/v1/indexes/notes/ask", json={"question": "Who?"}, headers={"authorization": f"Bearer {TOKEN}-two"}
        )
        assert other.status_code == 200


def test_an_allowance_fills_evenly() -> None:
    now = 0.0
    bucket = Allowance(60, lambda: now)
    for _ in range(60):
        bucket.take()
    with pytest.raises(TooManyQuestions):
        bucket.take()
    now = 1.5
    bucket.take()
    with pytest.raises(TooManyQuestions) as refused:
        bucket.take()
    assert refused.value.seconds == pytest.approx(0.5)


def test_two_indexes_of_one_name_and_names_that_no_address_can_have(notes: Path) -> None:
    for words in ((notes, notes), (f"a/b={notes}",), (f"={notes}",)):
        done = conspectus("serve", *words, "--port", "0")
        assert done.status == 2, done
    assert conspectus("serve", notes.parent / "none").status == 4


def test_a_file_of_tokens_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        read_callers(tmp_path / "no-such-file", {}, CallerLimits())


def test_the_command_serves_and_stops(notes: Path) -> None:
    import re
    import signal
    import urllib.request

    from tests.command_line import start

    process = start("serve", f"n={notes}", "--port", "0")
    try:
        assert process.stderr is not None
        found = re.search(rb"http://127\.0\.0\.1:\d+", process.stderr.readline())
        assert found
        with urllib.request.urlopen(found[0].decode() + "/livez", timeout=LIMIT) as reply:  # noqa: S310
            assert reply.read() == b"ok\n"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT)
        assert process.returncode in {0, -signal.SIGTERM}
    finally:
        process.kill()
    assert conspectus_apart("serve", "--help").status == 0
