"""When to decline a question to a graph: a content word matches no relation, or a name is not in the graph."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from conspectus.query.graph_question.confidence import like_a_name
from conspectus.query.graph_question.lexicon import stem_of
from conspectus.query.graph_question.meanings import Predicates
from conspectus.query.walk.graph import spoken
from conspectus.storage.text.names import words

if TYPE_CHECKING:
    from conspectus.query.graph_question.reader import GraphReading

_KNOWN = 0.9
"""Likeness from which a mention is an entity of the graph, and not one of a similar name."""
_UNMET = 0.5
"""A word explained less than this is reported as unmatched."""
_SAYS = 0.8
"""Nearness from which a word says a relation: where a thing lacks just that one, the graph knows what is asked."""


def why_declined(predicates: Predicates, reading: "GraphReading") -> str:
    """Return why a question is declined (the unmatched words and the nearest relation), or "" if it is not."""
    best, asked, scoring = reading.best, reading.asked, reading.scoring
    unmet = unmet_words(reading)
    said = [asked.surface(place) for place in unmet]
    if best is None and reading.mentions:
        said = [asked.surface(asked.order.place), *said] if asked.order else said
        if said:
            return f"no relation of the graph expresses {', '.join(map(repr, said))} of what the question names"
        return f"no statement of the graph joins {_names(reading, (each.rows[0] for each in reading.mentions))}"
    names = [place for place in unmet if like_a_name(reading, place)]
    if best is None:
        names = [place for place in unmet if asked.stems[place] not in predicates.known] or unmet
    if names or best is None:
        called = " ".join(asked.surface(place) for place in names)
        known = frozenset(place for each in reading.mentions if each.likeness >= _KNOWN for place in each.places)
        if names and known.issuperset(names):
            return f"no path of relations that the question names leads to {called!r}"
        return f"the graph has nothing called {called!r}" if called else ""
    starts = dict.fromkeys(leg.start for leg in best.legs)
    near = scoring.near(unmet or reading.content)
    says = set(np.flatnonzero(near >= _SAYS).tolist())
    used = {best.literal.step[0]} if best.literal and best.literal.step else set()
    says -= used
    lacks = [row for row in starts if says and not says & set(scoring.graph.edges_of([row]).predicate.tolist())]
    if lacks:
        return (
            f"the graph has {predicates.texts[near.argmax()]!r} of other things, but none of {_names(reading, lacks)}"
        )
    if not unmet:
        return "it is not certain that the question asks for this"
    of = f" of {_names(reading, [*starts][:1])}" if starts else ""
    nearest = f"the nearest is {predicates.texts[near.argmax()]!r} ({near.max():.0%})"
    return f"no relation of the graph expresses {', '.join(map(repr, said))}{of}; {nearest}"


def says_what_was_unmet(reading: "GraphReading", text: str) -> bool:
    """Return whether a text contains most of the words that the graph could not match; true if there is no such word.

    A passage that answers instead of the graph must: one that only names the same entities is off topic.
    """
    unmet = [reading.asked.surface(place) for place in unmet_words(reading) or reading.content]
    stems = {stem_of(word.key) for word in words(text)}
    held = sum(stem_of(word.lower()) in stems for word in unmet)
    return not unmet or 2 * held > len(unmet)


def unmet_words(reading: "GraphReading") -> list[int]:
    """Return the places of content words that the best candidate does not account for."""
    explained = reading.scoring.account(reading.best).explained if reading.best else np.zeros(len(reading.asked.words))
    return [place for place in reading.content if explained[place] < _UNMET]


def _names(reading: "GraphReading", rows: Iterable[int]) -> str:
    return " and ".join(spoken(reading.scoring.graph.names[row]) for row in rows)
