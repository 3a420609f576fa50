"""Open information extraction with a model, against a server that plays one."""

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from conspectus.pipelines.steps.extract.openie import OpenExtraction, OpenTriple, extract_open
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.replies.structured import Retried, Retrying
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Failure
from conspectus.storage.settings import LlmSettings

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer
from tests.tags import prompt_of

TEXT = "Ada Maule was born in Mora."
NER = {"entities": ["Ada Maule", "Mora"]}
TRIPLES = {"triples": [["Ada Maule", "was born in", "Mora"]]}
WHOLE = OpenExtraction(("Ada Maule", "Mora"), (OpenTriple("Ada Maule", "was born in", "Mora"),))

Said = Mapping[str, object] | str | FakeReply


def wants_triples(prompt: str) -> bool:
    return "\nNamed entities: " in prompt.rsplit("</text>", 1)[1]


def saying(ner: Said = NER, triples: Said = TRIPLES) -> Callable[[FakeRequest], str | FakeReply]:
    def reply(request: FakeRequest) -> str | FakeReply:
        said = triples if wants_triples(request.prompt) else ner
        return json.dumps(said) if isinstance(said, Mapping) else said

    return reply


def client(server: FakeServer, memo: Memo | None = None, **llm: Any) -> ModelClient:  # noqa: ANN401
    return ModelClient(LlmSettings(model="m", base_url=server.url, attempts=1, **llm), memo)


def chunks_of(*texts: str) -> list[Chunk]:
    return [Chunk(f"c{i}", "d", i, 0, len(text), text, 9) for i, text in enumerate(texts)]


def extract(
    server: FakeServer,
    *texts: str,
    **llm: Any,  # noqa: ANN401
) -> tuple[list[OpenExtraction], list[Failure]]:
    return asyncio.run(extract_open([], chunks_of(*texts), client(server, **llm)))


def prompts(server: FakeServer) -> list[str]:
    return [prompt_of(each.body) for each in server.requests if each.body and each.path.endswith("s")]


def test_entities_first_then_triples_that_are_given_them() -> None:
    with FakeServer(saying()) as server:
        found, failures = extract(server, TEXT)
    assert (found, failures) == ([WHOLE], [])
    first, second = prompts(server)
    assert first.endswith(f"<text>\n{TEXT}\n</text>")
    assert second.endswith(f'<text>\n{TEXT}\n</text>\nNamed entities: ["Ada Maule", "Mora"]')
    for prompt in (first, second):
        assert prompt.count("Example.") == 1  # one shot


def test_what_cannot_be_used_is_a_failure_of_its_chunk() -> None:
    said = {"triples": [*TRIPLES["triples"], ["Ada Maule", "left"], ["Mora", "is", "mora"]]}
    with FakeServer(saying({"entities": ["Ada Maule", "Mora", " "]}, said)) as server:
        found, failures = extract(server, TEXT)
    assert found == [WHOLE]
    assert [(each.stage, each.item_id, each.reason) for each in failures] == [("extract", "c0", "lost record")] * 3
    assert [each.detail.split(":")[0] for each in failures] == [
        "no name",
        "no triple of texts",
        "it joins a thing with itself",
    ]


@pytest.mark.parametrize(
    ("ner", "triples", "left", "step"),
    [
        ("I cannot.", TRIPLES, OpenExtraction((), WHOLE.triples), "openie_ner"),
        (NER, FakeReply(status=400), OpenExtraction(WHOLE.entities), "openie_triples"),
    ],
)
def test_one_call_that_fails_leaves_the_other(ner: Said, triples: Said, left: OpenExtraction, step: str) -> None:
    with FakeServer(saying(ner, triples)) as server:
        found, (failure,) = extract(server, TEXT)
    assert found == [left]
    assert failure.reason == f"the call of step {step} failed"
    assert failure.detail


def test_only_a_reply_that_lost_something_is_asked_for_again(tmp_path: Path) -> None:
    broken = {"triples": [["Ada Maule", "left"]]}
    with FakeServer(saying(triples=broken)) as server:
        memo = Memo(tmp_path / "memo.sqlite")
        _, failures = asyncio.run(extract_open([], chunks_of(TEXT), client(server, memo)))
        assert len(failures) == 1
    with FakeServer(saying()) as server:
        retrying = Retrying(client(server, memo))
        assert asyncio.run(extract_open([], chunks_of(TEXT), retrying)) == ([WHOLE], [])
        assert retrying.retried == Retried(asked=1, healed=1)
        assert len(prompts(server)) == 1
        assert asyncio.run(extract_open([], chunks_of(TEXT), client(server, memo))) == ([WHOLE], [])
        assert len(prompts(server)) == 1
