"""How likely the answer of a reading is right, by a logistic regression, and why it is declined.

`python -m benchmarks.train_graph_question` learns the weights (`confidence.json`) from questions with known answers,
and from the same questions to graphs without the relation, or about things that are not in the graph.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from conspectus.query.graph_question.candidates import Candidate
from conspectus.query.graph_question.lexicon import DATE, NUMBER, PERSON, PLACE
from conspectus.query.graph_question.meanings import Predicates
from conspectus.query.graph_question.structured_query import GraphAnswer
from conspectus.query.logistic import Logistic, probability, stored_weights
from conspectus.storage.arrays import Floats
from conspectus.storage.text.words import FUNCTION_WORDS

if TYPE_CHECKING:
    from conspectus.query.graph_question.reader import GraphReading

from collections.abc import Iterable
from typing import TYPE_CHECKING

from conspectus.query.graph_question.lexicon import stem_of
from conspectus.query.walk.graph import spoken
from conspectus.storage.text.names import words

if TYPE_CHECKING:
    from conspectus.query.graph_question.reader import GraphReading


FEATURES = (
    "score", "margin", "least", "unmet", "shift", "elsewhere", "lacks", "coloured", "colour_shift", "colour_elsewhere",
    "support", "unsaid", "itself", "steps", "kind", "likely", "said", "explained", "yes_no", "turned", "upward",
    "of_class", "by_literal", "literal", "crowded",
)  # fmt: skip
SURE, RATHER = 0.75, 0.5
"""The probability from which an answer is given, and from which it is shown as a best effort."""
_ALIKE = 0.9
"""The share of things from which two answers are the same."""
_UNSTARTED, _UNSTARTED_SAID = 0.74, 0.4
"""What counts as the likenesses of a path that starts nowhere ("all films"): about the mean of others."""
_AGAIN = 8.0
"""The margin from which another answer is as good as none."""


def confidence_features(predicates: Predicates, reading: "GraphReading", answer: GraphAnswer) -> Floats:
    """Return the features of the best candidate, in the order of `FEATURES`.

    A word that the candidate does not explain counts by how much the question's vector changes without it (`shift`: a
    word that only colours changes little), and by how near it is to a relation (`elsewhere`). One that stands where
    words often only colour counts apart.
    """
    best, scoring = reading.best, reading.scoring
    assert best is not None
    account, features = scoring.account(best), scoring.features(best)
    colours = [place for place in reading.content if _may_colour(reading, place, account.explained)]
    content = [place for place in reading.content if place not in colours]
    missing = 1 - account.explained
    shifts = _shifts(predicates, reading, [place for place in reading.content if missing[place] > 0.2])
    other = next((each for each in reading.candidates[1:] if not _same(best, each)), None)
    sayings = [word for number, word in enumerate(account.words) if number not in best.joining]
    starts = {leg.start for leg in best.legs}
    steps = [*best.steps, *([best.literal.step] if best.literal and best.literal.step else [])]
    own = [*scoring.graph.edges_of(sorted(starts)).predicate.tolist(), *(predicate for predicate, _ in steps)]

    def unmet(places: Sequence[int]) -> list[float]:
        return [
            sum(missing[places]),
            sum(missing[place] * shifts.get(place, 0.0) for place in places),
            sum(missing[place] * scoring.near([place]).max(initial=0.0) for place in places),
        ]

    return np.array([
        best.score,
        min(_AGAIN, best.score - other.score) if other else _AGAIN,
        account.explained[content].min() if content else 1.0,
        *unmet(content),
        sum(missing[place] * np.delete(scoring.near([place]), own).max(initial=0.0) for place in content),
        *unmet(colours),
        min(account.supports, default=1.0),
        sum(word < 0 for word in sayings),
        any(each.entity in starts for each in answer.found),
        len(sayings),
        features[4],
        best.likeness if best.legs else _UNSTARTED,
        best.said if best.legs else _UNSTARTED_SAID,
        features[0],
        best.form == "yes_no" or reading.asked.choice,
        *scoring.turned(best),
        best.members >= 0 or bool(scoring.members(best)),
        best.literal is not None,
        features[7],
        features[10],
    ], np.float64)  # fmt: skip


def _may_colour(reading: "GraphReading", place: int, explained: Floats) -> bool:
    """Return whether a word stands as an adverb or before what is explained: "the famous Ada", "really", "my old boss".

    A word that asks is the head of its phrase or a verb: "the salary of Ada", "who married Ada".
    """
    asked, named = reading.asked, reading.named
    keys = [word.key for word in asked.words]
    if keys[place].endswith("ly"):
        return True
    if place + 1 >= len(keys) or like_a_name(reading, place) or keys[place - 1] in _BEFORE_VERBS or not place:
        return False
    behind = place + 1 in named or asked.weights[place + 1] >= 1
    before = asked.weights[place - 1] < 1 and place - 1 not in named
    return behind and (before or _may_colour(reading, place - 1, explained)) and explained[place] < RATHER


_BEFORE_VERBS = frozenset("who whom to not".split())


def probability_of(predicates: Predicates, reading: "GraphReading", answer: GraphAnswer) -> float:
    """Return how likely the answer of a reading's best candidate is right."""
    skipped, best = _skips(predicates, reading), reading.best
    if best and reading.asked.kind in (PERSON, PLACE) and best.end >= 0 and best.form == "things":
        predicate, objects = divmod(best.end, 2)
        if objects and predicates.kinds[predicate] in (DATE, NUMBER):
            return 0.0  # a date is not who
    if best and reading.asked.kind == DATE and best.form == "things":
        names = [predicates.graph.names[each.entity] + (each.value or "") for each in answer.found]
        if not any(sign.isdigit() for name in names for sign in name):
            return 0.0  # a place is not when
    if skipped > 1 or (skipped and best and len(reading.content) < len(best.steps) - len(best.joining)):
        return 0.0  # "How high is the Coast Office?": too rare in questions with known answers to be learned
    return probability(float(_learned().logits(confidence_features(predicates, reading, answer))))


