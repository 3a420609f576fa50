"""Citation marks: their forms, and how they are read, kept, removed and streamed."""

import time

import pytest
from conspectus.prompts.replies.prose import (
    comparison_in_words,
    list_in_words,
    read_chosen,
    triples_in_words,
)
from conspectus.prompts.replies.records import read_records
from conspectus.prompts.replies.thinking import without_thinking
from conspectus.query.abstention import abstains
from conspectus.query.citations.answer_text import answer_text
from conspectus.query.citations.forms import marks_in, numbers_in
from conspectus.query.citations.marks import cited_sentences, keep_marks
from conspectus.query.walk.verdicts import asked_question, final_answer, in_braces, read_reasoning
from hypothesis import example, given, settings
from hypothesis import strategies as st


def test_sentences_and_what_they_cite() -> None:
    answer = "Ada wrote it [1]. It was long. Nobody ran it [2][3], which is sad. She was born in London. [1, 4]"
    assert [(sentence.text, sentence.numbers) for sentence in cited_sentences(answer)] == [
        ("Ada wrote it", (1,)),
        ("Nobody ran it", (2, 3)),
        ("She was born in London.", (1, 4)),
    ]
    assert list(cited_sentences("No marks here, [sic] nor there [12345].")) == []


@given(st.text(max_size=60), st.lists(st.integers(0, 12), max_size=5), st.text(max_size=60))
def test_only_what_is_kept_stays_cited(before: str, numbers: list[int], after: str) -> None:
    answer = before + "".join(f"[{each}]" for each in numbers) + after
    kept = {1, 2, 3}
    left = [number for each in cited_sentences(keep_marks(answer, kept)) for number in each.numbers]
    assert set(left) <= kept
    cited = {number for each in cited_sentences(answer) for number in each.numbers}
    assert set(left) == cited & kept


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("The mill burned down [1, 3; 4 and 6].", [1, 3, 4, 6]),
        ("The mill burned down [2-4], [7–8].", [2, 3, 4, 7, 8]),
        ("Die Mühle brannte ab [Quelle 2 und 3].", [2, 3]),
        ("水车烧毁了【2】【3†source】。", [2, 3]),
        ("It burned [[2]](https://example.org/a_(b)) down [3](http://example.org).", [2, 3]),
        ("It burned [Passage 2] down [Source: 3, Source 4] [Docs #5].", [2, 3, 4, 5]),
        ("It burned down [Data: Reports (2, 3, +more); Entities (5)].", [2, 3, 5]),
        ("It burned down (1, 3).", [1, 3]),
        ("It burned down.² Nobody was hurt.¹,³", [2, 1, 3]),
        ("It burned down<sup>2</sup>, says the warden <sup>[3]</sup> <ref>4</ref>.", [2, 3, 4]),
        ("It burned down [2, p. 7] [3: pages 4-6] [№ 4] [Excerpt 5] [来源6].", [2, 3, 4, 5, 6]),
        ("It burned down [2, and 3] [5..7] [^1^].", [2, 3, 5, 6, 7, 1]),
    ],
)
def test_every_form_is_read(text: str, numbers: list[int]) -> None:
    assert [number for mark in marks_in(text, shown=9) for number in mark.numbers] == numbers


@pytest.mark.parametrize(
    "text",
    [
        "It burned in [1984], [sic] as (1984) has it, between [0, 1] and (0).",
        "It has 300 m² and 10³ bricks (12 of them new), says [Table 2].",
        "It has 300 m<sup>2</sup> and a < b, in <sup>words</sup> and <cite>a title</cite> and [p. 3].",
        "Call `rows[1]` or:\n```python\nrows[1] = [2]\n```\n",
        "(1) The mill. (2) The bridge.",
    ],
)
def test_what_only_looks_like_a_mark_is_none(text: str) -> None:
    assert list(marks_in(text, shown=5)) == []


def test_numbers_alone() -> None:
    assert numbers_in("[1][3-4]") == (1, 3, 4)
    assert numbers_in("Reports (1, 2)") == (1, 2)
    assert numbers_in("2, 5") == (2, 5)
    assert numbers_in("in 1984") == ()


