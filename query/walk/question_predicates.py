"""Matching of relations with the words of a question without a model: which words, in what order, and the target.

Each step along a predicate matches one span of one to four words of the question, outside the topics, that no earlier
step matched. The match is scored by cosine or a common stem, relative to the best predicate for the span. English is
read away from the topic ("the job of X 's wife": X, the wife, the job), so matching a word before one nearer to the
topic has a cost. A noun that could mean many predicates ("film") names a type of entity instead.

docs/graphs.md lists the questions on which the constants were chosen, and the effect of halving and doubling them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.question.question import EmbedSpans, span_vectors
from conspectus.query.walk.graph import open_graph, predicate_vectors, predicate_words, spoken
from conspectus.storage.arrays import Bools, Floats, Ints, Vectors
from conspectus.storage.index import per_index
from conspectus.storage.text.names import words
from conspectus.storage.text.words import ASKING, FUNCTION_WORDS, REQUESTS, stem_in

_UNRELATED = 0.25
"""A span and a predicate with a cosine up to this are unrelated."""
_SHARPNESS = 0.15
"""Relative similarity is e^(-difference / 0.15), with the difference in cosine from the predicate nearest to the
span."""
_TEMPERATURE = 0.1
"""Temperature of the softmax for the probability that a word means a predicate."""
_STEM = 0.5
"""A common stem closes this share of the distance to cosine 1, times its share of the shorter word."""
_STEM_COSINE = 0.3
"""A common stem counts only above this cosine: "state" and "stated" share one by chance."""
_CLEAR = 0.6
"""A word that means one predicate with more than this probability does not name a type of entity."""
_SAME = 0.8
"""A word with this relative similarity to a predicate repeats the span that matched it."""
_LONGEST = 4
"""Maximum words of a span; longer predicates match a part of them."""
_OUT_OF_ORDER = 0.5
"""Cost of matching words out of order, per unit weight of the words that come first."""
_WEAK = 0.3
"""Cost of matching a word that fits another predicate better, as a share of the cost of an unmatched step."""

_PERSONS = frozenset("who whom whose person people".split())
_EMPTY_WORDS = FUNCTION_WORDS | REQUESTS
_KIND_OF = dict.fromkeys(("kind", "kinds", "sort", "sorts", "type", "types"), "category")
"""The predicate meant by "what kind of"; the words themselves are near other predicates ("kind" to friendly)."""
_BEFORE_HEAD = frozenset("is are was were be the a an name names of".split())
_JOINING = frozenset("also the both a an their its his her that".split())


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """The part of a question that a path has matched.

    Attributes:
        used: bool (t,), the matched words.
        explained: float64 (t,), how well each word is matched, 0 to 1.
        cost: The costs so far.
    """

    used: Bools
    explained: Floats
    cost: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class QuestionPredicates:
    """A question with t words, s spans of them, and a graph with p predicates.

    Attributes:
        words: The words of the question.
        topic: bool (t,), words that name a topic.
        content: bool (t,), words outside the topics that are no function words.
        spans: bool (s, t), the content words of each span.
        single: int64 (t,), the span that consists of this word, -1 for none.
        similarity: float64 (s, p), cosine of span and predicate; -1 if a part of the span is more similar.
        relative: float64 (s, p), similarity relative to the nearest predicate, 0 to 1.
        weight: float64 (t,), how strongly each word refers to a predicate.
        first: bool (s, t), the words to be matched before each span.
        apart: bool (t, t), whether "of" or "'s" is between two words.
        meaning: float64 (t, p), probability that a word means a predicate.
        head: Position of the noun that names the type of the answer ("which films"), -1 for none.
        asks_for: "person", "place", "date" or "".
    """

    words: tuple[str, ...]
    topic: Bools
    content: Bools
    spans: Bools
    single: Ints
    similarity: Floats
    relative: Floats
    weight: Floats
    first: Bools
    apart: Bools
    meaning: Floats
    head: int
    asks_for: str

    @property
    def total(self) -> float:
        """The weight of all words."""
        return float(self.weight.sum()) or 1.0

    def share(self, coverage: Coverage) -> float:
        """Return the share of the question's weight that is explained, 0 to 1."""
        return float((coverage.explained * self.weight).sum()) / self.total

    def unmatched(self, coverage: Coverage) -> str:
        """Return the words that no step has matched."""
        return " ".join(
            word for place, word in enumerate(self.words) if self.content[place] and not coverage.used[place]
        )

    def names_kind(self, word: int) -> bool:
        """Return whether a word could mean many predicates, and so names a type of entity."""
        return float(self.meaning[word].max(initial=0.0)) <= _CLEAR

    def nothing_matched(self) -> Coverage:
        """Return the coverage of a path without steps."""
        return Coverage(np.zeros(len(self.words), bool), np.zeros(len(self.words)))

    def after_step(
        self, coverage: Coverage, predicates: Sequence[int], unmatched_costs: Sequence[float]
    ) -> list[list[Coverage]]:
        """Return the possible coverages after a step, one or two for each predicate.

        Args:
            coverage: The coverage of the path so far.
            predicates: Predicate numbers.
            unmatched_costs: For each predicate, the cost of a step that matches no word. A step matches nothing if its
                best match would cost more.
        """
        gains, skipped, spans = self._best_spans(coverage)
        found = []
        for predicate, unmatched in zip(predicates, unmatched_costs, strict=True):
            span = int(spans[predicate])
            if span < 0 or gains[predicate] <= -unmatched:
                found.append([Coverage(coverage.used, coverage.explained, coverage.cost + unmatched)])
                continue
            weak = _WEAK * unmatched * (1 - float(self.relative[span, predicate]))
            cost = coverage.cost + weak + float(skipped[predicate])
            found.append(self._use(coverage, predicate, span, cost))
        return found

    def _best_spans(self, coverage: Coverage) -> tuple[Floats, Floats, Ints]:
        """Return for every predicate its best gain, the part of it that is order cost, and its span (-1: none), each
        (p,).

        The gain of a span is its words' share of the question's weight, times its relative similarity, minus the cost
        of the unmatched words that come before it.
        """
        n_predicates = self.similarity.shape[1]
        free = np.flatnonzero(~(self.spans & coverage.used[None, :]).any(axis=1))
        if not len(free):
            return np.zeros(n_predicates), np.zeros(n_predicates), np.full(n_predicates, -1)
        value = (self.spans[free] @ self.weight)[:, None] * self.relative[free] / self.total
        left = self.weight * (1 - coverage.explained) * ~coverage.used
        skipped = _OUT_OF_ORDER * (self.first[free] @ left) / self.total
        gains = np.where(value > 0, value - skipped[:, None], -np.inf)
        best = gains.argmax(axis=0)
        gain = gains[best, np.arange(n_predicates)]
        matches = np.isfinite(gain)
        return np.where(matches, gain, 0.0), np.where(matches, skipped[best], 0.0), np.where(matches, free[best], -1)

    def _use(self, coverage: Coverage, predicate: int, span: int, cost: float) -> list[Coverage]:
        """Return the coverages after a span was matched.

        Words that repeat its meaning are matched with it, but not beyond "of" and "'s", which begin another step: in
        the first coverage only adjacent ones ("the director who directed"), in the second all of them.
        """
        inside = np.flatnonzero(self.spans[span])
        same = [
            place
            for place in np.flatnonzero((self.single >= 0) & ~coverage.used & ~self.spans[span]).tolist()
            if self.relative[self.single[place], predicate] > _SAME and not self.apart[place, inside[0]]
        ]
        adjacent = self._adjacent(inside, same)
        variants = [adjacent] if len(adjacent) == len(same) else [adjacent, same]
        found = []
        for more in variants:
            used, explained = coverage.used.copy(), coverage.explained.copy()
            used[inside] = used[more] = True
            explained[inside] = np.maximum(explained[inside], self.relative[span, predicate])
            explained[more] = np.maximum(explained[more], self.relative[self.single[more], predicate])
            found.append(Coverage(used, explained, cost))
        return found

    def _adjacent(self, inside: Ints, same: Sequence[int]) -> list[int]:
        found: list[int] = []
        for start, step in ((int(inside[0]), -1), (int(inside[-1]), 1)):
            place = start + step
            while 0 <= place < len(self.words) and not self.topic[place]:
                if place in same:
                    found.append(place)
                elif self.content[place] or self.words[place] not in _JOINING:
                    break
                place += step
        return found