def _skips(predicates: Predicates, reading: "GraphReading") -> int:
    """Return how many steps no word says, on the way to a relation that the thing itself lacks.

    "Where was Otto born?" does not ask where the director of his film was born.
    """
    best = reading.best
    if best is None or len(best.legs) != 1 or len(best.steps) < 2:
        return 0
    if best.steps[-1][0] in predicates.graph.edges_of([best.legs[0].start]).predicate:
        return 0
    words = reading.scoring.account(best).words[: len(best.steps) - 1]
    return sum(word < 0 and number not in best.joining for number, word in enumerate(words))


def _same(one: Candidate, other: Candidate) -> bool:
    """Return whether two candidates give nearly the same answer."""
    shared = len(np.intersect1d(one.rows, other.rows))
    alike = shared >= _ALIKE * max(len(one.rows), len(other.rows))
    return alike and (one.verdict, one.subjects, one.literal) == (other.verdict, other.subjects, other.literal)


def _shifts(predicates: Predicates, reading: "GraphReading", places: list[int]) -> dict[int, float]:
    """Return how far the question's vector moves without each word, in shares of what the words move it on average."""
    if not places:
        return {}
    keys = [reading.asked.surface(place) for place in range(len(reading.asked.words))]
    texts = [" ".join(keys), *(" ".join(keys[:place] + keys[place + 1 :]) for place in places)]
    vectors = np.asarray(predicates.embed(texts), np.float64)
    return dict(zip(places, (1 - vectors[1:] @ vectors[0]).tolist(), strict=True))


def like_a_name(reading: "GraphReading", place: int) -> float:
    """Return 1 for a word that is capitalised within the question or has a digit, else 0."""
    surface = reading.asked.surface(place)
    if any(sign.isdigit() for sign in surface):
        return 1.0
    if reading.asked.translation:  # nouns may have capitals
        return 0.0
    return float(place > 0 and surface[:1].isupper() and surface.lower() not in FUNCTION_WORDS)


@cache
def _learned() -> Logistic:
    return Logistic.of(stored_weights("query.graph_question", "confidence.json"), FEATURES)


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
