"""Conversations from Python and on the command line: follow-ups find what they mean, files stay whole."""

import io
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import conspectus
import pytest
from conspectus.storage.errors import ModelError

from benchmarks.fake_server import FakeServer
from tests.command_line import PROGRAM, Done
from tests.command_line import conspectus as command
from tests.waiting import LIMIT

FIRST = "Who wrote The Oak House?"
THEN = "When was it written?"
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def index(sample_root: Path) -> conspectus.Index:
    return conspectus.open(sample_root)


def test_a_chat_remembers(index: conspectus.Index) -> None:
    chat = index.chat("ppr")
    first = chat.ask(FIRST)
    assert (first.question, first.standalone) == (FIRST, FIRST)
    then = chat.ask(THEN)
    assert then.question == THEN
    assert then.standalone.startswith(f"{THEN} (")
    assert "The Oak House" in then.standalone
    assert "2012" in then.text
    assert len(chat.history.turns) == 2
    found = chat.retrieve("Who wrote it?", k=1)
    assert "Oak House" in found.passages[0].title
    assert len(chat.history.turns) == 2, "looking is not asking"
    chat.new()
    assert chat.ask(THEN).standalone == THEN


def test_history_is_a_value(index: conspectus.Index) -> None:
    history = conspectus.Conversation().after(index.ask(FIRST, "ppr"))
    one, other = (index.ask(THEN, "ppr", history=history) for _ in range(2))
    assert one.text == other.text
    assert one.standalone == index.chat("ppr", history).ask(THEN).standalone
    assert index.ask(THEN).standalone == "", "no conversation, nothing to say about one"
    assert index.retrieve(THEN, history=history).trace[0].name == "conversation"


def test_a_question_without_answer_is_forgotten(sample_root: Path) -> None:
    settings = conspectus.load_settings(
        overrides={"llm": {"model": "nobody", "base_url": "http://127.0.0.1:9/v1", "attempts": 1}}
    )
    chat = conspectus.open(sample_root, settings).chat("ppr")
    with pytest.raises(ModelError):
        chat.ask(FIRST)
    assert chat.history == conspectus.Conversation()


def test_ask_goes_on_where_the_session_ends(sample_root: Path, tmp_path: Path) -> None:
    first = command("ask", FIRST, "--index", sample_root, "--session", "talk.jsonl", "--method", "ppr")
    assert (first.status, first.err) == (0, "")
    assert len((tmp_path / "talk.jsonl").read_text("utf-8").splitlines()) == 1
    then = command("ask", THEN, "--index", sample_root, "--session", "talk.jsonl", "--method", "ppr", "--json")
    answer = json.loads(then.out)
    assert answer["question"] == THEN
    assert "The Oak House" in answer["standalone"]
    assert answer["trace"][0]["name"] == "conversation"
    turns = [json.loads(line) for line in (tmp_path / "talk.jsonl").read_text("utf-8").splitlines()]
    assert [each["question"] for each in turns] == [FIRST, THEN]
    assert turns[1]["standalone"] == answer["standalone"]
    assert json.loads(command("ask", THEN, "--index", sample_root, "--json").out)["standalone"] == ""
    assert answer["notes"][0] == f"understood as: {answer['standalone']}"
    before = (tmp_path / "talk.jsonl").read_bytes()
    found = command("retrieve", "Who wrote it?", "--index", sample_root, "--session", "talk.jsonl", "--json")
    assert "Oak House" in json.loads(found.out)["passages"][0]["title"]
    assert (tmp_path / "talk.jsonl").read_bytes() == before, "retrieve only reads it"
    traced = command("ask", THEN, "--index", sample_root, "--session", "talk.jsonl", "--trace")
    assert "  conversation: asked as " in traced.out