@per_index
def _predicate_words(context: Context) -> tuple[str, ...]:
    return tuple(map(predicate_words, open_graph(context).predicates))


def read_question(context: Context, question: str, topics: Sequence[int]) -> QuestionPredicates:
    """Return the match of a question with the predicates of the index's graph; `topics` are entity rows."""
    graph = open_graph(context)
    names = [graph.names[row] for row in topics]
    return match_predicates(
        question, names, span_vectors(context), predicate_vectors(context), _predicate_words(context)
    )


def match_predicates(
    question: str, topics: Sequence[str], embed: EmbedSpans, vectors: Vectors, predicates: Sequence[str]
) -> QuestionPredicates:
    """Return the match of a question with predicates.

    Args:
        question: The question.
        topics: Names of its topics; for one that is not in the question, words in common count.
        embed: Returns the vectors of spans.
        vectors: float32 (p, d), unit vectors of the predicates.
        predicates: Their words.
    """
    text = tuple(word.key for word in words(spoken(question)))
    topic = _topic_words(text, topics)
    content = np.array([word not in _EMPTY_WORDS and not topic[place] for place, word in enumerate(text)], bool)
    asks = next((place for place, word in enumerate(text) if word in ASKING and not topic[place]), -1)
    places = _spans(text, topic, content)
    spans = np.zeros((len(places), len(text)), bool)
    single = np.full(len(text), -1)
    for number, span in enumerate(places):
        spans[number, list(span)] = True
        if len(span) == 1:
            single[span[0]] = number
    cosines = _cosines(text, places, embed, vectors, predicates)
    similarity = _beyond_parts(places, cosines)
    nearest = similarity.max(axis=1, keepdims=True, initial=-1.0)
    relative = np.where(similarity > _UNRELATED, np.exp((similarity - nearest) / _SHARPNESS), 0.0)
    related = np.clip((nearest[:, 0] - _UNRELATED) / (1 - _UNRELATED), 0, None)
    weight = (spans * related[:, None]).max(axis=0, initial=0.0)
    meaning = np.zeros((len(text), len(predicates)))
    for place in np.flatnonzero(single >= 0):
        shares = np.exp((cosines[single[place]] - cosines[single[place]].max(initial=0.0)) / _TEMPERATURE)
        meaning[place] = shares / (shares.sum() or 1.0)
    before = _reading_order(text, topic, content, asks)
    first = np.where(spans[:, :, None], before[None, :, :], True).all(axis=1) & ~spans
    head = _head(text, content, asks)
    return QuestionPredicates(
        text, topic, content, spans, single, similarity, relative, weight, first, _apart(text, topic), meaning, head,
        _asks_for(text, asks, head),
    )  # fmt: skip


