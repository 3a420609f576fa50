import pytest
from conspectus.prompts.replies.thinking import without_thinking
from conspectus.query.citations.answer_text import answer_text
from hypothesis import example, given
from hypothesis import strategies as st

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


def test_a_sentence_is_what_stands_before_its_marks() -> None:
    _, asked = read("Ada wrote it. Nobody ran it [1][2], which is sad. [3]")
    assert asked == [("Nobody ran it", 1), ("Nobody ran it", 2), (", which is sad.", 3)]


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
