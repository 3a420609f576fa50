"""Samples of a corpus, and examples of prompts."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from conspectus.pipelines.steps.extract.llm import ShownChunk
from conspectus.pipelines.tuning.examples import (
    ExampleDraft,
    claims_in,
    elements_in,
    excerpt,
    make_example,
    representatives,
    sample,
    written,
    written_claims,
)
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.language_model import Message
from conspectus.prompts.render import messages
from conspectus.prompts.replies.records import ClaimRecord, EntityRecord, Records, RelationRecord, read_records
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import BudgetReached
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Document
from conspectus.storage.settings import ChunkSettings, LlmSettings
from conspectus.storage.text.tokens import LONGEST, count_tokens
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fake_server import FakeReply, FakeServer

TITLE = "大会堂"
TEXT = "李明在北京见到了王芳。王芳说 {{text}} 是 {{persona}} 的一部分。"
SHOWN = ShownChunk(TEXT, TITLE, "第一章")
TYPES = ("人物", "地点")
GOOD = (
    '("entity"<|>"李明"<|>"人物"<|>"李明见到了王芳。")##\n'
    '("entity"<|>"王芳"<|>"人物"<|>"王芳说 {{examples}} 和 \\"这句话\\"。")##\n'
    '("entity"<|>"北京"<|>"地点"<|>"他们在北京见面。")##\n'
    '("relationship"<|>"李明"<|>"王芳"<|>"见到"<|>"李明见到了王芳。"<|>8)##\n<|COMPLETE|>'
)
NO_RECORD = "<|COMPLETE|>"
PROSE = "I would rather tell you about it."
BROKEN = '("entity"<|>"李明"<|>"人物")##\n<|COMPLETE|>'
ELSEWHERE = '("entity"<|>"上海"<|>"地点"<|>"上海很大。")##\n<|COMPLETE|>'


def make(replies: Sequence[str | FakeReply], **llm: object) -> tuple[ExampleDraft, FakeServer]:
    with FakeServer(list(replies)) as server:
        model = ModelClient(LlmSettings(model="m", base_url=server.url, attempts=1, **llm))  # type: ignore[arg-type]
        made = asyncio.run(
            make_example(model, SHOWN, (Message("user", "Write an example."),), elements_in(SHOWN, TYPES))
        )
        return made, server


def test_a_good_reply_is_kept_and_written_in_the_format_of_extraction() -> None:
    made, server = make([GOOD])
    assert len(server.requests) == 1
    assert (made.thrown_away, made.left_out) == ((), 0)
    block = written([made], TYPES)
    assert block.startswith(
        f"Example 1.\n\nTypes: 人物, 地点\nTitle: {TITLE}\nSection: 第一章\n<text>\n{TEXT}\n</text>\n\nRecords:\n"
    )
    assert read_records(block) == read_records(GOOD) == made.records


@pytest.mark.parametrize("bad", [NO_RECORD, PROSE, BROKEN, ELSEWHERE, "", GOOD[:60]])
def test_a_reply_that_is_no_example_is_asked_for_once_more(bad: str) -> None:
    made, server = make([bad, GOOD])
    assert made.records == read_records(GOOD)
    assert len(made.thrown_away) == 1
    body = server.requests[1].body
    assert body
    roles = [each["role"] for each in body["messages"]]
    assert roles == (["user", "assistant", "user"] if bad else ["user", "user"])
    assert "cannot serve as an example" in body["messages"][-1]["content"]


def test_a_call_that_fails_is_told_and_a_budget_is_obeyed() -> None:
    made, _ = make([FakeReply("", status=401)])
    assert made.records is None
    assert "401" in made.thrown_away[0]
    with pytest.raises(BudgetReached):
        make([GOOD], max_tokens=10)


@pytest.mark.parametrize(
    "wrong",
    [
        EntityRecord("上海", "地点", "不在文中。"),
        EntityRecord("北京", "地点", ""),
        EntityRecord("北京", "地点", "有 <|> 和 ## 在其中。"),
        RelationRecord("李明", "上海", "去了上海。", 5.0, "去了"),
        RelationRecord("李明", "李明", "同一个人。", 5.0, "是"),
        RelationRecord("李明", "王芳", "没有强度。", None, "见到"),
        RelationRecord("李明", "王芳", "没有谓语。", 5.0),
    ],
)
def test_records_that_break_the_rules_are_left_out(wrong: EntityRecord | RelationRecord) -> None:
    good = (EntityRecord("李明", "人物", "李明。"), EntityRecord("王芳", "人物", "王芳。"))
    if isinstance(wrong, EntityRecord):
        kept = elements_in(SHOWN, TYPES)(Records((*good, wrong)))
    else:
        kept = elements_in(SHOWN, TYPES)(Records(good, (wrong,)))
    assert kept == Records(good)


def test_types_and_names_are_spelt_as_they_should_be() -> None:
    given = Records(
        (EntityRecord("Anna Voss", "PERSON", "a"), EntityRecord("Ship One", "ship", "b")),
        (RelationRecord("anna voss", "SHIP ONE", "She sailed it out.", 3.0, "sailed"),),
    )
    shown = ShownChunk("ANNA VOSS\nsailed out.", "The Ship\nOne")
    kept = elements_in(shown, ("Person", "Ship"))(given)
    assert [each.type for each in kept.entities] == ["Person", "Ship"]
    assert kept.relations == (RelationRecord("Anna Voss", "Ship One", "She sailed it out.", 3.0, "sailed"),)


def test_claims_are_kept_that_name_quote_and_date_what_they_should() -> None:
    claim = ClaimRecord("李明", "王芳", "会面", "true", "2001-05", None, "李明见到了王芳。", "李明在北京见到了王芳。")
    wrong = [
        replace(claim, subject="上海"),
        replace(claim, object="上海"),
        replace(claim, quote="他没有说。"),
        replace(claim, quote=None),
        replace(claim, status="MAYBE"),
        replace(claim, start_date="May 2001"),
        replace(claim, description="<|COMPLETE|>"),
        replace(claim, type=""),
    ]
    kept = claims_in(SHOWN)(Records(claims=(*wrong, claim)))
    assert kept.claims == (replace(claim, status="TRUE"),)
    block = written_claims([ExampleDraft(SHOWN, kept), ExampleDraft(SHOWN, None)])
    assert block.startswith(f"Example 1.\n\nTitle: {TITLE}\nSection: 第一章\n<text>\n{TEXT}\n</text>\n\nRecords:\n")
    assert "Example 2" not in block
    assert read_records(block) == kept


def test_places_in_examples_are_no_places_of_the_prompt_that_holds_them() -> None:
    made, _ = make([GOOD])
    block = written([made], TYPES)
    given = {"persona": "{{text}}", "entity_types": "{{examples}}", "examples": block, "title": "", "section": ""}
    asked = "\n".join(each.content for each in messages("index/extract", text="THE TEXT", **given))
    assert asked.count("THE TEXT") == 1
    assert block in asked
    assert asked.startswith("{{text}}")


SETTINGS = ChunkSettings(chunk_size=60, chunk_overlap=0)


def document(name: str, *sentences: str) -> Document:
    text = " ".join(sentences)
    return Document(short_id(name), name, name, text, {}, len(text), "")


def sentence(about: str, number: int) -> str:
    return f"Paragraph {number} on {about} goes on about {about} " + "and says what everyone knows of it " * 5 + "."


CORPUS = [
    document("long", *(sentence("whales", each) for each in range(60))),
    *(document(f"short{each}", sentence(f"town {each}", 0)) for each in range(5)),
]


def letters(texts: object) -> Vectors:
    counts = np.array([[text.count(sign) + 1 for sign in "abcdefghijklmnop0123456789"] for text in texts], np.float32)  # type: ignore[attr-defined]
    unit: Vectors = counts / np.linalg.norm(counts, axis=1, keepdims=True)
    return unit


@pytest.mark.parametrize("embed", [None, letters])
def test_every_document_is_heard_before_one_is_heard_twice(embed: object) -> None:
    chosen = sample(CORPUS, SETTINGS, 8, 7, embed)  # type: ignore[arg-type]
    assert len(chosen) == 8
    assert len({each.document_id for each in chosen}) == 6
    assert len({each.id for each in chosen}) == 8


def test_equal_texts_and_headings_tell_nothing_new() -> None:
    twice = [document("a", sentence("one", 1)), document("b", sentence("one", 1)), document("c", sentence("two", 1))]
    assert len(sample(twice, SETTINGS, 9, 7)) == 2
    headed = document("d", "Heading.\n\n", *(sentence("one", each) for each in range(3)))
    assert all(each.text != "Heading." for each in sample([headed], SETTINGS, 9, 7))
    assert [each.text for each in sample([document("e", "Short.")], SETTINGS, 9, 7)] == ["Short."]
    assert sample([document("f", "")], SETTINGS, 9, 7) == []


@given(st.integers(1, 12), st.integers(1, 14), st.integers(0, 99))
def test_as_many_rows_are_chosen_as_there_are_and_are_wanted(n: int, count: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(n, 5)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chosen = representatives(vectors, [str(each % 3) for each in range(n)], count)
    assert len(chosen) == len(set(chosen)) == min(n, count)


@pytest.mark.parametrize(
    "text", ["One two three. Four five six. Seven.", "一二三四五六七八九十。" * 9, "x" * 900, "a b " * 90]
)
@pytest.mark.parametrize("most", [3, 8, 50])
def test_an_excerpt_is_the_beginning_and_short_enough(text: str, most: int) -> None:
    made = excerpt(text, most)
    assert made
    assert text.startswith(made)
    assert count_tokens(made) <= most or len(made) <= LONGEST * most  # a piece of a word may have more tokens
