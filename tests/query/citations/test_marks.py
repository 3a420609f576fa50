"""Citation marks: reading, keeping and removing them."""

from conspectus.query.citations.marks import cited_sentences, keep_marks, without_marks
from hypothesis import given
from hypothesis import strategies as st


def test_a_block_of_code_is_one_sentence() -> None:
    answer = "Start it so: [1]\n```\npump --start\npump $argv[1] --wait. Then go.\n``` [2]\nIt hums. [3]"
    assert [item.text for item in cited_sentences(answer)] == [
        "Start it so:", "```\npump --start\npump $argv[1] --wait. Then go.\n```", "It hums.",
    ]  # fmt: skip
    assert keep_marks(answer, {1, 2}) == answer.replace(" [3]", "")


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


def test_marks_are_no_part_of_what_an_answer_says() -> None:
    assert without_marks("It is so [1][3]. Or so [2, 4]?") == "It is so. Or so?"
