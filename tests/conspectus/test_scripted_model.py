import asyncio

import pytest
from conspectus.prompts.client.usage_and_cost import metered
from conspectus.prompts.language_model import LanguageModel, Message, Reply, Request
from conspectus.storage.errors import ModelRefused
from conspectus.testing import ScriptedModel


def request(text: str, max_tokens: int | None = None) -> Request:
    return Request((Message("user", text),), "test", max_tokens=max_tokens)


def complete(model: LanguageModel, *texts: str) -> list[str]:
    return [asyncio.run(model.complete(request(text))).text for text in texts]


def test_replies_come_from_the_script_and_requests_are_recorded() -> None:
    model = ScriptedModel({"mill": ["one", "two"], "": lambda asked: asked.step})
    assert complete(model, "the mill", "x", "a mill", "mill") == ["one", "test", "two", "two"]
    assert [asked.messages[0].content for asked in model.requests] == ["the mill", "x", "a mill", "mill"]
    with pytest.raises(LookupError, match="no scripted reply"):
        complete(ScriptedModel({"mill": "x"}), "harbour")


def test_errors_are_raised_and_replies_are_given_as_they_are() -> None:
    model = ScriptedModel([ModelRefused("no"), Reply("half", "m", "length", 1, 2)])
    with pytest.raises(ModelRefused):
        complete(model, "x")
    assert asyncio.run(model.complete(request("x"))).finish == "length"


def test_usage_is_metered_and_replies_are_cut() -> None:
    model = ScriptedModel("one two three")
    with metered() as meter:
        reply = asyncio.run(model.complete(request("x y", max_tokens=2)))
    assert (reply.text, reply.finish) == ("one two", "length")
    (spent,) = meter.spending()
    assert (spent.calls, spent.prompt_tokens, spent.completion_tokens) == (1, 2, 2)
