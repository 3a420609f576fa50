"""What of a question a step of a walk matches, and what is left of it: without a language model.

The question is cut into spans of one to three words beside its subject. A step along a predicate matches one span that
no earlier step did, and the span's words are then used up. How well they match is their cosine beside those of the span
with all predicates of the graph: a word near to all of them ("film", among films) tells none apart. A word elsewhere
that says another part of the predicate is used up with the span ("what year was it released", for a release year).
Words are read away from the subject, as English builds it ("the job of X 's wife" asks for X, the wife, the job): what
stands nearer and could be matched here should be matched first.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from conspectus.query.question.question import EmbedSpans
from conspectus.query.walk.graph import spoken
from conspectus.storage.arrays import Floats, Ints, Vectors
from conspectus.storage.text.words import FUNCTION_WORDS

LEAST = 0.4
"""A match of a span and a predicate from which on they are taken to speak of the same."""
_SPREAD = 0.05
"""Least deviation of a span's cosines that is taken to tell predicates apart."""
_DEVIATIONS = 3.0
"""So many deviations above the mean count as much as a cosine of 1."""
_SAYS_A_WORD = 0.5
"""A cosine of two words from which on one is taken to say the other."""
_LONGEST = 3
_WORD = re.compile(r"[^\W_]+")
_OF_IT = re.compile(r"\s*['’`]\s*s?\b")


@dataclass(frozen=True, slots=True)
class Matched:
    """One step's match: the words that it uses up, as bits, and what it is worth."""

    words: int
    gain: float


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """A question beside its subjects. `nearness[s, p]` tells how well span s matches predicate p, at best about 1.

    `most[s]` is the best of its row, `words[s]` the span's words as bits, `first[s]` and `last[s]` the places of its
    first and last word in the order of reading, `vectors[s]` its vector. `said` gives the words of a predicate, `embed`
    the vectors of texts.
    """

    spans: tuple[str, ...]
    words: tuple[int, ...]
    first: Ints
    last: Ints
    nearness: Floats
    most: tuple[float, ...]
    vectors: Vectors
    said: Callable[[int], str]
    embed: EmbedSpans
    _kept: dict[tuple[int, tuple[int, ...]], list[Matched]] = field(default_factory=dict)

    def steps(self, used: int, predicates: tuple[int, ...]) -> list[Matched]:
        """Return for each predicate its best match among the words that are not used up, a poor one where all are.

        `predicates` are those that can be walked now: matching a span costs what one that stands nearer to the subject
        could have matched with them.
        """
        key = (used, predicates)
        if key not in self._kept:
            self._kept[key] = self._best(used, predicates)
        return self._kept[key]

    def left(self, used: int) -> float:
        """Return the most that a step along any predicate of the graph could still gain; 0.0 where that is nothing."""
        free = [most for words, most in zip(self.words, self.most, strict=True) if not words & used]
        return max(0.0, max(free, default=0.0) - LEAST)

    def _best(self, used: int, predicates: tuple[int, ...]) -> list[Matched]:
        free = np.array([place for place, words in enumerate(self.words) if not words & used], np.int64)
        if not len(free):
            return [Matched(0, -LEAST)] * len(predicates)
        near = self.nearness[np.ix_(free, np.asarray(predicates, np.int64))]
        before = self.last[free][None, :] < self.first[free][:, None]
        could = np.maximum(near.max(axis=1, initial=0.0) - LEAST, 0.0)
        worth = near - LEAST - (before * could[None, :]).max(axis=1)[:, None]
        best = np.argmax(np.round(worth, 6), axis=0)
        spans = free[best]
        parts = [self.said(each).split() for each in predicates]
        told = dict.fromkeys(word for each in parts if len(each) > 1 for word in each)
        vector = dict(zip(told, self.embed(list(told)), strict=True)) if told else {}
        return [
            Matched(
                self.words[span] | self._also(int(span), np.array([vector[each] for each in part])) & ~used
                if len(part) > 1
                else self.words[span],
                float(worth[best[number], number]),
            )
            for number, (span, part) in enumerate(zip(spans, parts, strict=True))
        ]

    def _also(self, span: int, part: Vectors) -> int:
        """Return the words that say another word of a predicate than the span does, and say it better."""
        single = [place for place, words in enumerate(self.words) if not words & (words - 1)]
        near = self.vectors[single] @ part.T
        mine = self.vectors[span] @ part.T
        says = np.argmax(near, axis=1)
        best = near[np.arange(len(single)), says]
        found = (best > _SAYS_A_WORD) & (says != int(np.argmax(mine))) & (best > mine[says])
        return sum(
            self.words[single[place]]
            for place in np.flatnonzero(found)
            if not self.words[single[place]] & self.words[span]
        )


