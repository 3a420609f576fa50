"""Asking again for what was lost, with the real client, a memo on disk and a server that plays along."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.language_model import LanguageModel, Message, Request
from conspectus.prompts.replies.structured import ExchangeResult, Retried, Retrying, ask_for, least_lost
from conspectus.storage.errors import BadAnswer, BudgetReached, ModelUnavailable
from conspectus.storage.memo import Memo
from conspectus.storage.settings import LlmSettings
from pydantic import BaseModel

from benchmarks.fake_server import FakeServer, Faults

REQUEST = Request((Message("user", "List words."),), "test", sources=("chunk",))


@pytest.fixture
def memo(tmp_path: Path) -> Memo:
    return Memo(tmp_path / "memo.sqlite")


def client(server: FakeServer, memo: Memo | None, **settings: Any) -> ModelClient:  # noqa: ANN401
    return ModelClient(LlmSettings(model="m", base_url=server.url, attempts=1, **settings), memo)


async def words(model: LanguageModel) -> ExchangeResult[str]:
    """Read a reply whose words are its parts, "?" being one that is lost."""
    reply = await model.complete(REQUEST)
    if reply.text == "bad":
        raise BadAnswer("bad", reply.text)
    parts = reply.text.split()
    return ExchangeResult(reply.text, read=len(parts) - parts.count("?"), lost=parts.count("?"))


def asked(model: LanguageModel) -> str:
    try:
        return asyncio.run(least_lost(model, words))
    except BadAnswer as bad:
        return bad.raw


def remembered(memo: Memo, replies: Sequence[str], **settings: Any) -> tuple[str, str, str, Retried, int]:  # noqa: ANN401
    """Return what is got first, when retrying, and in an ordinary run after it; what came of it; requests sent."""
    with FakeServer(list(replies)) as server:
        first = asked(client(server, memo))
        again = Retrying(client(server, memo, **settings))
        second = asked(again)
        return first, second, asked(client(server, memo)), again.retried, len(server.requests)


def test_what_is_whole_is_not_asked_for_again(memo: Memo) -> None:
    assert remembered(memo, ["a b", "never"]) == ("a b", "a b", "a b", Retried(), 1)


@pytest.mark.parametrize(
    ("before", "now", "kept", "healed"),
    [
        ("a ?", "a b", "a b", 1),
        ("a b c ?", "d", "d", 1),
        ("a ?", "a b ?", "a b ?", 0),
        ("a ? ?", "b ?", "b ?", 0),
        ("a b ?", "?", "a b ?", 0),
        ("a ?", "b ?", "a ?", 0),
        ("a ?", "bad", "a ?", 0),
        ("bad", "a ?", "a ?", 0),
        ("bad", "bad", "bad", 0),
        ("bad", "a", "a", 1),
    ],
)
def test_the_better_reply_stays(memo: Memo, before: str, now: str, kept: str, healed: int) -> None:
    assert remembered(memo, [before, now]) == (before, kept, kept, Retried(1, healed), 2)
    assert len(memo.made_from("chunk")) == 1


def test_a_bad_reply_of_this_run_is_not_asked_for_again(memo: Memo) -> None:
    with FakeServer(["a ?", "a b"]) as server:
        model = Retrying(client(server, memo))
        assert asked(model) == "a ?"
        assert (model.retried, len(server.requests)) == (Retried(), 1)


def test_where_no_reply_comes_the_remembered_one_stands(memo: Memo) -> None:
    with FakeServer("a ?") as server:
        asked(client(server, memo))
        server.change(faults=Faults({"500": 1.0}))
        model = Retrying(client(server, memo))
        assert asked(model) == "a ?"
        assert model.retried == Retried(1, 0, unanswered=1)


def test_a_call_that_failed_is_tried_again(memo: Memo) -> None:
    with FakeServer("a b", faults=Faults({"500": 1.0})) as server:
        with pytest.raises(ModelUnavailable):
            asked(Retrying(client(server, memo)))
        server.change(faults=Faults())
        model = Retrying(client(server, memo))
        assert asked(model) == "a b"
        assert model.retried == Retried()


def test_a_budget_is_kept_to(memo: Memo) -> None:
    with FakeServer("a ?") as server:
        asked(client(server, memo))
        with pytest.raises(BudgetReached):
            asked(Retrying(client(server, memo, max_tokens=10)))
        assert asked(client(server, memo)) == "a ?"
        assert len(server.requests) == 1


class Colour(BaseModel):
    """A colour."""

    name: str


async def colour(model: LanguageModel) -> ExchangeResult[str]:
    return ExchangeResult((await ask_for(model, REQUEST, Colour)).name)


def test_a_bad_reply_and_the_complaint_about_it_are_one_exchange(memo: Memo) -> None:
    red = '{"name": "red"}'
    with FakeServer(["no", "no", "no", red]) as server:
        with pytest.raises(BadAnswer):
            asyncio.run(least_lost(client(server, memo), colour))
        assert asyncio.run(least_lost(Retrying(client(server, memo)), colour)) == "red"
        assert asyncio.run(least_lost(Retrying(client(server, memo)), colour)) == "red"
        assert asyncio.run(least_lost(client(server, memo), colour)) == "red"
        assert len(server.requests) == 4


def test_a_fresh_reply_is_not_remembered_until_it_is_told_to(memo: Memo) -> None:
    async def texts(model: ModelClient) -> list[str]:
        fresh = replace(REQUEST, fresh=True)
        replies = [await model.complete(each) for each in (REQUEST, fresh, REQUEST)]
        await model.remember(fresh, replies[1])
        return [each.text for each in [*replies, await model.complete(REQUEST)]]

    with FakeServer(["one", "two"]) as server:
        assert asyncio.run(texts(client(server, memo))) == ["one", "two", "one", "two"]
        assert len(server.requests) == 2
