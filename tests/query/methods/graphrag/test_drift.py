"""DRIFT: how many calls, which questions first, what survives into the answer, and what a failure costs."""

import asyncio
import json
import re
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.citations.marks import NOTHING_FOUND, without_verdicts
from conspectus.query.context import Context
from conspectus.query.filter.documents import filtered
from conspectus.query.menu import METHODS
from conspectus.query.methods.graphrag import drift
from conspectus.query.types import Answer
from conspectus.storage.records import Document, Relation, Report

from benchmarks.fake_server import FakeReply, FakeRequest, Rule
from tests.conftest import Build
from tests.query.harbour import choosing
from tests.query.serving import Maker, sent, served
from tests.tags import inside

HYPOTHESIS, PRIMER = "You write a short passage", "You begin to answer"
FOLLOW_UP, REDUCE = "You help to answer a question", "from notes that were taken step by step"
QUESTION = "How did the Harbour Bank come into other hands?"


def said(score: int, *points: tuple[str, list[int]], ask: tuple[str, ...] = ()) -> str:
    """Return the reply to a primer or follow-up call."""
    answer = [{"text": text, "sources": sources} for text, sources in points]
    return json.dumps({"answer": answer, "score": score, "follow_ups": list(ask)})


BEGUN = said(40, ("A bank stands in Port Alma.", [1]), ask=("Who was Otto Brand?",))
FOUND = said(80, ("He sold his share.", [1]))


def rules(
    primer: Maker = BEGUN,
    follow_up: Maker = FOUND,
    answer: Maker = "It was sold [1].",
    hypothesis: Maker = "A bank was founded and sold.",
) -> list[Rule]:
    return [Rule(hypothesis, HYPOTHESIS), Rule(primer, PRIMER), Rule(follow_up, FOLLOW_UP), Rule(answer, REDUCE)]


def ask(context: Context, question: str = QUESTION) -> Answer:
    return asyncio.run(METHODS["drift"].answerer(context).answer(question))


def shown(prompt: str) -> str:
    return inside(prompt, "reports" if "<reports>" in prompt else "material")


def smaller(prompt: str) -> str:
    return inside(prompt, "smaller_question")


def endless() -> Maker:
    number = count()
    return lambda request: said(
        50, (f"Point {next(number)}.", [1]), ask=tuple(f"What of thing {next(number)}?" for _ in range(9))
    )


@pytest.mark.parametrize(("folds", "rounds", "follow_ups"), [(2, 2, 3), (1, 3, 2), (1, 1, 0)])
def test_the_calls_are_bounded(folds: int, rounds: int, follow_ups: int, context: Context, tmp_path: Path) -> None:
    chosen = choosing(context, drift_search={"rounds": rounds, "follow_ups": follow_ups})
    with (
        patch.object(drift, "_FOLDS", folds),
        served(chosen, tmp_path, rules(endless(), endless())) as (opened, server),
    ):
        answer = ask(opened)
        calls = [len(sent(server, each)) for each in (HYPOTHESIS, PRIMER, FOLLOW_UP, REDUCE)]
    assert calls == [1, folds, rounds * follow_ups, 1]
    assert answer.usage.calls + answer.usage.remembered == sum(calls)
    assert sum(each.name.startswith("round") for each in answer.trace) == (rounds if follow_ups else 0)


def test_the_questions_of_the_best_branch_come_first_and_none_twice(harbour: Context, tmp_path: Path) -> None:
    primer = [
        said(30, ("Little.", [1]), ask=("Who is Hugo Wren?", "Who was  otto brand")),
        said(90, ("Much.", [1]), ask=("Who was Otto Brand?", QUESTION, "Who is Lena Fisk?")),
    ]
    follow_up = said(60, ("More.", [1]), ask=("Who is Lena Fisk?", "What is Port Alma?"))
    chosen = choosing(harbour, drift_search={"follow_ups": 2})
    with served(chosen, tmp_path, rules(primer, follow_up)) as (opened, server):
        answer = ask(opened)
        asked = [smaller(each) for each in sent(server, FOLLOW_UP)]
    assert set(asked[:2]) == {"Who was Otto Brand?", "Who is Lena Fisk?"}
    assert len(asked) == len(set(asked)) == 4
    assert QUESTION not in asked
    assert set(asked[2:]) == {"What is Port Alma?", "Who is Hugo Wren?"}
    assert [each.name for each in answer.trace] == ["primer", "round 1", "round 2", "reduce", "reduce"]


