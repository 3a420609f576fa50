"""The generator of questions, against a server that says what it is told to."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from conspectus.pipelines.evaluation.questions import Description, Generated, describe_corpus, generate, write_questions
from conspectus.pipelines.evaluation.suites import read_questions
from conspectus.prompts.client.client import ModelClient
from conspectus.query.context import Context
from conspectus.storage.errors import ModelError
from conspectus.storage.records import Chunk
from conspectus.storage.settings import LlmSettings

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer

ABOUT = Description("Minutes of a club.", ("abc",))


def thoughts(request: FakeRequest) -> str:
    """People, tasks, or questions, each with what it is asked for written into it."""
    prompt = request.prompt
    wanted = int(re.search(r"(?:Name|Write) (\d+) different", prompt)[1])  # type: ignore[index]
    if "kinds of people" in prompt:
        return json.dumps({"people": [{"role": f"R{i}", "interest": f"wants {i}"} for i in range(wanted)]})
    user = re.search(r"A person who studies it: (.+)", prompt)[1]  # type: ignore[index]
    if "different tasks" in prompt:
        return json.dumps({"tasks": [f"T{i} of {user}" for i in range(wanted)]})
    task = re.search(r"What this person wants to do with it: (.+)", prompt)[1]  # type: ignore[index]
    return json.dumps({"questions": [f"Q{i} for {task}?" for i in range(wanted)]})


def made(server: FakeServer, users: int = 2, tasks: int = 3, questions: int = 2) -> Generated:
    model = ModelClient(LlmSettings(model="m", base_url=server.url, attempts=1))
    return asyncio.run(generate(model, ABOUT, users, tasks, questions))


def test_what_cannot_be_had_is_listed_and_harms_nothing_else() -> None:
    def reply(request: FakeRequest) -> str | FakeReply:
        if "T0 of R0" in request.prompt:
            return FakeReply("no", status=400)
        if "T1 of R0" in request.prompt:
            return json.dumps({"questions": ["Only  one?", ""]})
        if "T0 of R1" in request.prompt:
            return json.dumps({"questions": ["only one?", "Another?", "Too many?"]})
        return thoughts(request)

    with FakeServer(reply) as server:
        found = made(server, 2, 2, 2)
    assert [each.question for each in found.questions][:2] == ["Only one?", "Another?"]
    assert len(found.questions) == 4
    assert [(each.item_id, each.reason) for each in found.failures] == [
        ("u0t0", "no questions could be had"),
        ("u0t1q1", "an empty question"),
        ("u1t0q0", "the same question again"),
    ]


def test_no_question_at_all_is_an_error() -> None:
    def reply(request: FakeRequest) -> str:
        return thoughts(request) if "kinds of people" in request.prompt else "I would rather not."

    with FakeServer(reply) as server, pytest.raises(ModelError, match="no question"):
        made(server)


def test_the_file_is_that_of_a_suite(tmp_path: Path) -> None:
    with FakeServer(thoughts) as server:
        found = made(server, 1, 1, 2)
    write_questions(tmp_path / "questions.jsonl", found.questions)
    read = read_questions(tmp_path)
    assert read == read_questions(tmp_path / "questions.jsonl")
    assert [(each.id, each.question, each.answers, each.supporting) for each in read] == [
        (each.id, each.question, (), ()) for each in found.questions
    ]


def test_a_corpus_is_described_by_its_coarsest_topics(context: Context) -> None:
    about = describe_corpus(context)
    assert f"{len(context.titles)} documents" in about.text
    topics = [line[2:] for line in about.text.splitlines() if line.startswith("- ")]
    assert topics == sorted(topics)
    assert 0 < len(topics) <= 60
    assert about.sources
    assert not any(chunk.id in about.text for chunk in context.index.rows(Chunk))
