"""A question beside its topics: which spans of it may be matched by which predicates, in what order, and what it asks.

The question's words beside its topics are matched by predicates: a step takes one span of one to four words that no
earlier step took, by the cosine of the two, or their common stem. English is read away from the topic ("the job of X 's
wife": X, the wife, the job): to match a word before one that stands nearer costs something. A noun that could be many
predicates ("film", of which much can be said) names a kind of thing instead: it is matched where a step leads to things
of which those predicates are stated.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.query.question.question import EmbedSpans
from conspectus.query.walk.graph import spoken
from conspectus.storage.arrays import Bools, Floats, Ints, Vectors
from conspectus.storage.text.names import words
from conspectus.storage.text.words import ASKING, FUNCTION_WORDS, REQUESTS, stem_in

LEAST = 0.25
"""A cosine up to which a span and a predicate have nothing to do with each other."""
_SHARP = 0.15
"""How fast a predicate loses against the one that is nearest to a span: e^(-difference / 0.15)."""
_SOFT = 0.1
"""The same for how sure it is which predicate a word means: a softmax of this temperature."""
_STEM = 0.5
"""What of the distance to 1 a common stem takes away, times its share of the shorter word."""
_CLEAR = 0.6
"""A word that means one predicate with this probability is no name of a kind of thing."""
_LONGEST = 4
_PERSONS = frozenset("who whom whose person people".split())
_SAYS_NOTHING = FUNCTION_WORDS | REQUESTS
_KIND_OF = dict.fromkeys(("kind", "kinds", "sort", "sorts", "type", "types"), "category")
"""What "what kind of" asks for: the words themselves are near to much else ("kind" to friendly, "type" to writing)."""
_BETWEEN = frozenset("is are was were be the a an name names of".split())


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question beside its topics: t words, s spans of them, p predicates.

    `near` float64 (s, p) is how near spans are to predicates, -1 where the span says no more than its parts;
    `beside` (s, p) the same relative to the nearest predicate, in [0, 1]. `spans` bool (s, t), `single[word]` the span
    that is that word alone, -1 for none. `weight` (t,) is how much each word asks for a predicate. `before` bool
    (t, t): whether word j should be matched before word i. `apart` bool (t, t): "of" or "'s" stands between two words.
    `means` (t, p) is the probability that a word means a predicate.
    """

    words: tuple[str, ...]
    topic: Bools
    content: Bools
    spans: Bools
    single: Ints
    near: Floats
    beside: Floats
    weight: Floats
    before: Bools
    apart: Bools
    means: Floats
    head: int
    wants: str

    @property
    def total(self) -> float:
        """The weight of all words."""
        return float(self.weight.sum()) or 1.0

    def is_kind(self, word: int) -> bool:
        """Tell whether a word could be many predicates, and so rather names a kind of thing."""
        return float(self.means[word].max()) <= _CLEAR

    def left(self, taken: Bools) -> str:
        """Return the words that no step has matched."""
        return " ".join(word for place, word in enumerate(self.words) if self.content[place] and not taken[place])


def read(
    question: str,
    topics: Sequence[str],
    embed: EmbedSpans,
    vectors: Vectors,
    predicates: Sequence[str],
) -> Asked:
    """Return the question read beside its topics, given the unit vectors (p, d) and the words of all predicates."""
    text = tuple(word.key for word in words(spoken(question)))
    topic = _topic_words(text, topics)
    content = np.array([word not in _SAYS_NOTHING and not topic[place] for place, word in enumerate(text)], bool)
    asks = next((place for place, word in enumerate(text) if word in ASKING and not topic[place]), -1)
    spans = _spans(text, topic, content)
    near, said = _nearness(text, spans, embed, vectors, predicates)
    reached = np.clip((near - LEAST) / (1 - LEAST), 0, None)
    most = near.max(axis=1, keepdims=True, initial=-1.0)
    beside = np.where(near > LEAST, np.exp((near - most) / _SHARP), 0.0)
    members = np.zeros((len(spans), len(text)), bool)
    single = np.full(len(text), -1)
    for number, span in enumerate(spans):
        members[number, list(span)] = True
        if len(span) == 1:
            single[span[0]] = number
    best = reached.max(axis=1, initial=0.0)
    weight = (members * best[:, None]).max(axis=0, initial=0.0)
    means = np.zeros((len(text), len(predicates)))
    for place in np.flatnonzero(single >= 0):
        shares = np.exp((said[single[place]] - said[single[place]].max(initial=0.0)) / _SOFT)
        means[place] = shares / (shares.sum() or 1.0)
    head = _head(text, content, asks)
    return Asked(
        text, topic, content, members, single, near, beside, weight, _before(text, topic, content, asks),
        _apart(text, topic), means, head, _wants(text, asks, head),
    )  # fmt: skip