def test_a_question_its_follow_ups_and_its_answer(harbour: Context, tmp_path: Path) -> None:
    def follow_up(request: FakeRequest) -> str:
        found = re.search(r"\[(\d+)\] Otto Brand, Lena Fisk", shown(request.prompt))
        assert found
        return said(95, ("Otto Brand sold his share to Lena Fisk in 1920.", [int(found[1]), 998]), ("Baseless.", []))

    def answer(request: FakeRequest) -> str:
        assert shown(request.prompt).splitlines() == [
            "- (score 95) Otto Brand sold his share to Lena Fisk in 1920. [1]",
            "- (score 40) A bank stands in Port Alma. [2]",
        ]
        return "Otto Brand sold his share to Lena Fisk in 1920 [1]. It stands in Port Alma [2][3]."

    with (
        patch.object(drift, "_FOLDS", 1),
        served(harbour, tmp_path, rules(follow_up=follow_up, answer=answer)) as (opened, server),
    ):
        found = ask(opened)
        (follow,) = sent(server, FOLLOW_UP)
    assert inside(follow, "whole_question") == QUESTION
    assert inside(follow, "smaller_question") == "Who was Otto Brand?"
    assert found.text.startswith("Otto Brand sold his share to Lena Fisk in 1920 [1]. It stands in Port Alma [2]")
    assert found.citations[0].quote == "Otto Brand sold his share to Lena Fisk in 1920."
    texts = {each.id: each.text for each in harbour.index.rows(Document)}
    for each in found.citations:
        assert texts[each.document_id][each.start : each.end] == each.quote
    assert found.dropped_citations == 1 + 1, "998 of the follow-up, [3] of the answer"
    assert "1 points that rested on nothing shown" in found.trace[1].detail
    assert [each.source_id for each in found.evidence.relations]
    assert found.evidence.reports[0].score == 40
    assert found.method == "drift"
    assert found.usage.units > 10
    assert found.usage.context_tokens > 300


def test_failed_calls_leave_out_their_branch_only(harbour: Context, tmp_path: Path) -> None:
    broken = FakeReply("no", status=400)
    whole = said(40, ("A bank.", [1]), ask=("Who was Otto Brand?", "Who is Lena Fisk?"))

    def follow_up(request: FakeRequest) -> str | FakeReply:
        return broken if "Lena Fisk?" in smaller(request.prompt) else said(70, ("He sold it.", [1]))

    with served(harbour, tmp_path, rules([broken, whole], follow_up, hypothesis=broken)) as (opened, server):
        found = ask(opened)
        assert "He sold it." in sent(server, REDUCE)[0]
    assert found.known
    primer, first = found.trace[0].detail, found.trace[1].detail
    assert "without a hypothetical answer" in primer
    assert "2 calls failed" in primer
    assert "1 calls failed" in first


def test_where_the_primer_gives_nothing_the_question_itself_is_searched(harbour: Context, tmp_path: Path) -> None:
    for name, primer in (("failed", FakeReply("no", status=400)), ("empty", said(0))):
        with served(harbour, tmp_path / name, rules(primer)) as (opened, server):
            found = ask(opened)
            assert [smaller(each) for each in sent(server, FOLLOW_UP)] == [QUESTION]
        assert found.known


@pytest.mark.parametrize(
    ("primer", "answer", "says"),
    [
        (said(0, ("A point.", [1])), "never asked", ""),
        (said(50, ("A point.", [1])), "NOTHING", ""),
        (said(50, ("A point.", [1])), "I believe so.", "I believe so."),
    ],
)
def test_without_support_it_does_not_know(
    primer: str, answer: str, says: str, harbour: Context, tmp_path: Path
) -> None:
    with served(harbour, tmp_path, rules(primer, said(0), answer)) as (opened, server):
        found = ask(opened)
        assert len(sent(server, REDUCE)) == ("never" not in answer)
    assert (NOTHING_FOUND in found.text) == bool(says)
    assert not found.known
    assert without_verdicts(found.text) == (says or NO_ANSWER)


def test_without_reports_or_without_chunks(build: Build, harbour: Context, tmp_path: Path) -> None:
    small = build([("", "Hi.")])
    assert not small.index.rows(Report)
    assert not small.index.rows(Relation)
    assert not ask(small, "Where is Oxford?").known
    with served(small, tmp_path / "small", rules()) as (opened, server):
        found = ask(opened, "Who says Hi?")
        assert not sent(server, HYPOTHESIS)
        assert not sent(server, PRIMER)
    assert found.known
    assert "the index has no reports" in found.trace[0].detail
    with served(small, tmp_path / "none", rules()) as (opened, server):
        found = ask(filtered(opened, 'title = "Nowhere"', None))
        assert not server.requests
    assert found.text == NO_ANSWER
    assert ask(filtered(small, 'title = "Nowhere"', None)).text == NO_ANSWER
