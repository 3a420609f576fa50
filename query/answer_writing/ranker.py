"""The ranker of statements, two logistic regressions, and the decision to answer, boosted trees, over `features.py`.

`python -m benchmarks.train_reader` learns the weights from questions with known answers and writes them to
`reader_weights.json`, with the figures of that run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from conspectus.query.answer_writing.asked import Asked
from conspectus.query.answer_writing.features import ANSWER_FEATURES, NEXT_FEATURES, STATEMENT_FEATURES
from conspectus.query.boosted_trees import BoostedTrees
from conspectus.query.logistic import Logistic, stored_weights


@dataclass(frozen=True, slots=True)
class Weights:
    """The learned reader.

    Attributes:
        statement: Does a statement answer the question?
        next: Does a further statement answer it where the chosen ones do not?
        answer: Do the chosen statements answer it?
        least: The least probability of an answer that is given, by the matter of the question (`matter`).
        least_next: The least probability of a further statement.
    """

    statement: Logistic
    next: Logistic
    answer: BoostedTrees
    least: Mapping[str, float]
    least_next: float


SETS = {False: "english", True: "many languages"}
"""The names of the weights of statements by whether the encoder knows many languages: its cosines are on another scale,
and words of an inflected language are found less often."""


@cache
def reader_weights(by_many_languages: bool) -> Weights:
    """Return the weights of `reader_weights.json` for the encoder of English or for that of many languages."""
    found = stored_weights("query.answer_writing", "reader_weights.json")
    own = found[SETS[by_many_languages]]
    return Weights(
        Logistic.of(own["statement"], STATEMENT_FEATURES),
        Logistic.of(own["next"], NEXT_FEATURES),
        BoostedTrees.of(found["answer"], ANSWER_FEATURES),
        found["least"],
        found["least_next"],
    )


_MANY = 100
"""Passages of an index that nobody would look through instead of asking."""


def matter(asked: Asked, n_chunks: int) -> str:
    """Return what a question is about: a "fact" or something "other" in a few passages, or anything "of many"."""
    return "of many" if n_chunks >= _MANY else "fact" if asked.is_fact else "other"
