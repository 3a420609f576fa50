"""Names of a graph's entities that a question may mean: written out, in part, or by another name.

A question says "kennedy" for John F. Kennedy, "uk" for the United Kingdom. Three things tell of such a name: it stands
in the question; rare words of it do; its vector is near to that of some of the question's words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.tog.span_vectors import span_vectors
from conspectus.query.question.aliases import alias_rows
from conspectus.query.walk.graph import KnowledgeGraph, open_graph, predicate_vectors, spoken
from conspectus.query.walk.ids import is_id
from conspectus.storage.index import per_index
from conspectus.storage.text.names import NameMatch, NameMatcher, Word, words
from conspectus.storage.text.words import FUNCTION_WORDS, PARTICLES, REQUESTS

_RARE = 300
"""A word that so many names hold tells of none of them."""
_IN_PART = 0.4
"""Least share of a name, by how telling its words are, that a question must hold."""
_NEAR = 0.6
"""Least cosine of a name with words of a question."""
_NEAREST = 5
_LONGEST = 4
_UNRELATED = 0.25
"""A cosine up to which a word and a predicate have nothing to do with each other."""
_NAMES_NOTHING = FUNCTION_WORDS | PARTICLES | REQUESTS
_SMALL = 0.1
"""What a function word of a name counts."""
_UNCAPITALISED = 0.5
"""What a word without a capital counts where the question has words with one."""
_AS_WRITTEN = 1.05
_WHOLE_WORDS = 0.9


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity, the places of the words that would name it, and how like its name they are, 0 to 1.05.

    `whole` tells that the words are its name.
    """

    row: int
    places: frozenset[int]
    likeness: float
    whole: bool


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """A question's words, and how much each says of what it is about: less where a predicate says the same."""

    text: str
    words: tuple[Word, ...]
    content: tuple[int, ...]
    weight: tuple[float, ...]

    def of(self, places: Iterable[int]) -> float:
        """Return the weight of some words."""
        return sum(self.weight[place] for place in places)


class NamesInPart:
    """The names of a graph by their rarer words."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._keys: dict[int, frozenset[str]] = {}
        holding: dict[str, list[int]] = {}
        for row, name in enumerate(graph.names):
            if not is_id(name):
                for key in {word.key for word in words(spoken(name))} - FUNCTION_WORDS:
                    holding.setdefault(key, []).append(row)
        self._telling = {key: float(np.log1p(graph.n_entities / len(rows))) for key, rows in holding.items()}
        self._holding = {key: rows for key, rows in holding.items() if len(rows) <= _RARE}
        self._graph = graph

    def shares(self, keys: Sequence[str]) -> dict[int, tuple[frozenset[str], float]]:
        """Return for each name that holds a rare one of these words which of them it holds, and their share of it."""
        asked = frozenset(keys)
        found: dict[int, tuple[frozenset[str], float]] = {}
        for row in {row for key in asked for row in self._holding.get(key, ())}:
            own = self._own(row)
            held = own & asked
            found[row] = held, sum(map(self._telling.__getitem__, held)) / sum(map(self._telling.__getitem__, own))
        return found

    def _own(self, row: int) -> frozenset[str]:
        if row not in self._keys:
            own = {word.key for word in words(spoken(self._graph.names[row]))}
            self._keys[row] = frozenset(own - FUNCTION_WORDS)
        return self._keys[row]


@per_index
def open_names_in_part(context: Context) -> NamesInPart:
    """Return the names of the index's graph by their words, made on first use."""
    return NamesInPart(open_graph(context))


def matches_of(context: Context, question: str) -> list[NameMatch[int]]:
    """Return the longest names of entities in a text, in its order; the value of each match is an entity's row."""
    return _matcher(context).find(spoken(question))


@per_index
def _matcher(context: Context) -> NameMatcher[int]:
    names: dict[str, int] = {}
    for row, name in enumerate(open_graph(context).names):
        if not is_id(name):
            names.setdefault(spoken(name), row)
    for alias, row in alias_rows(context).items():
        names.setdefault(spoken(alias), row)
    return NameMatcher(names)


