"""What every server that speaks OpenAI's protocol must give the client.

The fake server always runs. A real one runs too where the environment names it, for example llama.cpp's with any
model: CONSPECTUS_LIVE_SERVER=http://localhost:8000/v1 CONSPECTUS_LIVE_MODEL=NAME pytest tests/contracts
"""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.client.probe import probe
from conspectus.prompts.language_model import Message, Request
from conspectus.prompts.replies.structured import ask_choice, ask_for
from conspectus.storage.errors import BadAnswer, BudgetReached
from conspectus.storage.memo import Memo
from conspectus.storage.settings import LlmSettings
from pydantic import BaseModel

from benchmarks.fake_server import FakeServer

ONE_MORE = 1
"""llama-cpp-python counts one token more than it was allowed."""


@dataclass(frozen=True)
class Server:
    url: str
    model: str

    def client(self, memo: Memo | None = None, **settings: Any) -> ModelClient:  # noqa: ANN401  (values of settings)
        return ModelClient(self.settings(**settings), memo)

    def settings(self, **settings: Any) -> LlmSettings:  # noqa: ANN401
        return LlmSettings(model=self.model, base_url=self.url, attempts=2, **settings)


@pytest.fixture(params=["fake", "live"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    if request.param == "fake":
        with FakeServer() as fake:
            yield Server(fake.url, "any")
    elif url := os.environ.get("CONSPECTUS_LIVE_SERVER"):
        yield Server(url, os.environ.get("CONSPECTUS_LIVE_MODEL", "default"))
    else:
        pytest.skip("CONSPECTUS_LIVE_SERVER names no server")


class Person(BaseModel):
    name: str
    born: int


def ask(text: str, max_tokens: int = 24) -> Request:
    return Request((Message("system", "Be brief."), Message("user", text)), "contract", max_tokens=max_tokens)


def test_a_reply_has_a_text_and_what_it_took(server: Server) -> None:
    model = server.client()
    reply = asyncio.run(model.complete(ask("Who was Ada Lovelace?")))
    assert reply.finish in {"stop", "length"}
    assert reply.prompt_tokens > 5
    assert 0 < reply.completion_tokens <= 24 + ONE_MORE
    assert model.meter.total().calls == 1


def test_the_bound_on_a_reply_holds(server: Server) -> None:
    reply = asyncio.run(server.client().complete(ask("Tell me a long story.", max_tokens=3)))
    assert reply.completion_tokens <= 3 + ONE_MORE


def test_what_was_asked_before_is_remembered(server: Server, tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.sqlite")
    first = asyncio.run(server.client(memo).complete(ask("Who was Ada Lovelace?")))
    again = asyncio.run(server.client(memo).complete(ask("Who was Ada Lovelace?")))
    assert again.remembered
    assert again.text == first.text


def test_the_pieces_of_a_stream_are_the_reply(server: Server) -> None:
    model, pieces = server.client(), list[str]()
    model.on_text = pieces.append
    reply = asyncio.run(model.complete(ask("Count to five.")))
    assert reply.text == "".join(pieces)


def test_json_is_a_record_or_a_bad_answer(server: Server) -> None:
    model = server.client(max_output_tokens=200)
    request = Request((Message("user", "Who was Ada Lovelace? Name and year of birth."),), "contract")
    try:
        person = asyncio.run(ask_for(model, request, Person))
    except BadAnswer:  # a small model may not know how
        return
    assert isinstance(person, Person)


def test_a_choice_is_one_of_the_choices_or_a_bad_answer(server: Server) -> None:
    try:
        choice = asyncio.run(ask_choice(server.client(), ask("Is water wet? Y or N."), ["Y", "N"]))
    except BadAnswer:
        return
    assert choice in {"Y", "N"}


def test_a_budget_holds(server: Server) -> None:
    model = server.client(max_tokens=400)

    async def many() -> list[object]:
        requests = [model.complete(ask(f"Say {each}.")) for each in range(20)]
        return list(await asyncio.gather(*requests, return_exceptions=True))

    replies = asyncio.run(many())
    assert any(isinstance(each, BudgetReached) for each in replies)
    assert 0 < model.meter.total().prompt_tokens + model.meter.total().completion_tokens <= 400


def test_the_doctor_finds_out_what_it_can_do(server: Server) -> None:
    found = asyncio.run(probe(server.settings()))
    assert not found.problem
    assert found.listed
    assert found.streams
    assert found.long_prompt > 1000
    assert found.structured_output in {"json_schema", "json_object", "none", "ignored"}
