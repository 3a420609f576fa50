"""Map-reduce with a model, over a real index and a real HTTP server that says what it is told to."""

import asyncio
import re
from itertools import count
from pathlib import Path

import pytest
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.methods.graphrag.map_step import Note, material_of
from conspectus.query.types import Answer
from conspectus.storage.errors import BadAnswer
from conspectus.storage.records import Community, Document, Report
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fake_server import FakeReply, FakeRequest
from tests.query.serving import MAP, NOTE, REDUCE, notes, rules, sent, served
from tests.query.units import passage
from tests.tags import inside, outside

QUESTION = "What do the novels have in common?"


def ask(context: Context, method: str = "global:c0") -> Answer:
    return asyncio.run(METHODS[method].answerer(context).answer(QUESTION))


def shown(prompt: str) -> str:
    """Return the reports or passages of a map prompt, or the material of a reduce prompt."""
    return inside(prompt, next(tag for tag in ("reports", "passages", "material") if f"<{tag}>" in prompt))


@pytest.mark.parametrize("method", ["global", "global:c3", "ts"])
def test_every_unit_is_shown_once_and_no_window_passes_its_limit(method: str, context: Context, tmp_path: Path) -> None:
    with served(context, tmp_path, rules(), context_tokens=300) as (opened, server):
        answer = ask(opened, method)
        prompts = sent(server, MAP)
        windows = [shown(each) for each in prompts]
    called = "passage" if method == "ts" else "report"
    other = "report" if method == "ts" else "passage"
    assert all(called in outside(each) and other not in outside(each) for each in prompts)
    assert len(windows) > 3
    assert all(count_tokens(each) <= 300 for each in windows)
    assert answer.usage.context_tokens == sum(map(count_tokens, windows))
    if method == "ts":
        texts = [each.text for each in context.chunks]
    else:
        of = {each.community_id: each.full_text for each in context.index.rows(Report)}
        wanted = {"global": 1, "global:c0": 0, "global:c3": 3}[method]
        level = min(wanted, max(each.level for each in context.index.rows(Community)))
        on_it = {each.same_as or each.id for each in context.index.rows(Community) if each.level == level}
        texts = [text for id_, text in of.items() if id_ in on_it]
    together = "\n".join(windows)
    assert all(together.count(f"\n{each}") == 1 for each in texts)
    assert answer.usage.units == len(texts)
    assert answer.method == method
    assert answer.usage.calls + answer.usage.remembered == len(windows) + 1


def test_citations_are_places_in_the_documents_and_what_is_said_is_the_answer(context: Context, tmp_path: Path) -> None:
    note = notes(("One.", 80, [1, 2]), ("Two.", 70, [2, 3, 777]), ("Baseless.", 99, [888]), ("Nothing.", 98, []))
    reply = "It is one [1]. It is two. [2][99] A third one [0], and [1, 3].\n"
    with served(context, tmp_path, rules(note, reply), context_tokens=100_000) as (opened, server):
        answer = ask(opened)
        (reduce,) = sent(server, REDUCE)
    assert "Baseless" not in reduce
    assert re.fullmatch(r"It is one( ?\[\d+\])+. It is two.( ?\[\d+\])+ A third one, and( ?\[\d+\])+.", answer.text)
    texts = {each.id: each.text for each in context.index.rows(Document)}
    places = {span for each in context.index.rows(Report) for finding in each.findings for span in finding.citations}
    for number, each in enumerate(answer.citations, start=1):
        assert each.number == number
        assert f"[{number}]" in answer.text
        assert texts[each.document_id][each.start : each.end] == each.quote
        assert (each.document_id, each.start, each.end) in {(at.document_id, at.start, at.end) for at in places}
    assert answer.dropped_citations == 2 + 2, "[99] and [0] of the answer, 777 and 888 of the notes"
    assert "2 that named no report" in str(answer.trace)


@pytest.mark.parametrize(
    ("note", "reply"),
    [
        (notes(), "never asked"),
        (notes(("A point.", 0, [1])), "never asked"),
        (notes(("A point.", 50, [1])), "NOTHING"),
    ],
)
def test_without_support_it_does_not_know(note: str, reply: str, context: Context, tmp_path: Path) -> None:
    with served(context, tmp_path, rules(note, reply)) as (opened, server):
        answer = ask(opened)
        assert len(sent(server, REDUCE)) == ("never" not in reply)
    assert answer.text == NO_ANSWER
    assert not answer.known


def test_notes_without_support_are_replies_that_cannot_be_used(context: Context, tmp_path: Path) -> None:
    with served(context, tmp_path, rules(notes(("A point.", 50, [])), "never asked")) as (opened, server):
        with pytest.raises(BadAnswer, match="name no report or passage"):
            ask(opened)
        assert not sent(server, REDUCE)


def test_a_failed_call_leaves_out_its_window_only(context: Context, tmp_path: Path) -> None:
    turn = count()

    def note(request: FakeRequest) -> str | FakeReply:
        if len(request.messages) > 2:
            return "no JSON once more"
        first = [FakeReply("refused", status=400), FakeReply("no JSON"), FakeReply(NOTE)]
        return first[min(next(turn), 2)]

    with served(context, tmp_path, rules(note), context_tokens=300) as (opened, _):
        answer = ask(opened)
    assert answer.known
    assert "2 calls failed" in str(answer.trace)


UNITS = [passage("", f"unit {number}") for number in range(6)]
NOTES = st.builds(
    Note,
    st.text(st.sampled_from("ab c.1北"), min_size=1, max_size=120),
    st.integers(1, 100),
    st.lists(st.sampled_from(UNITS), min_size=1, max_size=4, unique_by=lambda each: each.id).map(tuple),
)


@given(st.lists(NOTES, max_size=10), st.integers(32, 200))
def test_the_material_never_passes_its_limit(notes: list[Note], limit: int) -> None:
    material = material_of(notes, limit)
    assert material.n_tokens == count_tokens(material.text) <= limit
    assert list(material.notes) == notes[: len(material.notes)]
    assert bool(material.notes) == bool(notes)
    named = list({each.id: each for note in material.notes for each in note.units}.values())
    assert list(material.units) == named, "units are numbered as they are first named"
