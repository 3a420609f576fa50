"""When to decline a question to a graph: a content word matches no relation, or a name is not in the graph."""

from typing import TYPE_CHECKING

import numpy as np
from conspectus.query.graph_question.confidence import like_a_name
from conspectus.query.graph_question.lexicon import stem_of
from conspectus.query.graph_question.meanings import Predicates
from conspectus.query.walk.graph import spoken
from conspectus.storage.text.names import words

if TYPE_CHECKING:
    from conspectus.query.graph_question.reader import GraphReading

_UNMET = 0.5
"""A word explained less than this is reported as unmatched."""
_SAYS = 0.8
"""Nearness from which a word says a relation: where a thing lacks just that one, the graph knows what is asked."""


def why_declined(predicates: Predicates, reading: "GraphReading") -> str:
    """Return why a question is declined (the unmatched words and the nearest relation), or "" if it is not."""
    best = reading.best
    asked = reading.asked
    if best is None and reading.mentions:
        taken = frozenset(place for mention in reading.mentions for place in mention.places)
        open_words = [asked.surface(asked.order.place)] if asked.order else []
        open_words += [asked.surface(place) for place in _content(reading, taken)]
        said_words = ", ".join(map(repr, open_words))
        if not said_words:
            graph = reading.scoring.graph
            joined = " and ".join(spoken(graph.names[mention.rows[0]]) for mention in reading.mentions)
            return f"no statement of the graph joins {joined} as the question does"
        return f"no relation of the graph expresses {said_words} of what the question names"
    if best is None:
        content = _content(reading, frozenset())
        unknown = [place for place in content if asked.stems[place] not in predicates.known]
        missing = [asked.surface(place) for place in unknown or content]
        return f"the graph has nothing called {' '.join(missing)!r}" if missing else ""
    named = frozenset(place for mention in best.mentions for place in mention.places)
    if asked.choice:  # of "a drama or a comedy" only one is in the answer
        named = frozenset(place for mention in reading.mentions for place in mention.places)
    explained = reading.scoring.account(best).explained
    content = _content(reading, named)
    unmet = [place for place in content if explained[place] < _UNMET]
    names = [place for place in unmet if like_a_name(reading, place)]
    if names:
        return f"the graph has nothing called {' '.join(asked.surface(place) for place in names)!r}"
    if not content:
        return "the question does not say which relation it asks for"
    if lacking := _lacking(predicates, reading, unmet or content):
        return lacking
    if not unmet:
        return "it is not certain that the question asks for this"
    said = ", ".join(repr(asked.surface(place)) for place in unmet)
    return f"no relation of the graph expresses {said}{_of(reading)}; {_nearest(predicates, reading, unmet)}"


def says_what_was_unmet(reading: "GraphReading", text: str) -> bool:
    """Return whether a text contains most of the words that the graph could not match; true if there is no such word.

    A passage that answers instead of the graph must: one that only names the same entities is off topic.
    """
    named = frozenset(place for mention in reading.mentions if mention.likeness >= 1 for place in mention.places)
    unmet = unmet_words(reading) or [reading.asked.surface(place) for place in _content(reading, named)]
    stems = {stem_of(word.key) for word in words(text)}
    held = sum(stem_of(word.lower()) in stems for word in unmet)
    return not unmet or 2 * held > len(unmet)


def unmet_words(reading: "GraphReading") -> list[str]:
    """Return the content words of a question, except its names, that the best candidate does not account for."""
    best, asked = reading.best, reading.asked
    mentions = best.mentions if best else reading.mentions
    named = frozenset(place for mention in mentions for place in mention.places)
    explained = reading.scoring.account(best).explained if best else np.zeros(len(asked.words))
    return [asked.surface(place) for place in _content(reading, named) if explained[place] < _UNMET]


def _content(reading: "GraphReading", named: frozenset[int]) -> list[int]:
    asked = reading.asked
    return [place for place, weight in enumerate(asked.weights) if weight >= 1 and place not in named]


def _lacking(predicates: Predicates, reading: "GraphReading", places: list[int]) -> str:
    """Return that a thing has no such relation, where the graph has one that a word says of other things; "" if not."""
    legs = reading.best.legs if reading.best else ()
    near = reading.scoring.near(places)
    if not legs or not len(near) or near.max() < _SAYS:
        return ""
    graph = reading.scoring.graph
    says = set(np.flatnonzero(near >= _SAYS).tolist())
    starts = dict.fromkeys(leg.start for leg in legs)
    lacks = [row for row in starts if not says & set(graph.edges_of([row]).predicate.tolist())]
    if not lacks:
        return ""
    names = " and ".join(spoken(graph.names[row]) for row in lacks)
    return f"the graph has {predicates.texts[int(near.argmax())]!r} of other things, but none of {names}"


def _of(reading: "GraphReading") -> str:
    """Return " of" and the entity that the question is about, or ""."""
    graph = reading.scoring.graph
    starts = [leg.start for leg in reading.best.legs] if reading.best else []
    return f" of {spoken(graph.names[starts[0]])}" if starts else ""


def _nearest(predicates: Predicates, reading: "GraphReading", places: list[int]) -> str:
    near = reading.scoring.near(places)
    best = int(near.argmax()) if len(near) else -1
    return f"the nearest is {predicates.texts[best]!r} ({near[best]:.0%})" if best >= 0 else "it has no relations"
