"""Topic entities: the entities at which a walk over the knowledge graph begins.

A question says "kennedy" for John F. Kennedy, "uk" for the United Kingdom. An entity is a candidate if its name
occurs in the question, if rare words of its name do, or if its vector is near to that of some of the question's
words. Candidates are ranked by the weight in the question of the words that may name them, by the similarity of these
words to their name, by their degree, and by the similarity of their predicates to the question's other words.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.question.bounds import MOST_CLOSELY
from conspectus.query.question.linking import open_linker
from conspectus.query.question.question import open_question, span_vectors
from conspectus.query.types import Step
from conspectus.query.walk.graph import KnowledgeGraph, is_id, kept_postings, open_graph, predicate_vectors, spoken
from conspectus.storage.cancellation import check
from conspectus.storage.index import per_index
from conspectus.storage.name_tables import alias_rows
from conspectus.storage.text.names import NameMatcher, Word, word_keys, words
from conspectus.storage.text.postings import Postings, PostingsMaker
from conspectus.storage.text.words import FUNCTION_WORDS, PARTICLES, REQUESTS

_MOST_NAMES_OF_WORD = 300
"""A word that more names contain than this identifies none of them."""
_LEAST_SHARE = 0.4
"""Least share of a name, by the inverse document frequency of its words, that a question must contain."""
_LEAST_COSINE = 0.6
"""Least cosine of a name with question words."""
_NEAREST = 5
"""Number of entities looked up for each span of the question."""
_LONGEST_SPAN = 4
_UNRELATED = 0.25
"""The largest cosine of an unrelated word and predicate."""
_NO_CONTENT = FUNCTION_WORDS | PARTICLES | REQUESTS
_FUNCTION_WORD_WEIGHT = 0.1
_UNCAPITALISED_WEIGHT = 0.5
"""Weight of a lower-case word if the question has capitalised words."""
_AS_WRITTEN = 1.05
_ALL_WORDS = 0.9
"""Likeness of a name spelled like the question, and of a name whose words all occur in it."""
_DEGREE_WEIGHT = 0.2
"""Weight of the natural logarithm of an entity's number of triples."""
_PREDICATE_WEIGHT = 0.5
"""Weight of the share of the question's other words that are similar to predicates of an entity."""
_MOST_RANKED = 8
"""Number of candidates whose predicates are compared with the question."""
_LEAST_OF_BEST = 0.7
"""Least share of the best topic's score that a further topic must have."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The entities at which a walk begins, rows of the entity table, and the step that reports how they were found."""

    rows: tuple[int, ...]
    step: Step


def find_topics(
    context: Context, text: str, given: Sequence[str] | None = None, most: int = 3, step: str = "topics"
) -> Topics:
    """Return the topic entities of a question: the given ones, or those linked from its words.

    Args:
        context: The index.
        text: The question.
        given: Names of the things that the question is about; None to link them from the question. Names that no
            entity has are listed in the step.
        most: Most entities linked from the question.
        step: The name of the step that reports the result.
    """
    if given is None:
        rows = link_topics(context, text, most)
        names = ", ".join(spoken(open_graph(context).names[row]) for row in rows)
        return Topics(rows, Step(step, f"names of the graph in the question: {names or 'none'}"))
    rows, missing = rows_of(context, given)
    lacks = f"; the graph lacks {', '.join(missing)}" if missing else ""
    return Topics(rows, Step(step, f"given: {', '.join(given)}{lacks}"))


