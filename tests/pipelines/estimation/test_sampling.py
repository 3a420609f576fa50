"""Samples of large corpora."""

import pytest
from conspectus.pipelines.estimation.sampling import MOST, MOST_REMEMBERED, draw, extended, spread
from conspectus.prompts.client.usage import Spending
from conspectus.storage.hashing import digest
from conspectus.storage.settings import Price

PRICES = {"m": Price(input=1.0, output=2.0)}


def texts(count: int) -> list[str]:
    return [digest(str(number)) for number in range(count)]


def spent(step: str, calls: int, remembered: int = 0) -> Spending:
    return Spending(step, "m", calls, calls, remembered, prompt_tokens=calls * 100, completion_tokens=calls)


def test_a_small_corpus_is_taken_whole() -> None:
    sample = draw(texts(MOST), texts(10))
    assert sample.is_whole
    assert sample.chosen == sorted(texts(MOST))
    assert extended([spent("extract", 10)], [], sample, PRICES) == (spent("extract", 10),)


def test_what_is_all_remembered_is_taken_whole_much_longer() -> None:
    assert draw(texts(MOST_REMEMBERED), []).is_whole
    assert not draw(texts(MOST_REMEMBERED), texts(1)).is_whole


def test_a_sample_holds_both_what_is_known_and_what_is_not() -> None:
    sample = draw(texts(4000), texts(1000))
    chosen = set(sample.chosen)
    assert len(chosen) == MOST
    assert len(chosen & set(texts(1000))) == MOST // 4
    assert draw(texts(4000)[::-1], set(texts(1000))) == sample
    assert set(sample.bounded()) <= chosen
    few = draw(texts(4000), texts(7))
    assert set(texts(7)) <= set(few.chosen)


def test_extraction_grows_with_the_chunks_and_reports_with_what_was_seen_of_them() -> None:
    sample = draw(texts(10 * MOST), texts(10 * MOST))
    whole = [spent("extract", MOST), spent("report", 200)]
    half = [spent("extract", MOST // 2), spent("report", 100)]
    found = {each.step: each for each in extended(whole, half, sample, PRICES)}
    assert found["extract"].calls == 10 * MOST
    assert found["extract"].cost == pytest.approx(10 * MOST * 102 / 1e6)
    assert found["report"].calls == 2000  # twice the chunks gave twice the reports
    found = {each.step: each for each in extended(whole, [spent("report", 200)], sample, PRICES)}
    assert found["report"].calls == 200  # more chunks gave no more


def test_remembered_calls_grow_with_the_chunks_that_are_known() -> None:
    sample = draw(texts(10 * MOST), texts(5 * MOST))
    (found,) = extended([spent("extract", MOST // 2, remembered=MOST // 2)], [], sample, PRICES)
    assert (found.calls, found.remembered) == (5 * MOST, 5 * MOST)


def test_a_range_is_as_wide_as_in_the_small_sample() -> None:
    expected = [spent("extract", 1000), spent("report", 100)]
    near, terse = [spent("extract", 10), spent("report", 4)], [spent("extract", 10)]
    wordy = [spent("extract", 20), spent("claims", 3)]
    found = {each.expected.step: each for each in spread(expected, near, terse, wordy, 100.0, PRICES)}
    assert (found["extract"].low.calls, found["extract"].high.calls) == (1000, 2000)
    assert found["report"].low.calls == 0
    assert (found["claims"].expected.calls, found["claims"].high.calls) == (0, 300)
