"""Extraction with a model, against a server that plays one."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conspectus.pipelines.steps.extract.llm import (
    ChunkExtraction,
    extract_chunks,
)
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.client.window import Window
from conspectus.prompts.replies.records import COMPLETE, ClaimRecord, RelationRecord
from conspectus.prompts.replies.structured import Retried, Retrying
from conspectus.storage.errors import BudgetReached
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Failure
from conspectus.storage.settings import ExtractionSettings, LlmSettings

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer, Faults
from tests.tags import prompt_of
from tests.waiting import Together

TEXT = "Ada Lovelace met Charles Babbage in London in June 1833."


def entity(name: str, kind: str = "person", says: str = "") -> str:
    return f'("entity"<|>"{name}"<|>"{kind}"<|>"{says or name + " is here."}")'


def relation(source: str, target: str, strength: int = 7) -> str:
    return f'("relationship"<|>"{source}"<|>"{target}"<|>"{source} met {target}."<|>{strength})'


def reply(*records: str) -> str:
    return "##\n".join(records) + f"##\n{COMPLETE}"


def is_claims(request: FakeRequest) -> bool:
    return "These count as claims" in request.prompt


def is_choice(request: FakeRequest) -> bool:
    return "answer" in (request.schema or {}).get("properties", {})


def client(server: FakeServer, memo: Memo | None = None, **settings: Any) -> ModelClient:  # noqa: ANN401
    return ModelClient(LlmSettings(model="m", base_url=server.url, attempts=2, **settings), memo)


def chunks_of(*texts: str) -> list[Chunk]:
    return [Chunk(f"c{i:03}", "d", i, 0, len(text), text, 9) for i, text in enumerate(texts)]


def extract(
    server: FakeServer,
    *texts: str,
    memo: Memo | None = None,
    llm: dict[str, Any] | None = None,
    **settings: Any,  # noqa: ANN401
) -> tuple[list[ChunkExtraction], list[Failure]]:
    model = client(server, memo, **(llm or {}))
    return asyncio.run(extract_chunks([], chunks_of(*texts), ExtractionSettings(**settings), model))


Script = Callable[[FakeRequest], str | FakeReply]


def scripted(*replies: str, more: str = "Yes") -> Script:
    """Return a model that says these replies in turn in each conversation, and `more` to whether there is more."""

    def say(request: FakeRequest) -> str:
        if is_choice(request):
            return f'{{"answer": "{more}"}}'
        return replies[sum(role == "assistant" for role, _ in request.messages)]

    return say


def test_three_replies_of_a_gleaning_keep_every_record_of_each() -> None:
    # The first two replies lack their end: joined with the next, records would be lost.
    replies = (
        f"{entity('Ada Lovelace')}##\n{entity('Charles Babbage')}",
        f"{entity('London', 'geo')}##\n{relation('Ada Lovelace', 'London')}",
        reply(entity("June 1833", "event"), relation("Charles Babbage", "June 1833", 2)),
    )
    with FakeServer(scripted(*replies)) as server:
        (found,), failures = extract(server, TEXT, max_gleanings=2)
        assert [each.name for each in found.entities] == ["Ada Lovelace", "Charles Babbage", "London", "June 1833"]
        assert [(each.target, each.strength) for each in found.relations] == [("London", 7), ("June 1833", 2)]
        assert not failures
        bodies = [each.body for each in server.requests if each.body]
        roles = [[message["role"][0] for message in body["messages"]] for body in bodies]
        assert ["".join(each) for each in roles] == ["su", "suau", "suau", "suauau", "suauau"]
        assert bodies[2]["messages"][3]["content"].startswith("Your last reply missed many records")
        assert [bool(body.get("response_format")) for body in bodies] == [False, True, False, True, False]


def test_equal_texts_are_asked_for_once_and_fail_each() -> None:
    with FakeServer(scripted("I cannot.", "I cannot.", more="No")) as server:
        found, failures = extract(server, TEXT, "Another text.", TEXT)
        assert len(server.requests) == 6, "each text once more, then in JSON, and no gleaning"
        assert found[0] == found[2]
        assert [(each.stage, each.item_id, each.reason) for each in failures] == [
            ("extract", id_, "lost record") for id_ in ("c000", "c001", "c002")
        ]
        assert failures[0].detail == "it holds no record: I cannot."


@pytest.mark.parametrize(("where", "step"), [("Answer Yes or No", "glean_check"), ("missed many records", "glean")])
def test_what_came_before_a_failed_gleaning_is_kept(where: str, step: str) -> None:
    with FakeServer(scripted(reply(entity("Ada Lovelace"))), faults=Faults(script={where: "500"})) as server:
        (found,), failures = extract(server, TEXT)
        assert [each.name for each in found.entities] == ["Ada Lovelace"]
        assert [each.reason for each in failures] == [f"the call of step {step} failed"]


IN_JSON = {
    "entities": [{"name": "Ada Lovelace", "type": "person", "description": "She wrote programs."}],
    "relationships": [
        {"source": "Ada Lovelace", "predicate": "met", "target": "Charles Babbage", "description": "In 1833."}
    ],
}


def test_a_model_that_writes_no_records_is_asked_for_json_and_then_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memo = Memo(tmp_path / "memo.sqlite")
    monkeypatch.setattr(ModelClient, "window", lambda *_: Window(slots=1))

    def say(request: FakeRequest) -> str:
        return "Ada met Charles in London." if request.schema is None else json.dumps(IN_JSON)

    for sent in (5, 0):
        with FakeServer(say) as server:
            model = client(server, memo)
            texts = chunks_of(TEXT, "Second.", "Third.")
            found, failures = asyncio.run(extract_chunks([], texts, ExtractionSettings(), model))
            assert [[each.name for each in one.entities] for one in found] == [["Ada Lovelace"]] * 3
            assert found[2].relations == (RelationRecord("Ada Lovelace", "Charles Babbage", "In 1833.", None, "met"),)
            assert not failures
            schemas = [each.body.get("response_format") for each in server.requests if each.body]
            assert [bool(each) for each in schemas] == [False, False, True, True, True][:sent]


def test_a_loop_in_json_is_asked_for_once_more_with_another_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelClient, "window", lambda *_: Window(slots=1))
    looping = '{"entities": [' + '{"name": "Rain", "type": "person", "description": "It rains in the town."}, ' * 300

    def say(request: FakeRequest) -> str:
        return "I cannot." if request.schema is None else looping

    with FakeServer(say, piece=8) as server:
        (found, second), failures = asyncio.run(
            extract_chunks([], chunks_of(TEXT, "Second."), ExtractionSettings(), client(server))
        )
        assert {each.name for each in (*found.entities, *second.entities)} == {"Rain"}
        assert [each.reason for each in failures] == ["lost record"] * 2
        assert all("cut off" in each.detail for each in failures)
        assert len(server.requests) == 4
        assert sum(len(each.name) for each in found.entities) < 60, "it is not read to its end"


@pytest.mark.parametrize("nothing", ["```\n\n```", "Here are the claims that are still missing:", "[]"])
def test_an_empty_list_of_claims_or_of_what_was_missed_is_no_loss(nothing: str) -> None:
    def say(request: FakeRequest) -> str:
        first = not any(role == "assistant" for role, _ in request.messages)
        return (
            '{"answer": "Yes"}'
            if is_choice(request)
            else reply(entity("Ada"))
            if first and not is_claims(request)
            else nothing
        )

    with FakeServer(say) as server:
        (found,), failures = extract(server, TEXT, claims=True)
        assert [each.name for each in found.entities] == ["Ada"]
        assert not failures


CLAIM = (
    '("claim"<|>"Ada Lovelace"<|>"NONE"<|>"work"<|>"TRUE"<|>"1843"<|>"1843"<|>"She wrote notes."<|>"Ada wrote notes.")'
)


def test_claims_have_a_prompt_of_their_own_and_do_not_wait_for_the_gleaning() -> None:
    others = scripted(reply(entity("Ada Lovelace")), reply(entity("London")))

    def say(request: FakeRequest) -> str | FakeReply:
        if not is_claims(request):
            return FakeReply(str(others(request)))
        again = any(role == "assistant" for role, _ in request.messages)
        return FakeReply(reply(CLAIM.replace("1843", "1844")) if again else reply(CLAIM))

    with FakeServer(say) as server:
        server.change(latency=Together(server, 2))
        (found,), failures = extract(server, TEXT, claims=True, claim_description="what was written")
        made = ClaimRecord("Ada Lovelace", None, "work", "TRUE", "1843", "1843", "She wrote notes.", "Ada wrote notes.")
        assert found.claims == (made, replace(made, start_date="1844", end_date="1844")), "claims are gleaned, too"
        assert [each.name for each in found.entities] == ["Ada Lovelace", "London"]
        assert not failures
        assert len(server.requests) == 5
        assert server.measures.in_flight_peak == 2
        asked = [prompt_of(each.body) for each in server.requests if each.body]
        assert sum("These count as claims: what was written." in each for each in asked) == 2, "and in its gleaning"


def test_a_budget_ends_it_and_a_second_run_goes_on(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.sqlite")
    texts = [f"Text {i}." for i in range(40)]
    with FakeServer(scripted(reply(entity("Ada")), more="No"), latency=0.01) as server:
        with pytest.raises(BudgetReached, match="run the same command with more to go on"):
            extract(server, *texts, memo=memo, llm={"max_tokens": 60_000, "max_output_tokens": 500, "concurrency": 4})
        answered = server.measures.statuses["200"]
        assert 10 < answered < 80
        assert server.measures.in_flight == 0, "the calls under way have ended"
        extract(server, *texts, memo=memo, llm={"max_output_tokens": 500})
        assert len(server.requests) == 80, "every reply that came was kept"


def test_a_remembered_reply_with_a_record_of_no_use_is_asked_for_again(tmp_path: Path) -> None:
    memo = Memo(tmp_path / "memo.sqlite")
    bad, good = (reply(entity("Ada"), relation("Ada", other)) for other in ("ada", "London"))

    def found(retry: bool) -> tuple[list[tuple[str, str]], Retried]:
        plain = client(server, memo)
        model = Retrying(plain)
        asked = extract_chunks([], chunks_of(TEXT), ExtractionSettings(max_gleanings=0), model if retry else plain)
        (extraction,), _ = asyncio.run(asked)
        return [(each.source, each.target) for each in extraction.relations], model.retried

    with FakeServer([bad, good]) as server:
        assert found(retry=False) == ([("Ada", "ada")], Retried())
        assert found(retry=True) == ([("Ada", "London")], Retried(asked=1, healed=1))
        assert found(retry=True) == ([("Ada", "London")], Retried())
        assert found(retry=False) == ([("Ada", "London")], Retried())
        assert len(server.requests) == 2
