from conspectus.query.citations.alignment import Cited, cited_sentences, keeping, support
from conspectus.query.types import Passage
from hypothesis import given
from hypothesis import strategies as st

PASSAGE = Passage(
    "d", "c", 100, 190, 1.0, "Ada wrote a program. It ran on no machine. Babbage paid for the machine.", "Ada"
)


def weigh(key: str) -> float:
    return {"machine": 0.5, "the": 0.01}.get(key, 1.0)


def test_sentences_and_what_they_cite() -> None:
    answer = "Ada wrote it [1]. It was long. Nobody ran it [2][3], which is sad. She was born in London. [1, 4]"
    assert list(cited_sentences(answer)) == [
        Cited("Ada wrote it", (1,)),
        Cited("Nobody ran it", (2, 3)),
        Cited("She was born in London.", (1, 4)),
    ]
    assert list(cited_sentences("No marks here, [sic] nor there [12345].")) == []


def test_support_is_the_sentence_that_shares_most() -> None:
    span = support("Who paid? Babbage did, for the machine.", PASSAGE, weigh)
    assert PASSAGE.text[span.start - 100 : span.end - 100] == "Babbage paid for the machine."
    span = support("Nothing in common", PASSAGE, weigh)
    assert (span.start, span.end) == (100, 100 + len(PASSAGE.text))


@given(st.text(max_size=60), st.lists(st.integers(0, 12), max_size=5), st.text(max_size=60))
def test_only_what_is_kept_stays_cited(before: str, numbers: list[int], after: str) -> None:
    answer = before + "".join(f"[{each}]" for each in numbers) + after
    kept = {1, 2, 3}
    left = [number for each in cited_sentences(keeping(answer, kept)) for number in each.numbers]
    assert set(left) <= kept
    cited = {number for each in cited_sentences(answer) for number in each.numbers}
    assert set(left) == cited & kept
