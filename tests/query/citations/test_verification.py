"""Answers whose cited sentences are checked: marked, left out or kept, and counted."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from conspectus.api import open_index
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.answer_writing.extractive import LACKS, UNSUPPORTED, UNUSABLE, WITHHELD
from conspectus.query.citations.marks import NOTHING_SUPPORTED, without_verdicts
from conspectus.query.citations.verification import verified
from conspectus.query.context import Context
from conspectus.query.types import Answer, Citation, CitedTriple, Usage
from conspectus.storage.settings import load_settings

from benchmarks.fake_server import FakeRequest, FakeServer
from tests.conftest import Build
from tests.tags import prompt_of

QUOTES = (
    "The Oak House was written by English author Paul Marlow in 2012.",
    "Oxford is a city in England.",
)
TRUE = "Paul Marlow published The Oak House in 2012 [1]."
FALSE = "Paul Marlow was born in Northampton in 1962 [2]."
FAR = "Poets like to be read in a long night of rain [1]."


def citation(number: int, quote: str) -> Citation:
    return Citation(number, f"d{number}", "", "", 0, len(quote), quote)


def answered(text: str, **more: object) -> Answer:
    made = tuple(citation(number, quote) for number, quote in enumerate(QUOTES, start=1))
    return Answer("Who wrote it?", "read", text, made, usage=Usage(calls=1, cost=0.5), **more)  # type: ignore[arg-type]


def check(context: Context, answer: Answer, **citations: object) -> Answer:
    chosen = context.settings.citations.model_copy(update=citations)
    context = replace(context, settings=context.settings.model_copy(update={"citations": chosen}))
    return asyncio.run(verified(context, answer))


def test_an_unsupported_sentence_is_marked_and_counted(sample_context: Context) -> None:
    found = check(sample_context, answered(f"{TRUE} {FALSE} And so on."))
    assert found.text == f"{TRUE} {FALSE[:-1]} [unverified]. And so on."
    assert [each.supported for each in found.checks] == [True, False]
    assert found.checks[1].citations == (2,)
    assert "Northampton" in found.checks[1].why
    assert "1962" in found.checks[1].why
    assert found.unsupported == 1
    assert found.trace[-1].detail.startswith("1 of 2 cited sentences are supported")
    assert without_verdicts(found.text) == f"{TRUE} {FALSE} And so on."
    assert found.citations == answered("").citations


def test_what_is_far_from_its_source_is_not_supported(sample_context: Context) -> None:
    found = check(sample_context, answered(FAR))
    assert "cosine" in found.checks[0].why
    assert check(sample_context, answered(FAR), threshold=-1).unsupported == 0


def test_an_unsupported_sentence_is_left_out_with_what_only_it_cites(sample_context: Context) -> None:
    found = check(sample_context, answered(f"{FALSE} {TRUE}\n- {FALSE}\n- {TRUE}"), unsupported="drop")
    assert found.text == f"{TRUE}\n- {TRUE}"
    assert [each.number for each in found.citations] == [1]
    assert found.unsupported == 2


def test_where_no_support_is_left_nothing_is_known(sample_context: Context) -> None:
    found = check(sample_context, answered(f"{FALSE} And more.", names=("Marlow",), span="1962"), unsupported="drop")
    assert (found.text, found.citations, found.names, found.span, found.known) == (NO_ANSWER, (), (), "", False)
    marked = check(sample_context, answered(FALSE))
    assert marked.text.endswith(NOTHING_SUPPORTED)
    assert without_verdicts(marked.text) == FALSE


def test_what_cites_nothing_and_what_does_not_resolve_is_not_checked(sample_context: Context) -> None:
    for text in ("Paul Marlow wrote it.", "He was born in Rome [9].", NO_ANSWER):
        assert check(sample_context, answered(text)) == answered(text)


@pytest.mark.parametrize("method", ["ppr", "global", "local", "tog2"])
def test_quotations_are_supported(method: str, index_root: Path, questions: list[str]) -> None:
    index = open_index(index_root)
    for question in questions[:3]:
        found = index.ask(question, method)
        assert not found.known or found.checks
        assert found.unsupported == 0, found.checks


def test_a_model_judges_in_place_of_the_cosine_and_its_calls_count(build: Build) -> None:
    def reply(request: FakeRequest) -> str:
        return json.dumps({"answer": "No" if "long night" in request.prompt else "Yes"})

    context = build([("The Oak House", QUOTES[0]), ("Oxford", QUOTES[1])])
    text = f"{TRUE} {FAR} {FALSE}"
    with FakeServer(reply) as server:
        llm = load_settings(overrides={"llm": {"model": "m", "base_url": server.url, "attempts": 1}}).llm
        served = replace(context, settings=context.settings.model_copy(update={"llm": llm}))
        found = check(served, answered(text), ask_model=True, threshold=1)
        asked = [prompt_of(each.body) for each in server.requests if each.body]
        assert check(served, answered(text), threshold=1).usage.calls == 1, "no model is asked where that is not wanted"
        assert len(server.requests) == 2
    assert [each.supported for each in found.checks] == [True, False, False]
    assert found.usage.calls == 3
    assert [each.why for each in found.checks][1] == "the model finds no support"
    assert len(asked) == 2, "what names something else needs no call"
    assert all(QUOTES[0] in each and "Who wrote it?" in each for each in asked)
    assert "Paul Marlow published The Oak House in 2012" in asked[0] + asked[1]


def test_what_a_query_computed_is_not_compared_with_its_triples(films_index: Context) -> None:
    counted = Answer("How many?", "sparql", "3 [1]", triples=(CitedTriple(1, "r", "Grey Heron", "directed_by", "Ada"),))
    assert "[unverified]" in asyncio.run(verified(films_index, counted)).text
    found = asyncio.run(verified(films_index, replace(counted, computed=True)))
    assert (found.text, found.checks, found.trace[-1].name) == ("3 [1]", (), "verify")


@pytest.mark.parametrize(
    ("question", "reply", "shown"),
    [
        ("Who wrote The Oak House?", "It was Agatha Christie [1].", f"{QUOTES[0]} [1]\n{UNSUPPORTED}"),
        ("Who wrote The Oak House?", "It was Agatha Christie, in Rome.", f"{QUOTES[0]} [1]\n{UNSUPPORTED}"),
        (
            "Who wrote The Oak House?",
            "The Oak House was written by an author in 2012 [1].",
            f"{QUOTES[0]} [1]\n{LACKS}",
        ),
        ("Who wrote The Oak House?", "Paul Marlow [1].", "Paul Marlow [1]."),
        (
            "Is Oxford a city in England or a town?",
            "Oxford is a city in England [1].",
            "Oxford is a city in England [1].",
        ),
        ("Who painted The Oak House?", "It was Agatha Christie [1].", WITHHELD),
        ("Who wrote The Oak House?", "The passages do not mention who wrote it.", f"“{QUOTES[0]}”"),
    ],
)
def test_what_the_documents_say_stands_in_for_an_answer_that_does_not_answer(
    build: Build, question: str, reply: str, shown: str
) -> None:
    context = build([("The Oak House", QUOTES[0]), ("Oxford", QUOTES[1])])
    with FakeServer(reply) as server:
        overrides = {"llm": {"model": "m", "base_url": server.url}, "extraction": {"pipeline": "regex"}}
        found = open_index(context.index.root, load_settings(overrides=overrides)).ask(question, "bm25")
    assert found.text.endswith(shown)
    assert found.known == (shown != WITHHELD and "“" not in shown)
    if shown != reply and "“" not in shown:
        assert [each.title for each in found.citations] == ["The Oak House"] * found.known
        assert any(reply[:-5] in step.detail for step in found.trace)


@pytest.mark.parametrize("method", ["global", "lazy", "drift"])
def test_a_model_whose_replies_cannot_be_used_is_no_worse_than_none(build: Build, method: str) -> None:
    context = build([("The Oak House", QUOTES[0]), ("Oxford", QUOTES[1])])
    with FakeServer("I like trains.") as server:
        overrides = {"llm": {"model": "m", "base_url": server.url}, "extraction": {"pipeline": "regex"}}
        index = open_index(context.index.root, load_settings(overrides=overrides))
        found = index.ask("Who wrote The Oak House?", method)
    plain = open_index(context.index.root, context.settings).ask("Who wrote The Oak House?", method)
    assert found.text == f"{plain.text}\n{UNUSABLE}"
    assert found.usage.calls > 0
    assert "no reply can be used" in str(found.trace)
