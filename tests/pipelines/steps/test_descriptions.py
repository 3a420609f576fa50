"""Descriptions of entities: sentences of the documents, or a model's words."""

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from conspectus.pipelines.steps import descriptions as steps
from conspectus.pipelines.steps.descriptions import DescriptionWriter, quoted
from conspectus.pipelines.steps.sentences import Sentences, sentences_of
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.language_model import Reply, Request
from conspectus.query.context import Context
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Document, Entity, Failure, Mention
from conspectus.storage.settings import LlmSettings
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer
from tests.tags import inside, prompt_of

TEXT = (
    "Ilse Varga makes films about lakes and boats. It rained. "
    "Ilse Varga makes films about lakes and\nboats! "
    "The films of Ilse Varga show lakes at dawn. "
    "A prize for salt went to Ilse Varga in 1986."
)


def corpus() -> tuple[list[Document], list[Chunk], list[Mention]]:
    one = Document("a", "", "a", TEXT, {}, len(TEXT), "")
    only = Chunk("c", "a", 0, 0, len(TEXT), TEXT, 1)
    places = [i for i in range(len(TEXT)) if TEXT.startswith("Ilse Varga", i)]
    mentions = [Mention(str(i), "c", "e", None, i, i + 10, "exact", "Ilse Varga", "") for i in places]
    rain = TEXT.index("It rained")
    return [one], [only], [*mentions, Mention("r", "c", "rain", None, rain, rain + 2, "exact", "It", "")]


def describe(entities: Sequence[Entity], sentences: Sentences) -> dict[str, str]:
    return {each.id: quoted(sentences.placed.of_entity.get(each.id, np.array([], int)), sentences) for each in entities}


def entity(id_: str) -> Entity:
    return Entity(id_, id_, "PERSON", ("PERSON",), "", 1, 0)


def test_the_most_central_sentences_in_text_order_each_said_once() -> None:
    sentences = sentences_of(*corpus())
    found = describe([entity("e"), entity("rain"), entity("unseen")], sentences)
    assert found == {
        "e": "Ilse Varga makes films about lakes and boats. The films of Ilse Varga show lakes at dawn.",
        "rain": "",  # too short a sentence to quote
        "unseen": "",
    }


def test_descriptions_of_an_index_are_its_documents_words(context: Context) -> None:
    index = context.index
    entities = index.rows(Entity)
    sentences = sentences_of(index.rows(Document), index.rows(Chunk), index.rows(Mention))
    found = describe(entities, sentences)
    plain = [" ".join(text.split()) for text in map(sentences.placed.text, range(len(sentences.placed)))]
    for each in entities:
        assert each.description == found.get(each.id, "")
        said = [plain[row] for row in sentences.placed.of_entity.get(each.id, np.array([], int))]
        chosen = [text for text in said if text in each.description]
        assert len(each.description) == 0 or chosen
        assert len(each.description) <= sum(map(len, chosen)) + 1
    assert np.mean([bool(each.description) for each in entities]) > 0.9


def client(server: FakeServer, memo: Memo | None = None, **settings: Any) -> ModelClient:  # noqa: ANN401
    return ModelClient(LlmSettings(model="m", base_url=server.url, **settings), memo)


def told(
    model: Any,  # noqa: ANN401
    descriptions: Mapping[str, list[str]],
    **limits: int,
) -> tuple[dict[str, str], list[Failure]]:
    def sources_of(ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        return {each: (f"chunk of {each}",) for each in ids}

    with patch.dict(vars(steps), limits):
        return asyncio.run(summarised(str.upper, [descriptions], model, sources_of))


async def summarised(*given: Any) -> tuple[dict[str, str], list[Failure]]:  # noqa: ANN401
    summaries = DescriptionWriter(*given)
    failures = await summaries.all()
    return dict(summaries.texts), failures


def said(description: str) -> str:
    return json.dumps({"description": description})


def listed(prompt: str) -> list[str]:
    return re.findall(r"^- (.*)$", inside(prompt, "descriptions"), re.M)


def test_what_is_short_needs_no_model() -> None:
    with FakeServer("never") as server:
        given_texts = {
            "one": ["A  miser."],
            "same": ["A miser.", "A\nmiser."],
            "few": ["of London", "A miser."],
            "blank": ["", " "],
            "none": [],
        }
        found, failures = told(client(server), given_texts)
        assert found == {
            "one": "A miser.",
            "same": "A miser.",
            "few": "A miser. of London.",
            "blank": "",
            "none": "",
        }
        assert (failures, server.requests) == ([], [])


def test_more_than_a_prompt_holds_is_folded_and_nothing_is_left_out() -> None:
    facts = [f"fact{i:02} is told here in some words." for i in range(60)]

    def keep(request: FakeRequest) -> str:
        return said(" ".join(sorted(re.findall(r"fact\d\d", request.prompt))))

    with FakeServer(keep) as server:
        found, failures = told(client(server), {"a": facts}, DESCRIPTION_TOKENS=50, INPUT_TOKENS=150)
        assert failures == []
        assert set(found["a"].split()) <= {f"fact{i:02}" for i in range(60)}
        prompts = [prompt_of(each.body) for each in server.requests if each.body]
        assert len(prompts) > 4
        assert all(count_tokens("\n".join(f"- {each}" for each in listed(prompt))) <= 150 for prompt in prompts)
        first_round = [each for prompt in prompts for each in listed(prompt) if each in facts]
        assert sorted(first_round) == facts


@given(
    st.lists(
        st.text(st.sampled_from("ab é한北. "), min_size=1, max_size=120) | st.text(max_size=40), min_size=2, max_size=25
    ),
    st.integers(16, 60),
)
def test_no_prompt_is_longer_than_allowed_and_it_ends(texts: list[str], most: int) -> None:
    model: Any = Endless()
    with patch.multiple(steps, DESCRIPTION_TOKENS=1, INPUT_TOKENS=most):
        asyncio.run(summarised(str.upper, [{"a": texts}], model, lambda _: {}))
    for prompt in model.prompts:
        lines = inside(prompt, "descriptions")
        assert count_tokens(lines) <= most
        assert lines.count("\n- ") >= 1, "what is alone is not summed up"


class Endless:
    """Answers with more than it was asked."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    async def complete(self, request: Request) -> Reply:
        self.prompts.append(prompt_of(request))
        return Reply(said("on and on " * 40), "m", "stop", 1, 1)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (FakeReply(said("half a")[:-4], finish="length"), "cut off"),
        (" ", "empty"),
        ("I'm sorry, but I can't assist with that request.", "no JSON"),
        (FakeReply("no", status=400), "no"),
    ],
)
def test_one_that_fails_harms_no_other_and_keeps_whole_descriptions(reply: str | FakeReply, reason: str) -> None:
    texts = ["one two three.", "five six seven eight.", "nine ten."]
    with FakeServer({"Thing: BAD": reply, "Thing: GOOD": said("Good.")}) as server:
        found, failures = told(client(server), {"good": texts, "bad": texts}, DESCRIPTION_TOKENS=9)
        assert found == {"good": "Good.", "bad": "five six seven eight. nine ten."}
        (failure,) = failures
        assert (failure.stage, failure.item_id) == ("summarise", "bad")
        assert reason in failure.detail
        none_fits, _ = told(client(server), {"bad": texts}, DESCRIPTION_TOKENS=1)
        assert none_fits == {"bad": "nine ten."}
