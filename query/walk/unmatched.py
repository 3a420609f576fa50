"""What of a question the steps of a walk have matched, and what is left of it, without a language model.

The question's words beside its topics are matched by predicates: a step takes one span of one to four words that no
earlier step took, by the cosine of the two, or their common stem. English is read away from the topic ("the job of X 's
wife": X, the wife, the job): to match a word before one that stands nearer costs something. A noun that could be many
predicates ("film", of which much can be said) names a kind of thing instead: it is matched where a step leads to things
of which those predicates are stated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from query.walk.beam import Floats
from query.walk.graph import spoken
from query.walk.span_vectors import Embed
from storage.text.names import words

Bools = npt.NDArray[np.bool_]

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
_ASKS = frozenset("what when where which who whom whose why how".split())
_PERSONS = frozenset("who whom whose person people".split())
FUNCTION_WORDS = _ASKS | frozenset(
    """a an and are as at be been being but by can could did do does for from had has have he her him his i if in into
    is it its me my no not of on or our she so such than that the their them then there these they this to too was we
    were will with would you your also both 's name names please tell list give""".split()
)
"""English words that hold a question together, or ask it."""
_KIND_OF = dict.fromkeys(("kind", "kinds", "sort", "sorts", "type", "types"), "genre")
"""What "what kind of film" asks for; the words themselves are near to everything."""
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
    single: npt.NDArray[np.int64]
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
    embed: Embed,
    vectors: npt.NDArray[np.float32],
    predicates: Sequence[str],
) -> Asked:
    """Return the question read beside its topics, given the unit vectors (p, d) and the words of all predicates."""
    text = tuple(word.key for word in words(spoken(question)))
    topic = _topic_words(text, topics)
    content = np.array([word not in FUNCTION_WORDS and not topic[place] for place, word in enumerate(text)], bool)
    asks = next((place for place, word in enumerate(text) if word in _ASKS and not topic[place]), -1)
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


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """What a path has matched: words taken, how well each word is explained (t,), and what was held against it."""

    taken: Bools
    explained: Floats
    held: float = 0.0

    def coverage(self, asked: Asked) -> float:
        """Return the share of the question's weight that is explained, 0 to 1."""
        return float((self.explained * asked.weight).sum()) / asked.total


def free_gains(asked: Asked, match: Match, out_of_turn: float) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Return for every predicate its best gain, what of that the order took away, and the span or -1, each (p,).

    The gain of a span is the share of the question's weight that its words have, times how it compares with the span's
    nearest predicate, less `out_of_turn` of the unmatched weight that stands before it.
    """
    free = ~(asked.spans & match.taken[None, :]).any(axis=1)
    n_predicates = asked.near.shape[1]
    if not free.any():
        return np.zeros(n_predicates), np.zeros(n_predicates), np.full(n_predicates, -1)
    rows = np.flatnonzero(free)
    spans = asked.spans[rows]
    worth = (spans @ asked.weight)[:, None] * asked.beside[rows] / asked.total
    left = asked.weight * (1 - match.explained) * ~match.taken
    first = np.where(spans[:, :, None], asked.before[None, :, :], True).all(axis=1) & ~spans
    skipped = out_of_turn * (first @ left) / asked.total
    gains = np.where(worth > 0, worth - skipped[:, None], -np.inf)
    best = gains.argmax(axis=0)
    columns = np.arange(n_predicates)
    found = gains[best, columns]
    held = np.where(np.isfinite(found), skipped[best], 0.0)
    return np.where(np.isfinite(found), found, 0.0), held, np.where(np.isfinite(found), rows[best], -1)


def taking(asked: Asked, match: Match, predicate: int, span: int, held: float, *, everywhere: bool) -> Match | None:
    """Return the match after a step along a predicate took a span; None where `everywhere` adds nothing.

    Words next to the span that mean the same predicate are taken with it ("the director who directed"), with
    `everywhere` all that do, but not beyond "of" and "'s", which begin another step.
    """
    taken, explained = match.taken.copy(), match.explained.copy()
    inside = np.flatnonzero(asked.spans[span])
    taken[inside] = True
    explained[inside] = np.maximum(explained[inside], asked.beside[span, predicate])
    same = [
        place
        for place in np.flatnonzero((asked.single >= 0) & ~taken).tolist()
        if asked.beside[asked.single[place], predicate] > 0.8 and not asked.apart[place, inside[0]]
    ]
    if everywhere:
        added = same
        if len(added) == len(_beside(asked, taken, inside, same)):
            return None
    else:
        added = _beside(asked, taken, inside, same)
    for place in added:
        taken[place] = True
        explained[place] = max(explained[place], float(asked.beside[asked.single[place], predicate]))
    return Match(taken, explained, match.held + held)


def _beside(asked: Asked, taken: Bools, inside: npt.NDArray[np.int64], same: Sequence[int]) -> list[int]:
    found: list[int] = []
    for start, step in ((int(inside[0]), -1), (int(inside[-1]), 1)):
        place = start + step
        while 0 <= place < len(asked.words) and not asked.topic[place]:
            if asked.content[place]:
                if place not in same:
                    break
                found.append(place)
            elif asked.words[place] not in _JOINS:
                break
            place += step
    return found


_JOINS = frozenset("also the both a an their its his her that".split())


def stem_share(first: str, second: str) -> float:
    """Return the share of the shorter word that both have as a stem, 0 where it is less than 0.55.

    A stem begins one of the words and stands in the other; one of three letters must begin both.

    >>> round(stem_share("screenwriter", "written"), 2), stem_share("acted", "directed")
    (0.57, 0.0)
    """
    shorter = min(len(first), len(second))
    if shorter < 3:
        return 0.0
    best = 0
    for one, other in ((first, second), (second, first)):
        length = 0
        while length < len(one) and one[: length + 1] in other:
            length += 1
        if length >= 4 or (length == 3 and other.startswith(one[:3])):
            best = max(best, length)
    share = best / shorter
    return share if share >= 0.55 else 0.0


@lru_cache(maxsize=200_000)
def _stem(word: str, predicate: str) -> float:
    return max((stem_share(word, each) for each in predicate.split()), default=0.0)


def _nearness(
    text: Sequence[str],
    spans: Sequence[tuple[int, ...]],
    embed: Embed,
    vectors: npt.NDArray[np.float32],
    predicates: Sequence[str],
) -> tuple[Floats, Floats]:
    if not spans or not predicates:
        return np.zeros((len(spans), len(predicates))), np.zeros((len(spans), len(predicates)))
    texts = [" ".join(_KIND_OF.get(word, word) for word in text[span[0] : span[-1] + 1]) for span in spans]
    said = np.asarray(embed(texts) @ vectors.T, np.float64)
    for number, span in enumerate(spans):
        if len(span) == 1:
            stems = np.array([_stem(text[span[0]], each) for each in predicates])
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
        bag = {word.rstrip("s") for word in wanted if word not in FUNCTION_WORDS}
        found |= np.array([word.rstrip("s") in bag and word not in FUNCTION_WORDS for word in text], bool)
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