def told_by(context: Context, question: str) -> Told:
    """Return the words of a question with their weights."""
    text = spoken(question)
    found = tuple(words(text))
    content = [place for place, word in enumerate(found) if word.key not in _NAMES_NOTHING]
    asked = np.zeros(len(found))
    vectors = predicate_vectors(context)
    if content and len(vectors):
        nearest = (span_vectors(context)([found[place].key for place in content]) @ vectors.T).max(axis=1)
        asked[content] = np.clip((nearest - _UNRELATED) / (1 - _UNRELATED), 0, 1)
    capitals = [text[word.start].isupper() or text[word.start].isdigit() for word in found]
    cased = any(capitals[1:])
    weight = [
        (1 - float(asked[place])) * (_UNCAPITALISED if cased and not capitals[place] else 1.0)
        if place in content
        else _SMALL
        for place in range(len(found))
    ]
    return Told(text, found, tuple(content), tuple(weight))


def candidates(context: Context, told: Told) -> list[Candidate]:
    """Return the entities that words of a question may name, each by its best words, in the order of their rows."""
    best: dict[int, Candidate] = {}
    whole = _whole(context, told)
    several = [each.places for each in whole if len(each.places) > 1]
    near = _near(context, told, frozenset().union(*several))
    for each in (*whole, *_in_part(context, told), *near):
        held = best.get(each.row)
        part = any(each.places < places for places in several)  # "war" names nothing in "iraq war"
        if not part and (held is None or told.of(each.places) * each.likeness > told.of(held.places) * held.likeness):
            best[each.row] = each
    return [best[row] for row in sorted(best)]


def _whole(context: Context, told: Told) -> list[Candidate]:
    """Return the names that stand in the question; one of function words alone only where it has capitals."""
    names = open_graph(context).names
    found = []
    for match in matches_of(context, told.text):
        surface = told.text[match.start : match.end]
        places = frozenset(
            place for place, word in enumerate(told.words) if word.start >= match.start and word.end <= match.end
        )
        lower = surface == surface.lower() and not any(sign.isdigit() for sign in surface)
        if places & set(told.content) or not lower:
            as_written = spoken(names[match.value]) == surface
            found.append(Candidate(match.value, places, _AS_WRITTEN if as_written else 1.0, True))
    return found


def _in_part(context: Context, told: Told) -> list[Candidate]:
    places: dict[str, int] = {}
    for place in told.content:
        places.setdefault(told.words[place].key, place)
    found = []
    for row, (held, share) in open_names_in_part(context).shares(tuple(places)).items():
        if share >= _IN_PART:
            likeness = _WHOLE_WORDS if share >= 1 else 0.4 + 0.4 * share
            found.append(Candidate(row, frozenset(places[key] for key in held), likeness, False))
    return found


def _near(context: Context, told: Told, taken: frozenset[int]) -> list[Candidate]:
    """Return the entities whose vectors are nearest to spans of the question, each with the span nearest to it.

    Words in `taken` are left out: those of names of several words.
    """
    vectors = context.index.vectors("entities")
    spans = [
        (start, end)
        for start in told.content
        for end in told.content
        if start <= end < start + _LONGEST and not taken & set(range(start, end + 1))
    ]
    if not spans or not vectors.n_found:
        return []
    texts = [" ".join(word.key for word in told.words[start : end + 1]) for start, end in spans]
    cosines, rows = vectors.search(span_vectors(context)(texts), _NEAREST)
    names = open_graph(context).names
    found: dict[int, Candidate] = {}
    for (start, end), near, those in zip(spans, cosines.tolist(), rows.tolist(), strict=True):
        places = frozenset(place for place in told.content if start <= place <= end)
        for cosine, row in zip(near, those, strict=True):
            likeness = min(1.0, cosine) ** 2
            if cosine >= _NEAR and not is_id(names[row]) and (row not in found or likeness > found[row].likeness):
                found[row] = Candidate(row, places, likeness, False)
    return list(found.values())