def read(
    question: str,
    subjects: Sequence[str],
    embed: EmbedSpans,
    predicates: Vectors,
    said: Callable[[int], str],
) -> Reading:
    """Return the reading of a question about some subjects, given the unit vectors (p, d) and words of predicates."""
    placed = _in_order(question, subjects)
    spans: list[tuple[str, int, int, int]] = []
    for length in range(1, _LONGEST + 1):
        for start in range(len(placed) - length + 1):
            part = placed[start : start + length]
            joined = all(later.place == earlier.place + 1 for earlier, later in pairwise(part))
            if joined and not {each.text for each in part} <= FUNCTION_WORDS:
                turns = [each.turn for each in part]
                bits = sum(1 << (start + number) for number in range(length))
                spans.append((" ".join(each.text for each in part), bits, min(turns), max(turns)))
    texts = tuple(each[0] for each in spans)
    vectors = embed(texts) if texts else np.zeros((0, predicates.shape[1]), np.float32)
    nearness = _told_apart(np.asarray(vectors @ predicates.T, np.float64))
    return Reading(
        texts,
        tuple(each[1] for each in spans),
        np.array([each[2] for each in spans], np.int64),
        np.array([each[3] for each in spans], np.int64),
        nearness,
        tuple(nearness.max(axis=1, initial=-1.0).tolist()),
        vectors,
        said,
        embed,
    )


def _told_apart(cosines: Floats) -> Floats:
    """Return the mean of two measures: the cosine above the row's mean, of 1 above it, and that in deviations."""
    if cosines.shape[1] < 2:
        return cosines
    middle, spread = cosines.mean(axis=1, keepdims=True), cosines.std(axis=1, keepdims=True)
    above = cosines - middle
    found: Floats = (above / (1 - middle) + above / (_DEVIATIONS * np.maximum(spread, _SPREAD))) / 2
    return found


@dataclass(frozen=True, slots=True)
class _Word:
    """A word, its place in the question (with gaps where a subject stands), and its turn in the order of reading."""

    text: str
    place: int
    turn: int


def _in_order(question: str, subjects: Sequence[str]) -> list[_Word]:
    """Return the words beside the subjects, in the order of the question.

    They are read away from the first subject: what it owns ("X 's wife") and then what stands before it, from right to
    left; where it owns nothing, first what stands before it, then what follows.
    """
    text = spoken(question)
    taken = [False] * len(text)
    at: tuple[int, int] | None = None
    for name in sorted({spoken(each) for each in subjects}, key=lambda each: (-len(each), each)):
        for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            if not any(taken[match.start() : match.end()]):
                taken[match.start() : match.end()] = [True] * (match.end() - match.start())
                at = min(at, match.span()) if at else match.span()
    words = [each for each in _WORD.finditer(text) if not taken[each.start()]]
    before = [each for each in words if at and each.start() < at[0]][::-1]
    after = [each for each in words if not at or each.start() >= at[1]]
    owned = bool(at and _OF_IT.match(text, at[1]))
    order = [*after, *before] if owned else [*before, *after]
    turn = {each.start(): number if at else 0 for number, each in enumerate(order)}
    found = []
    for place, each in enumerate(words):
        apart = at is not None and each.start() >= at[1]  # words on both sides of a subject are not one span
        found.append(_Word(each[0].casefold(), place + apart, turn[each.start()]))
    return found
