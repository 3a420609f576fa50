from conspectus.query.citations.matching import aligned_span
from conspectus.query.types import Passage

PASSAGE = Passage(
    "d", "c", 100, 190, 1.0, "Ada wrote a program. It ran on no machine. Babbage paid for the machine.", "Ada"
)


def weigh(key: str) -> float:
    return {"machine": 0.5, "the": 0.01}.get(key, 1.0)


def test_a_sentence_is_aligned_with_the_one_that_shares_most() -> None:
    span = aligned_span("Who paid? Babbage did, for the machine.", PASSAGE, weigh)
    assert PASSAGE.text[span.start - 100 : span.end - 100] == "Babbage paid for the machine."
    span = aligned_span("Nothing in common", PASSAGE, weigh)
    assert (span.start, span.end) == (100, 100 + len(PASSAGE.text))