def rows_of(context: Context, names: Sequence[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the rows of the entities of these names, without duplicates, and the names that no entity has."""
    return open_linker(context.index).given(names)


def link_topics(context: Context, text: str, most: int = 3) -> tuple[int, ...]:
    """Return the rows of up to `most` entities that a question is about, the likeliest first.

    The score of an entity is the weight of the words that may name it, times their likeness to its name; it rises with
    the number of its triples and the similarity of their predicates to the question's other words. The best is a topic,
    as are others whose whole names occur elsewhere in the question and whose score is nearly as high.
    """
    graph = open_graph(context)
    degrees = graph.degrees()
    question = weighted_words(context, text)
    scores = {
        candidate: question.weight_of(candidate.places)
        * candidate.likeness
        * (1 + _DEGREE_WEIGHT * float(np.log1p(degrees[candidate.row])))
        for candidate in candidates(context, question)
        if degrees[candidate.row]
    }
    first = sorted(scores, key=lambda candidate: (-scores[candidate], candidate.row))[:_MOST_RANKED]
    shares = _predicate_shares(context, graph, question, first)
    ranked = sorted(
        (
            (scores[candidate] * (1 + _PREDICATE_WEIGHT * share), candidate)
            for candidate, share in zip(first, shares, strict=True)
        ),
        key=lambda pair: (-round(pair[0], 9), pair[1].row),
    )
    chosen: list[TopicCandidate] = []
    for score, candidate in ranked:
        apart = not any(candidate.places & other.places for other in chosen)
        if not chosen or (candidate.whole and apart and score >= _LEAST_OF_BEST * ranked[0][0]):
            chosen.append(candidate)
    return tuple(candidate.row for candidate in chosen[:most])


@dataclass(frozen=True, slots=True)
class TopicCandidate:
    """An entity that question words may name.

    Attributes:
        row: its row of the entity table.
        places: the positions of the words that would name it.
        likeness: how similar they are to its name, 0 to 1.05.
        whole: whether the words are its whole name.
    """

    row: int
    places: frozenset[int]
    likeness: float
    whole: bool


@dataclass(frozen=True, slots=True, eq=False)
class WeightedWords:
    """The words of a question with weights, lowered if a predicate has the same meaning.

    `text` is the question with spaces for underscores, `content` the positions of the content words.
    """

    text: str
    words: tuple[Word, ...]
    content: tuple[int, ...]
    weights: tuple[float, ...]

    def weight_of(self, places: Iterable[int]) -> float:
        """Return the sum of the weights of some words."""
        return sum(self.weights[place] for place in places)


def weighted_words(context: Context, question: str) -> WeightedWords:
    """Return the words of a question with their weights."""
    text = spoken(question)
    found = open_question(context, question).words[:MOST_CLOSELY]
    content = [place for place, word in enumerate(found) if word.key not in _NO_CONTENT]
    like_predicate = np.zeros(len(found))
    vectors = predicate_vectors(context)
    if content and len(vectors):
        nearest = (span_vectors(context)([found[place].key for place in content]) @ vectors.T).max(axis=1)
        like_predicate[content] = np.clip((nearest - _UNRELATED) / (1 - _UNRELATED), 0, 1)
    capitals = [text[word.start].isupper() or text[word.start].isdigit() for word in found]
    cased = any(capitals[1:])
    weights = [
        (1 - float(like_predicate[place])) * (_UNCAPITALISED_WEIGHT if cased and not capitals[place] else 1.0)
        if place in content
        else _FUNCTION_WORD_WEIGHT
        for place in range(len(found))
    ]
    return WeightedWords(text, found, tuple(content), tuple(weights))


def candidates(context: Context, question: WeightedWords) -> list[TopicCandidate]:
    """Return the entities that question words may name, each with its best words, in the order of their rows."""
    best: dict[int, TopicCandidate] = {}
    whole = _whole_names(context, question)
    several_words = [candidate.places for candidate in whole if len(candidate.places) > 1]
    near = _near_names(context, question, frozenset().union(*several_words))
    for candidate in (*whole, *_partial_names(context, question), *near):
        check()
        other = best.get(candidate.row)
        # "war" is not a name in "iraq war"
        part = any(candidate.places < places for places in several_words)
        score = question.weight_of(candidate.places) * candidate.likeness
        if not part and (other is None or score > question.weight_of(other.places) * other.likeness):
            best[candidate.row] = candidate
    return [best[row] for row in sorted(best)]


def _whole_names(context: Context, question: WeightedWords) -> list[TopicCandidate]:
    """Return the names that occur in the question; a name of function words only if it has capitals."""
    names = open_graph(context).names
    found = []
    for match in open_graph_names(context).matcher(question.words).find(question.text, question.words):
        surface = question.text[match.start : match.end]
        places = frozenset(
            place for place, word in enumerate(question.words) if word.start >= match.start and word.end <= match.end
        )
        lower = surface == surface.lower() and not any(sign.isdigit() for sign in surface)
        if places & set(question.content) or not lower:
            as_written = spoken(names[match.value]) == surface
            found.append(TopicCandidate(match.value, places, _AS_WRITTEN if as_written else 1.0, True))
    return found


def _partial_names(context: Context, question: WeightedWords) -> list[TopicCandidate]:
    """Return the entities of whose names the question contains a sufficient share."""
    places: dict[str, int] = {}
    for place in question.content:
        places.setdefault(question.words[place].key, place)
    found = []
    for row, (contained, share) in open_graph_names(context).shares(tuple(places)).items():
        if share >= _LEAST_SHARE:
            likeness = _ALL_WORDS if share >= 1 else 0.4 + 0.4 * share
            found.append(TopicCandidate(row, frozenset(places[key] for key in contained), likeness, False))
    return found


def _near_names(context: Context, question: WeightedWords, taken: frozenset[int]) -> list[TopicCandidate]:
    """Return the entities whose vectors are nearest to spans of the question, each with the span nearest to it.

    Words in `taken` are left out: those of multi-word names.
    """
    vectors = context.index.vectors("entities")
    content = frozenset(question.content)
    spans = [
        (start, end)
        for start in question.content
        for end in range(start, start + _LONGEST_SPAN)
        if end in content and taken.isdisjoint(range(start, end + 1))
    ]
    if not spans or not vectors.n_found:
        return []
    texts = [" ".join(word.key for word in question.words[start : end + 1]) for start, end in spans]
    cosines, rows = vectors.search(span_vectors(context)(texts), _NEAREST)
    names = open_graph(context).names
    found: dict[int, TopicCandidate] = {}
    for (start, end), span_cosines, span_rows in zip(spans, cosines.tolist(), rows.tolist(), strict=True):
        places = frozenset(place for place in question.content if start <= place <= end)
        for cosine, row in zip(span_cosines, span_rows, strict=True):
            likeness = min(1.0, cosine) ** 2
            better = row not in found or likeness > found[row].likeness
            if cosine >= _LEAST_COSINE and not is_id(names[row]) and better:
                found[row] = TopicCandidate(row, places, likeness, False)
    return list(found.values())


def _predicate_shares(
    context: Context, graph: KnowledgeGraph, question: WeightedWords, found: Sequence[TopicCandidate]
) -> list[float]:
    """Return for each candidate the similarity of its predicates to the question's other words, 0 to 1.

    The similarity is relative to that of all predicates of the graph.
    """
    if not found or not question.content:
        return [0.0] * len(found)
    keys = [question.words[place].key for place in question.content]
    near = np.clip(span_vectors(context)(keys) @ predicate_vectors(context).T - _UNRELATED, 0, None)
    most = near.max(axis=1)
    shares = []
    for candidate in found:
        edges = graph.edges_of([candidate.row])
        others = [at for at, place in enumerate(question.content) if place not in candidate.places]
        reached = near[others][:, np.unique(edges.predicate)].max(axis=1) if others else np.zeros(0)
        shares.append(float(reached.sum() / (most[others].sum() or 1.0)))
    return shares


class GraphNames:
    """The names of a graph's entities, indexed by all of their words and by each word."""

    def __init__(self, graph: KnowledgeGraph, aliases: Mapping[str, int], postings: Mapping[str, Postings]) -> None:
        self._words: dict[int, frozenset[str]] = {}
        self._whole, self._with = postings["whole"], postings["with"]
        self._graph = graph
        self._aliases: dict[str, list[tuple[str, int]]] = {}
        for alias, row in aliases.items():
            self._aliases.setdefault(_whole_key(words(spoken(alias))), []).append((spoken(alias), row))

    def matcher(self, found: Sequence[Word]) -> NameMatcher[int]:
        """Return a matcher of the names that consist of consecutive words of a text; its values are rows."""
        runs = ((first, last) for first in range(len(found)) for last in range(first + 1, first + 1 + _LONGEST_NAME))
        keys = {_whole_key(found[first:last]) for first, last in runs if last <= len(found)}
        names: dict[str, int] = {}
        for row in sorted(row for key in keys for row in self._whole.get(key)):
            names.setdefault(spoken(self._graph.names[row]), row)
        for alias, row in (pair for key in keys for pair in self._aliases.get(key, ())):
            names.setdefault(alias, row)
        return NameMatcher(names)

    def shares(self, keys: Sequence[str]) -> dict[int, tuple[frozenset[str], float]]:
        """Return by row the names that contain a rare one of some words: which words, and their share of the name."""
        wanted = frozenset(keys)
        found: dict[int, tuple[frozenset[str], float]] = {}
        rare = [key for key in wanted if self._with.count(key) <= _MOST_NAMES_OF_WORD]
        for row in {row for key in rare for row in self._with.get(key)}:
            check()
            own = self._words_of(row)
            contained = own & wanted
            found[row] = contained, sum(map(self._weight, contained)) / sum(map(self._weight, own))
        return found

    def _weight(self, key: str) -> float:
        return float(np.log1p(self._graph.n_entities / self._with.count(key)))

    def _words_of(self, row: int) -> frozenset[str]:
        if row not in self._words:
            own = {word.key for word in words(spoken(self._graph.names[row]))}
            self._words[row] = frozenset(own - FUNCTION_WORDS)
        return self._words[row]


def _whole_key(found: Sequence[Word]) -> str:
    return " ".join(word.key for word in found)


def _by_words(graph: KnowledgeGraph) -> dict[str, Postings]:
    """Return the rows of entities by the words of their whole names, and by each word except function words."""
    whole, with_word = PostingsMaker(), PostingsMaker()
    for row, name in enumerate(graph.names):
        if not is_id(name):
            keys = word_keys(spoken(name))
            if keys:
                whole.add(" ".join(keys), row)
            for key in set(keys) - FUNCTION_WORDS:
                with_word.add(key, row)
    return {"whole": whole.postings(), "with": with_word.postings()}


_LONGEST_NAME = 30
"""Most words of a name that is searched for."""
_FORM = 1
"""Version of the name files; raised when their content changes."""


@per_index
def open_graph_names(context: Context) -> GraphNames:
    """Return the index's entity names by their words; those of a large graph are mapped from files."""
    graph = open_graph(context)
    kept = kept_postings(context, "topics", _FORM, lambda: _by_words(graph), ("whole", "with"))
    return GraphNames(graph, alias_rows(context.index), kept)
