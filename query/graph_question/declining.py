"""When a question to a graph is to be declined: a word that says what is asked met nothing, or a name is not there."""

from typing import TYPE_CHECKING

import numpy as np
from conspectus.query.graph_question.lexicon import stem_of
from conspectus.query.graph_question.meanings import Predicates
from conspectus.query.walk.graph import spoken
from conspectus.storage.text.names import words
from conspectus.storage.text.words import FUNCTION_WORDS

if TYPE_CHECKING:
    from conspectus.query.graph_question.reader import GraphReading

LEAST_SCORE = 2.4
"""A candidate with less is no answer."""
_LEAST_EXPLAINED = 0.5
"""Mean share to which the content words of a question must be explained."""
_LEAST_OF_A_WORD = 0.25
"""Share to which each content word must be explained: "who married the director of ..." asks for a marriage. On the
four natural graphs this loses one of 94 right answers."""
_UNMET = 0.5
"""A word that is explained less is named as one that met nothing."""
_UNUSUAL = 2.5
"""Zipf frequency (wordfreq) below which a small word that met nothing is taken for a name."""


def why_declined(predicates: Predicates, reading: "GraphReading") -> str:
    """Return why a question is declined: what met nothing, and the nearest relation; "" if it is not."""
    best = reading.best
    asked = reading.asked
    if best is None and reading.mentions:
        taken = frozenset(place for mention in reading.mentions for place in mention.places)
        open_words = [asked.surface(asked.order.place)] if asked.order else []
        open_words += [asked.surface(place) for place in _content(reading, taken)]
        said_words = ", ".join(map(repr, open_words))
        return f"no relation of the graph says {said_words} of what the question names" if said_words else ""
    if best is None:
        content = _content(reading, frozenset())
        unknown = [place for place in content if asked.stems[place] not in predicates.known]
        missing = [asked.surface(place) for place in unknown or content]
        return f"the graph has nothing called {' '.join(missing)!r}" if missing else ""
    named = frozenset(place for mention in best.mentions for place in mention.places)
    explained = reading.scoring.account(best).explained
    content = _content(reading, named)
    unmet = [place for place in content if explained[place] < _UNMET]
    names = [place for place in unmet if _is_name(reading, place)]
    if names:
        return f"the graph has nothing called {' '.join(asked.surface(place) for place in names)!r}"
    shares = explained[content] if content else np.ones(1)
    if best.score >= LEAST_SCORE and shares.mean() >= _LEAST_EXPLAINED and shares.min() >= _LEAST_OF_A_WORD:
        return ""
    said = ", ".join(repr(asked.surface(place)) for place in unmet or content)
    if not said:
        return "the question does not say which relation it asks for"
    return f"no relation of the graph says {said}{_of(reading)}; {_nearest(predicates, reading, unmet or content)}"


def says_what_was_unmet(reading: "GraphReading", text: str) -> bool:
    """Return whether a text has one of the words for which the graph was of no use; true if there is no such word.

    A passage that answers in the graph's stead must: one that only names the same things is beside the point.
    """
    named = frozenset(place for mention in reading.mentions if mention.likeness >= 1 for place in mention.places)
    unmet = unmet_words(reading) or [reading.asked.surface(place) for place in _content(reading, named)]
    stems = {stem_of(word.key) for word in words(text)}
    return not unmet or any(stem_of(word.lower()) in stems for word in unmet)


def unmet_words(reading: "GraphReading") -> list[str]:
    """Return the content words of a question that the best candidate does not account for, its names left out."""
    best, asked = reading.best, reading.asked
    mentions = best.mentions if best else reading.mentions
    named = frozenset(place for mention in mentions for place in mention.places)
    explained = reading.scoring.account(best).explained if best else np.zeros(len(asked.words))
    return [asked.surface(place) for place in _content(reading, named) if explained[place] < _UNMET]


def _content(reading: "GraphReading", named: frozenset[int]) -> list[int]:
    asked = reading.asked
    return [place for place, weight in enumerate(asked.weights) if weight >= 1 and place not in named]


def _is_name(reading: "GraphReading", place: int) -> bool:
    """Return whether a word that met nothing is a name: capitalised within the question, with a digit, or unknown."""
    from wordfreq import zipf_frequency

    asked = reading.asked
    surface = asked.surface(place)
    capital = place > 0 and surface[:1].isupper() and surface.lower() not in FUNCTION_WORDS
    if capital or any(sign.isdigit() for sign in surface):
        return True
    return surface.islower() and zipf_frequency(surface, "en") < _UNUSUAL


def _of(reading: "GraphReading") -> str:
    """Return " of" and what the question is about."""
    graph = reading.scoring.graph
    starts = [leg.start for leg in reading.best.legs] if reading.best else []
    return f" of {spoken(graph.names[starts[0]])}" if starts else ""


def _nearest(predicates: Predicates, reading: "GraphReading", places: list[int]) -> str:
    near = reading.scoring.near(places)
    best = int(near.argmax()) if len(near) else -1
    return f"the nearest is {predicates.texts[best]!r} ({near[best]:.0%})" if best >= 0 else "it has no relations"