def _topic_words(text: Sequence[str], topics: Sequence[str]) -> Bools:
    found = np.zeros(len(text), bool)
    for name in topics:
        wanted = [word.key for word in words(spoken(name))]
        places = [at for at in range(len(text) - len(wanted) + 1) if list(text[at : at + len(wanted)]) == wanted]
        if places and wanted:
            found[places[0] : places[0] + len(wanted)] = True
            continue
        stems = {word.rstrip("s") for word in wanted if word not in _EMPTY_WORDS}
        found |= np.array([word.rstrip("s") in stems and word not in _EMPTY_WORDS for word in text], bool)
    return found


def _spans(text: Sequence[str], topic: Bools, content: Bools) -> list[tuple[int, ...]]:
    """Return the content words of spans that begin and end with one, and cross neither a topic nor "'s"."""
    found = []
    for start in np.flatnonzero(content).tolist():
        for end in range(start, min(len(text), start + _LONGEST)):
            if topic[end] or text[end] == "'s":
                break
            if content[end]:
                found.append(tuple(place for place in range(start, end + 1) if content[place]))
    return found


def _cosines(
    text: Sequence[str],
    spans: Sequence[tuple[int, ...]],
    embed: EmbedSpans,
    vectors: Vectors,
    predicates: Sequence[str],
) -> Floats:
    """Return the cosine of every span with every predicate (s, p); a common stem raises that of single words."""
    if not spans or not predicates:
        return np.zeros((len(spans), len(predicates)))
    texts = [" ".join(_KIND_OF.get(word, word) for word in text[span[0] : span[-1] + 1]) for span in spans]
    cosines = np.asarray(embed(texts) @ vectors.T, np.float64)
    for number, span in enumerate(spans):
        if len(span) == 1:
            stems = np.array([stem_in(text[span[0]], predicate) for predicate in predicates])
            cosines[number] += _STEM * stems * (1 - cosines[number]) * (cosines[number] > _STEM_COSINE)
    return cosines


