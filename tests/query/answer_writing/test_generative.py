"""Reading with a model, over a real index and a real HTTP server that says what it is told to."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from conspectus.prompts.client.client import ModelClient
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.answer_writing.extractive import REPEATED
from conspectus.query.answer_writing.generative import ModelReader
from conspectus.query.citations.marks import NOTHING_FOUND, UNVERIFIED, without_verdicts
from conspectus.query.context import Context
from conspectus.query.methods.ppr.ppr import PprRetriever
from conspectus.query.types import Answer
from conspectus.storage.memo import Memo
from conspectus.storage.settings import AnswerSettings, LlmSettings

from benchmarks.fake_server import FakeServer
from tests.tags import prompt_of

QUESTION = "Who wrote the novel The Oak House?"


def read(context: Context, reply: str, memo: Path | None = None, **answer: object) -> tuple[Answer, FakeServer]:
    chosen = AnswerSettings.model_validate(answer)
    context = replace(context, settings=context.settings.model_copy(update={"answer": chosen}))
    with FakeServer(reply, piece=4) as server:
        model = ModelClient(LlmSettings(model="m", base_url=server.url), Memo(memo) if memo else None)
        reader = ModelReader("ppr", context, PprRetriever(context), model)
        return asyncio.run(reader.answer(QUESTION)), server


def test_every_citation_is_a_sentence_of_the_passage_that_the_model_named(sample_context: Context) -> None:
    answer, server = read(sample_context, "Eva Brandt wrote it [1].")
    assert answer.text == "Eva Brandt wrote it [1]."
    (citation,) = answer.citations
    assert citation.number == 1
    first = answer.evidence.passages[0]
    assert citation.quote in first.text
    assert citation.document_id == first.document_id
    assert answer.method == "ppr"
    assert answer.usage.calls == 1
    assert answer.usage.prompt_tokens > 50
    (sent,) = server.requests
    assert sent.body
    prompt = prompt_of(sent.body)
    assert QUESTION in prompt
    for number, passage in enumerate(answer.evidence.passages, start=1):
        assert f"[{number}] {passage.title}\n{passage.text}" in prompt
    assert first.document_id not in prompt, "prompts hold no ids"
    assert "uri" not in prompt


def test_an_answer_that_only_repeats_the_question_gives_way_to_a_quotation(sample_context: Context) -> None:
    answer, _ = read(sample_context, f"{QUESTION} " * 20)
    assert QUESTION not in answer.text
    assert answer.text.endswith(REPEATED)
    assert answer.citations
    assert all(citation.quote in answer.text for citation in answer.citations)


@pytest.mark.parametrize(
    "reply",
    ["NOTHING", "NOTHING: [99]", "", "<think>Who was it?"],
)
def test_without_support_it_does_not_know(sample_context: Context, reply: str) -> None:
    answer, _ = read(sample_context, reply)
    assert answer.text == NO_ANSWER
    assert not answer.known
    assert "NOTHING" not in answer.text


@pytest.mark.parametrize("reply", ["I believe that it was Goethe.", "Goethe [99]."])
def test_an_answer_that_nothing_supports_stays_and_is_marked(sample_context: Context, reply: str) -> None:
    answer, _ = read(sample_context, reply)
    shown = reply.replace(" [99]", "")
    assert answer.text == f"{shown[:-1]} {UNVERIFIED}.\n\n{NOTHING_FOUND}"
    assert without_verdicts(answer.text) == shown
    assert not answer.known


MARKS = ["【1†source】", "[Passage 1]"]


@pytest.mark.parametrize("mark", [*MARKS, "[Data: Passages (1, +more)]", "¹", ""])
def test_a_right_answer_is_cited_however_the_model_marks_it(sample_context: Context, mark: str) -> None:
    """Review of GraphRAG and HippoRAG, A3: such answers became "I do not know"."""
    answer, server = read(sample_context, f"Paul Marlow wrote The Oak House{' ' * (mark not in '¹')}{mark}.")
    assert answer.known
    assert answer.text.replace(" [", "[") == "Paul Marlow wrote The Oak House[1]."
    assert answer.citations[0].number == 1
    assert len(server.requests) == 1


def test_a_reply_without_an_answer_is_asked_for_once_more(sample_context: Context) -> None:
    with FakeServer(["<think>Eva Brandt, I think", "Eva Brandt wrote it [1]."]) as server:
        model = ModelClient(LlmSettings(model="m", base_url=server.url), None)
        reader = ModelReader("ppr", sample_context, PprRetriever(sample_context), model)
        answer = asyncio.run(reader.answer(QUESTION))
    assert answer.text == "Eva Brandt wrote it [1]."
    assert answer.usage.calls == 2
    assert "asked for once more" in " ".join(step.detail for step in answer.trace)


THOUGHT = "The first passage says who wrote it [1].\n"


@pytest.mark.parametrize(
    ("reply", "short"),
    [
        (f"{THOUGHT}**Answer:** Paul Marlow [1].", "Paul Marlow"),
        (f"<think>Answer: Eva</think>{THOUGHT.strip()} Answer: Paul Marlow", "Paul Marlow"),
        (f"{THOUGHT}Answer: \\boxed{{1911}}", "1911"),
        ("Paul Marlow", "Paul Marlow"),
    ],
)
def test_a_brief_answer_is_thought_out_and_its_few_words_are_the_span(
    sample_context: Context, reply: str, short: str
) -> None:
    answer, server = read(sample_context, reply, form="brief")
    assert answer.span == short
    assert answer.text == f"{short} [1]"
    assert answer.known
    assert [each.number for each in answer.citations] == [1]
    assert answer.citations[0].quote in answer.evidence.passages[0].text
    assert len(server.requests) == 1


def test_a_brief_answer_that_nothing_holds_is_marked_and_unknown_is_no_answer(sample_context: Context) -> None:
    answer, _ = read(sample_context, "I know it.\nAnswer: Goethe", form="brief")
    assert answer.text == f"Goethe {UNVERIFIED}"
    assert not answer.known
    for reply in (f"{THOUGHT}Answer: unknown", f"{THOUGHT}Answer:", ""):
        answer, _ = read(sample_context, reply, form="brief")
        assert answer.text == NO_ANSWER
        assert not answer.span


@pytest.fixture
def served(sample_context: Context) -> Iterator[Context]:
    with FakeServer("Eva Brandt wrote it [1].") as server:
        llm = LlmSettings(model="m", base_url=server.url)
        yield replace(sample_context, settings=sample_context.settings.model_copy(update={"llm": llm}))