@pytest.mark.parametrize("work", ["ask", "retrieve"])
def test_a_damaged_session_is_one_clear_line(work: str, sample_root: Path, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text("not JSON\n", "utf-8")
    done = command(work, FIRST, "--index", sample_root, "--session", "talk.jsonl")
    assert (done.status, done.out, done.err.count("\n")) == (3, "", 1)
    assert "talk.jsonl, line 1" in done.err
    assert (tmp_path / "talk.jsonl").read_text("utf-8") == "not JSON\n"
    done = command(work, FIRST, "--index", sample_root, "--session", "nowhere/talk.jsonl")
    assert (done.status, done.out) == (2, "")


@pytest.mark.parametrize("shown", [(), ("--json",)])
def test_an_answer_that_cannot_be_written_down_is_shown(
    shown: tuple[str, ...], sample_root: Path, tmp_path: Path
) -> None:
    (tmp_path / ".talk.jsonl.lock").mkdir()
    done = command(
        "ask", FIRST, "--index", sample_root, "--method", "bm25", "--session", tmp_path / "talk.jsonl", *shown
    )
    assert (done.status, "Paul Marlow" in done.out) == (1, True), done.err
    assert ".talk.jsonl.lock" in done.err


@pytest.mark.parametrize(
    "reply",
    [
        "It was Paul Marlow [1, 2].",
        "It was Paul Marlow 【1】【2】.",
        "Paul Marlow wrote The Oak House",
    ],
)
def test_an_answer_that_only_gets_marks_is_printed_once(reply: str, sample_root: Path, tmp_path: Path) -> None:
    shutil.copytree(sample_root, tmp_path / "index")
    with FakeServer(reply, piece=4) as server:
        done = command(
            "ask", FIRST, "--index", tmp_path / "index", "--method", "dense", "--set", "llm.model=m",
            "--set", f"llm.base_url={server.url}",
        )  # fmt: skip
    said = done.out.partition("\n\n[1]")[0]
    assert said.count(re.split(r" [\[【]", reply)[0]) == 1, done.out + done.err


def chatted(text: str, index: Path, monkeypatch: pytest.MonkeyPatch, *words: str) -> Done:
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    return command("chat", "--index", index, "--method", "ppr", *words)


def test_chat_reads_lines_through_a_pipe(sample_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = chatted(f"{FIRST}\n\n  {THEN}\n/new\n{THEN}\n/quit\nWho?\n", sample_root, monkeypatch, "--trace")
    assert (done.status, done.err) == (0, "")
    steps = [line.strip() for line in done.out.splitlines() if line.startswith("  conversation: ")]
    assert steps[0] == steps[2] == "conversation: asked as it is: nothing was said before"
    assert "The Oak House" in steps[1]
    assert len(steps) == 3, "what follows /quit is not read"
    assert "\n[1] " in done.out
    assert chatted("", sample_root, monkeypatch) == Done(0, "", "")


def test_chat_names_its_commands_and_unknown_methods(sample_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = chatted("/halp me\nThanks a lot!\n/quit", sample_root, monkeypatch)
    assert (done.status, done.out) == (0, "")
    assert "/halp is not a command; the commands are /new, /help and /quit" in done.err
    assert "nothing is asked" in done.err
    done = chatted("/help\n/quit", sample_root, monkeypatch)
    assert (done.status, done.err) == (0, "")
    assert "/new   start a new conversation" in done.out
    done = command("chat", "--index", sample_root, "--method", "pqr")
    assert (done.status, done.out) == (2, "")
    assert "did you mean 'ppr'?" in done.err


def test_chat_goes_on_after_a_model_that_fails(sample_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    llm = ("--set", "llm.model=nobody", "--set", "llm.base_url=http://127.0.0.1:9/v1", "--set", "llm.attempts=1")
    done = chatted(f"{FIRST}\n{THEN}\n", sample_root, monkeypatch, *llm)
    assert (done.status, done.out) == (8, "")
    assert done.err.count("conspectus: ") == 2
    assert "Traceback" not in done.err


def test_chat_reads_bytes_that_are_no_text(sample_root: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "chat", "--index", sample_root, "--method", "bm25"],
        input=b"Who wrote \xff\xfe The Oak House?\n",
        capture_output=True,
        cwd=ROOT,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    assert b"Paul Marlow" in done.stdout


def test_a_terminal_is_prompted(sample_root: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, "chat", "--index", sample_root],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
    )
    os.write(ours, b"/new\n\x04")
    out, err = process.communicate(timeout=LIMIT)
    os.close(ours)
    os.close(theirs)
    assert (process.returncode, out) == (0, b""), err
    assert err == b"> > \n"