def _beyond_parts(spans: Sequence[tuple[int, ...]], cosines: Floats) -> Floats:
    """Return the cosines, with -1 for spans of which a part is more similar to this predicate, or to any."""
    found = cosines.copy()
    for number, span in enumerate(spans):
        parts = [place for place, other in enumerate(spans) if set(other) < set(span)]
        if parts:
            nearest = cosines[parts].max(axis=0)
            found[number][cosines[number] < nearest] = -1.0
            if cosines[number].max(initial=0.0) < nearest.max(initial=0.0):
                found[number] = -1.0
    return found


def _reading_order(text: Sequence[str], topic: Bools, content: Bools, asks: int) -> Bools:
    """Return bool (t, t): the words (second axis) to be matched before a word: those nearer to the topic on its side.

    If the topic owns something ("X 's wife"), that side comes first, else the side without the question word.
    """
    count = len(text)
    places = np.flatnonzero(topic)
    low, high = (int(places[0]), int(places[-1])) if len(places) else (count, count)
    owns = high + 1 < count and text[high + 1] == "'s"
    before = np.zeros((count, count), bool)
    for one in np.flatnonzero(content).tolist():
        for other in np.flatnonzero(content).tolist():
            left, other_left = one < low, other < low
            if low <= one <= high or low <= other <= high:  # between two topics
                before[one, other] = not low <= one <= high
            elif left == other_left:
                before[one, other] = other > one if left else other < one
            elif owns:
                before[one, other] = left
            elif asks > high:
                before[one, other] = not left
    return before


def _apart(text: Sequence[str], topic: Bools) -> Bools:
    """Return bool (t, t): whether "'s", or an "of" that is not followed by a topic, is between two words."""
    opens = [
        (word == "'s" and not topic[at]) or (word == "of" and not (at + 1 < len(text) and topic[at + 1]))
        for at, word in enumerate(text)
    ]
    steps = np.cumsum(np.array(opens, np.int64)) if text else np.zeros(0, np.int64)
    return np.asarray(steps[:, None] != steps[None, :])


def _head(text: Sequence[str], content: Bools, asks: int) -> int:
    """Return the position of the noun that names the type of the answer ("which films"), -1 for none."""
    if asks < 0 or text[asks] not in ("what", "which"):
        return -1
    at = asks + 1
    while at < len(text) and text[at] in _BEFORE_HEAD:
        at += 1
    if at >= len(text) or not content[at]:
        return -1
    if at > asks + 1:  # what are the release years: the last of several nouns
        while at + 1 < len(text) and content[at + 1] and text[at + 1].endswith("s"):
            at += 1
    return at


def _asks_for(text: Sequence[str], asks: int, head: int) -> str:
    word = text[head] if head >= 0 else text[asks] if asks >= 0 else ""
    if word in _PERSONS:
        return "person"
    return {"where": "place", "when": "date"}.get(word, "")