def _nearness(
    text: Sequence[str],
    spans: Sequence[tuple[int, ...]],
    embed: EmbedSpans,
    vectors: Vectors,
    predicates: Sequence[str],
) -> tuple[Floats, Floats]:
    if not spans or not predicates:
        return np.zeros((len(spans), len(predicates))), np.zeros((len(spans), len(predicates)))
    texts = [" ".join(_KIND_OF.get(word, word) for word in text[span[0] : span[-1] + 1]) for span in spans]
    said = np.asarray(embed(texts) @ vectors.T, np.float64)
    for number, span in enumerate(spans):
        if len(span) == 1:
            stems = np.array([stem_in(text[span[0]], each) for each in predicates])
            said[number] += _STEM * stems * (1 - said[number]) * (said[number] > 0.3)
    near = said.copy()
    for number, span in enumerate(spans):
        parts = [place for place, other in enumerate(spans) if set(other) < set(span)]
        if parts:
            most = said[parts].max(axis=0)
            near[number][near[number] < most] = -1.0
            if said[number].max() < most.max():
                near[number] = -1.0
    return near, said


def _topic_words(text: Sequence[str], topics: Sequence[str]) -> Bools:
    found = np.zeros(len(text), bool)
    for name in topics:
        wanted = [word.key for word in words(spoken(name))]
        places = [at for at in range(len(text) - len(wanted) + 1) if list(text[at : at + len(wanted)]) == wanted]
        if places and wanted:
            found[places[0] : places[0] + len(wanted)] = True
            continue
        bag = {word.rstrip("s") for word in wanted if word not in _SAYS_NOTHING}
        found |= np.array([word.rstrip("s") in bag and word not in _SAYS_NOTHING for word in text], bool)
    return found


def _spans(text: Sequence[str], topic: Bools, content: Bools) -> list[tuple[int, ...]]:
    found = []
    for start in np.flatnonzero(content).tolist():
        for end in range(start, min(len(text), start + _LONGEST)):
            if topic[end] or text[end] == "'s":
                break
            if content[end]:
                found.append(tuple(place for place in range(start, end + 1) if content[place]))
    return found


def _before(text: Sequence[str], topic: Bools, content: Bools, asks: int) -> Bools:
    """Return which word (second) should be matched before which (first): those nearer to the topic on the same side.

    Where the topic owns something ("X 's wife"), that side comes first; else the side that does not ask, if one does.
    """
    count = len(text)
    places = np.flatnonzero(topic)
    low, high = (int(places[0]), int(places[-1])) if len(places) else (count, count)
    owns = high + 1 < count and text[high + 1] == "'s"
    order = np.zeros((count, count), bool)
    for one in np.flatnonzero(content).tolist():
        for other in np.flatnonzero(content).tolist():
            left, also_left = one < low, other < low
            inside = low <= one <= high or low <= other <= high
            if inside:
                order[one, other] = not (low <= one <= high) and low <= other <= high
            elif left == also_left:
                order[one, other] = other > one if left else other < one
            elif owns:
                order[one, other] = left
            elif asks > high:
                order[one, other] = not left
    return order


def _apart(text: Sequence[str], topic: Bools) -> Bools:
    opens = [
        (word == "'s" and not topic[at]) or (word == "of" and not (at + 1 < len(text) and topic[at + 1]))
        for at, word in enumerate(text)
    ]
    steps = np.cumsum(np.array(opens, np.int64)) if text else np.zeros(0, np.int64)
    return np.asarray(steps[:, None] != steps[None, :])


def _head(text: Sequence[str], content: Bools, asks: int) -> int:
    """Return the noun that says what is asked for ("which films", "what are the genres"), -1 where none does."""
    if asks < 0 or text[asks] not in ("what", "which"):
        return -1
    at = asks + 1
    while at < len(text) and text[at] in _BETWEEN:
        at += 1
    if at >= len(text) or not content[at]:
        return -1
    if at > asks + 1:  # what are the release years: the last of several nouns
        while at + 1 < len(text) and content[at + 1] and text[at + 1].endswith("s"):
            at += 1
    return at


def _wants(text: Sequence[str], asks: int, head: int) -> str:
    word = text[head] if head >= 0 else text[asks] if asks >= 0 else ""
    if word in _PERSONS:
        return "person"
    return {"where": "place", "when": "date"}.get(word, "")