READERS = {
    "answer": lambda text: answer_text(text, lambda _, number: [number], 9),
    "thinking": without_thinking,
    "abstention": abstains,
    "reasoning": read_reasoning,
    "braces": in_braces,
    "chain of thought": final_answer,
    "next question": asked_question,
    "topics": lambda text: read_chosen(text, ["Ada Mirren", "Grey Heron"]),
    "scores": lambda text: read_chosen(text, ["born in", "directed by"]),
    "triples": triples_in_words,
    "list": list_in_words,
    "comparison": comparison_in_words,
    "records": read_records,
}
FRAGMENTS = [
    *(
        "[1",
        "[",
        "(",
        "【",
        "\\[",
        "`",
        "[[1]](http://a",
        "[Data: Reports (",
        "1, ",
        "1-2 and ",
        " \n",
        "\n[1] a\n",
        "{",
        "{a",
    ),
    *(
        "<think>",
        "</think>",
        "<|channel|>final",
        "References\n",
        "## Sources\n",
        "- [1] x\n",
        "the answer is ",
        "}",
        "²",
        "<sup>",
        "<sup>1",
        "１..",
    ),
    *(
        "(Score: 0.1",
        "a; ",
        "0.1, ",
        "* a_b(",
        "a(b, ",
        "| a ",
        "Assistant 1 ",
        "1. ",
        '("entity"<|>',
        "entity<|#|>",
        "##",
    ),
    *("answer to a b c ", "a.b ", "do not ", "the information ", "yes no ", "Q: ", "steht nicht ", "[[ ## a ## ]]"),
]


@settings(max_examples=12, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=4), st.integers(1, 3))
def test_no_reply_takes_long_to_read(parts: list[str], before: int) -> None:
    """Replies are untrusted: an expression that backtracks would stop an index or a server for minutes."""
    text = "ab " * before + "".join(parts) * (40_000 // len("".join(parts)))
    for name, read in READERS.items():
        began = time.process_time()
        read(text)
        assert time.process_time() - began < 2, name


KNOWN = {1: [1], 2: [2], 3: [1, 3], 4: []}


def read(reply: str) -> tuple[str, list[tuple[str, int]]]:
    asked: list[tuple[str, int]] = []

    def cite(sentence: str, number: int) -> list[int]:
        asked.append((sentence, number))
        return KNOWN.get(number, [])

    return answer_text(without_thinking(reply), cite).text, asked


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("It is so. [3] And so [2][9], too.", "It is so. [1][3] And so [2], too."),
        ("Both [1, 3]; none [4]. End", "Both [1][3]; none. End"),
        ("First the false one [9][1].", "First the false one [1]."),
        ("Years stand [1984], and [sic], and [1", "Years stand [1984], and [sic], and [1"),
        ("\n  - a list [2]\n- b [1] \n\n", "- a list [2]\n- b [1]"),
        ("NOTHING", ""),
        (" NOTHING.\n", ""),
        ("NOTHING: Das sagen die Texte nicht.", "Das sagen die Texte nicht."),
        ("**NOTHING:** 文中没有答案。", "文中没有答案。"),
        ("NOTHING\n\nNo text says so [1].", "No text says so [1]."),
        ("NOTHING - ", ""),
        ("**Answer:** It is so 【1†page】.", "It is so [1]."),
        ("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>So [1].", "So [1]."),
        ("It is so [1].\n\n**Sources:**\n1. A page\n2. Another\n\nAsk again!", "It is so [1].\n\nAsk again!"),
        ("It is so [1].\n\n[1]: https://example.org/a\n[2]: https://example.org/b", "It is so [1]."),
        ("是的[1]。\n\n## 参考文献\n[1] 页面: https://example.org\n", "是的[1]。"),
        (
            "Sources\ndiffer [1].\n\n## Sources\nAll of them say so [2].",
            "Sources\ndiffer [1].\n\n## Sources\nAll of them say so [2].",
        ),
        ("[1] says so.\n[2] says no.", "[1] says so.\n[2] says no."),
    ],
)
def test_marks_become_citations(answer: str, told: str) -> None:
    assert read(answer)[0] == told


SIGNS = st.text(st.sampled_from(" \n.:a北[]1249,;NOTHI*-()【】\\`²<>#h"), max_size=40)
PARTS = [
    "<think>",
    "</think>",
    "Sources\n",
    "## References\n",
    "- [1] a http://a\n",
    "[1](http://a)",
    "```",
    "Answer: ",
    "Passage ",
]
TEXTS = (
    SIGNS | SIGNS.map(lambda text: f"NOTHING{text}") | st.lists(SIGNS | st.sampled_from(PARTS), max_size=5).map("".join)
)


@given(TEXTS)
@example("so [1][2] ")
def test_whatever_a_model_writes_is_read(reply: str) -> None:
    text, asked = read(reply)
    assert text == text.strip()
    assert all(number > 0 for _, number in asked)
