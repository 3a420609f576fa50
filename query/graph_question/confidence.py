"""How likely the answer of a reading is right: a logistic regression over what the reading explains.

`python -m benchmarks.train_graph_question` learns the weights (`confidence.json`) from questions with known answers,
and from the same questions to graphs without the relation, or about things that are not in the graph.
"""

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from conspectus.query.graph_question.candidates import Candidate
from conspectus.query.graph_question.meanings import Predicates
from conspectus.query.graph_question.scoring import Account
from conspectus.query.graph_question.structured_query import GraphAnswer
from conspectus.storage.arrays import Floats, Ints
from conspectus.storage.text.word_lists import zipf
from conspectus.storage.text.words import FUNCTION_WORDS

if TYPE_CHECKING:
    from conspectus.query.graph_question.reader import GraphReading

FEATURES = (
    "score", "margin", "explained", "least", "unmet", "common", "shift", "elsewhere", "name", "lacks", "coloured",
    "colour_shift", "colour_elsewhere", "support", "unsaid", "itself", "steps", "likeness", "kind", "unused",
    "many", "likely", "yes_no", "negative", "skips",
)  # fmt: skip
SURE, RATHER = 0.75, 0.5
"""The probability from which an answer is given, and from which it is shown as a best effort."""
_ALIKE = 0.9
"""The share of things from which two answers are the same."""
_AGAIN = 3.0
"""The margin from which another answer is as good as none."""


def confidence_features(predicates: Predicates, reading: "GraphReading", answer: GraphAnswer) -> Floats:
    """Return the features of the best candidate, in the order of `FEATURES`.

    A word that the candidate does not explain counts by how common it is in English (`common`), by how much the
    question's vector changes without it (`shift`: a word that only colours changes little), by how near it is to a
    relation (`elsewhere`), and as a name (`name`). One that stands where words often only colour counts apart.
    """
    best, asked, scoring = reading.best, reading.asked, reading.scoring
    assert best is not None
    account = scoring.account(best)
    mentions = reading.mentions if asked.choice or best.form == "compare" else best.mentions
    named = frozenset(place for mention in mentions for place in mention.places)
    content = [place for place, weight in enumerate(asked.weights) if weight >= 1 and place not in named]
    colours = [place for place in content if _may_colour(reading, place, named, account.explained)]
    missing = {place: 1 - float(account.explained[place]) for place in content}
    shifts = _shifts(predicates, reading, [place for place in content if missing[place] > 0.2])
    content = [place for place in content if place not in colours]
    shares = account.explained[content] if content else np.ones(1)
    other = next((each for each in reading.candidates[1:] if not _same(best, each)), None)
    joining = set(best.joining)
    sayings = [word for number, word in enumerate(account.words) if number not in joining]
    starts = {leg.start for leg in best.legs}
    edges = predicates.graph.edges_of(sorted(starts))
    lacks = 0.0
    for place in content:
        near = scoring.near([place])
        near[np.unique(edges.predicate)] = 0.0
        near[[predicate for predicate, _ in best.steps]] = 0.0
        lacks += missing[place] * float(near.max(initial=0.0))
    unused = [each for each in reading.mentions if each.likeness >= 0.9 and not each.places & named]
    detail = scoring.features(best)
    return np.array([
        best.score,
        min(_AGAIN, best.score - other.score) if other else _AGAIN,
        float(shares.mean()),
        float(shares.min()),
        sum(missing[place] for place in content),
        sum(missing[place] * zipf(asked.surface(place).lower()) for place in content) / 8,
        sum(missing[place] * shifts.get(place, 0.0) for place in content),
        sum(missing[place] * float(scoring.near([place]).max(initial=0.0)) for place in content),
        sum(missing[place] * like_a_name(reading, place) for place in content),
        lacks,
        sum(missing[place] for place in colours),
        sum(missing[place] * shifts.get(place, 0.0) for place in colours),
        sum(missing[place] * float(scoring.near([place]).max(initial=0.0)) for place in colours),
        min(account.supports, default=1.0),
        float(sum(word < 0 for word in sayings)),
        float(any(each.entity in starts for each in answer.found)),
        float(len(sayings)),
        min((mention.likeness for mention in best.mentions), default=1.0),
        float(detail[4]),
        float(len(unused)),
        float(np.log1p(len(answer.found))),
        reading.likeness,
        float(best.form == "yes_no"),
        float(best.form == "yes_no" and not answer.verdict),
        _skips(best, account, edges.predicate.astype(np.int64)),
    ])  # fmt: skip


def _may_colour(reading: "GraphReading", place: int, named: frozenset[int], explained: Floats) -> bool:
    """Return whether a word stands as an adverb or before what is explained: "the famous Ada", "really", "my old boss".

    A word that asks is the head of its phrase or a verb: "the salary of Ada", "who married Ada".
    """
    asked = reading.asked
    keys = [word.key for word in asked.words]
    if keys[place].endswith("ly"):
        return True
    if place + 1 >= len(keys) or like_a_name(reading, place) or keys[place - 1] in _BEFORE_VERBS or not place:
        return False
    behind = place + 1 in named or asked.weights[place + 1] >= 1
    before = asked.weights[place - 1] < 1 and place - 1 not in named
    return behind and (before or _may_colour(reading, place - 1, named, explained)) and explained[place] < RATHER


_BEFORE_VERBS = frozenset("who whom to not".split())


def probability_of(predicates: Predicates, reading: "GraphReading", answer: GraphAnswer) -> float:
    """Return how likely the answer of a reading's best candidate is right."""
    (weights, bias), features = _weights(), confidence_features(predicates, reading, answer)
    if features[FEATURES.index("skips")] > 1:
        return 0.0  # too rare in questions with known answers to be learned
    return float(1 / (1 + np.exp(-bias - features @ weights)))


def _skips(best: Candidate, account: Account, own: Ints) -> float:
    """Return how many steps no word says, on the way to a relation that the thing itself lacks.

    "Where was Otto born?" does not ask where the director of his film was born.
    """
    if len(best.legs) != 1 or len(best.steps) < 2 or best.steps[-1][0] in own:
        return 0.0
    unsaid = [number for number, word in enumerate(account.words[: len(best.steps) - 1]) if word < 0]
    return float(len(set(unsaid) - set(best.joining)))


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
def _weights() -> tuple[Floats, float]:
    text = files("conspectus.query.graph_question").joinpath("confidence.json").read_text("utf-8")
    learned = json.loads(text)
    return np.array([learned["weights"][name] for name in FEATURES]), learned["bias"]
