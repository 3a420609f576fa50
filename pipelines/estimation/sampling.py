"""Which chunks of a large corpus are rehearsed, and what that says of the whole."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from conspectus.prompts.client.usage import Spending, cost
from conspectus.storage.settings import Price

MOST = 300
"""Chunks that are rehearsed: some seconds."""
MOST_REMEMBERED = 2000
"""Chunks that are rehearsed where every reply to them is remembered: then the outcome is exact."""
MOST_BOUNDED = 60
"""Chunks that are rehearsed again with a terse and with a wordy model, for the range."""

EXTRACTION = ("extract", "glean_more", "glean", "claims")
"""The steps that ask about one chunk at a time: they grow in proportion to the chunks."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The digests of a corpus's texts: those with replies that are not remembered, all others, and some of both."""

    unknown: Sequence[str]
    known: Sequence[str]
    chosen: Sequence[str]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return len(self.chosen) == len(self.unknown) + len(self.known)

    def half(self) -> list[str]:
        """Return every other chunk of the sample."""
        return list(self.chosen[::2])

    def bounded(self) -> list[str]:
        """Return a smaller sample, of what is not remembered first."""
        unknown = set(self.unknown)
        of_unknown = [each for each in self.chosen if each in unknown]
        of_known = [each for each in self.chosen if each not in unknown]
        first = _spread(of_unknown, MOST_BOUNDED)
        return sorted([*first, *_spread(of_known, MOST_BOUNDED - len(first))])


def draw(texts: Collection[str], unknown: Collection[str]) -> Sample:
    """Return a sample of texts, given by their digests; the same texts always give the same."""
    new = sorted(set(texts) & set(unknown))
    old = sorted(set(texts) - set(unknown))
    if len(texts) <= MOST or (not new and len(texts) <= MOST_REMEMBERED):
        return Sample(new, old, sorted(texts))
    least = min(MOST, MOST_BOUNDED)
    of_new = min(len(new), max(MOST - len(old), round(MOST * len(new) / len(texts)), least))
    return Sample(new, old, sorted([*_spread(new, of_new), *_spread(old, MOST - of_new)]))


def _spread(digests: Sequence[str], most: int) -> list[str]:
    """Return at most so many, evenly from a sorted list of hashes: which is at random."""
    if len(digests) <= most:
        return list(digests)
    return [digests[place * len(digests) // most] for place in range(most)]


def extended(
    whole: Sequence[Spending], half: Sequence[Spending], sample: Sample, prices: Mapping[str, Price]
) -> tuple[Spending, ...]:
    """Return what the whole corpus takes where `whole` is what the sample took and `half` what half of it did.

    Extraction grows with the chunks. Summaries and reports grow as they did from half of the sample to all of it, as
    a power of the chunks. With chunks missing from the memo they are taken to be new, since a prompt of them changes
    with every chunk of their community; otherwise to be remembered.
    """
    if sample.is_whole:
        return tuple(whole)
    chosen = set(sample.chosen)
    n_new, n_old = len(chosen & set(sample.unknown)), len(chosen & set(sample.known))
    to_new = len(sample.unknown) / n_new if n_new else 1.0
    to_old = len(sample.known) / n_old if n_old else to_new
    size = (len(sample.unknown) + len(sample.known)) / len(chosen)
    before = {(each.step, each.model): each for each in half}
    found = []
    for each in whole:
        if each.step in EXTRACTION:
            grown = _scaled(each, to_new, to_new, prices, remembered=to_old)
        else:
            earlier = before.get((each.step, each.model), Spending(each.step, each.model))
            calls = _growth(each, earlier, size, lambda one: one.calls + one.remembered)
            tokens = _growth(each, earlier, size, lambda one: one.prompt_tokens + one.completion_tokens)
            grown = _scaled(each, calls, tokens, prices, remembered=calls)
        found.append(grown)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Spread:
    """What a step takes: with terse replies, as expected, and with wordy ones."""

    low: Spending
    expected: Spending
    high: Spending


def spread(
    expected: Sequence[Spending],
    near: Sequence[Spending],
    terse: Sequence[Spending],
    wordy: Sequence[Spending],
    size: float,
    prices: Mapping[str, Price],
) -> list[Spread]:
    """Return each step with its range: as far from what is expected as in a small sample.

    `near`, `terse` and `wordy` are what the small sample takes, as expected and at both ends; `size` is how many times
    its chunks the corpus has.
    """
    middle, low, high = ({(each.step, each.model): each for each in one} for one in (near, terse, wordy))
    all_expected = {(each.step, each.model): each for each in expected}
    keys = dict.fromkeys([*all_expected, *high])
    nothing = {key: Spending(*key) for key in keys}
    found = []
    for key in keys:
        each = all_expected.get(key, nothing[key])
        ends = [
            _relative(each, middle.get(key, nothing[key]), end.get(key, nothing[key]), size, prices)
            for end in (low, high)
        ]
        found.append(Spread(ends[0], each, ends[1]))
    return found


def _relative(each: Spending, near: Spending, end: Spending, size: float, prices: Mapping[str, Price]) -> Spending:
    if not near.calls:
        return each if each.calls else _scaled(end, size, size, prices, remembered=1.0)
    tokens = (end.prompt_tokens + end.completion_tokens) / (near.prompt_tokens + near.completion_tokens)
    return _scaled(each, end.calls / near.calls, tokens, prices, remembered=1.0)


def _growth(now: Spending, before: Spending, size: float, amount: Callable[[Spending], int]) -> float:
    if not (amount(now) and amount(before)):
        return size
    power = math.log2(amount(now) / amount(before))
    return float(size ** min(max(power, 0.0), 1.25))


def _scaled(
    spent: Spending, calls: float, tokens: float, prices: Mapping[str, Price], *, remembered: float
) -> Spending:
    prompt, completion = round(spent.prompt_tokens * tokens), round(spent.completion_tokens * tokens)
    return replace(
        spent,
        calls=round(spent.calls * calls),
        attempts=round(spent.calls * calls),
        remembered=round(spent.remembered * remembered),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=cost(prices, spent.model, prompt, completion),
    )
