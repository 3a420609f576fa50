"""Whether the documents support an answer, by the learned weights of the reader, and the text of an abstention."""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from conspectus.query.abstention import no_answer
from conspectus.query.answer_writing.asked import Asked, asked_of
from conspectus.query.answer_writing.excerpts import word_count
from conspectus.query.answer_writing.features import (
    ANSWER_FEATURES,
    NEXT_FEATURES,
    STATEMENT_FEATURES,
    answer_features,
)
from conspectus.query.context import Context
from conspectus.query.logistic import Logistic, probability, stored_weights
from conspectus.query.question.kinds import LANGUAGES
from conspectus.query.question.question import open_question
from conspectus.query.types import Passage
from conspectus.storage.arrays import Floats
from conspectus.storage.locators import sections_at
from conspectus.storage.text.language import language_of_question

if TYPE_CHECKING:
    from conspectus.query.answer_writing.quotes import Quote

_LEAST_OF_COMPOUND = 5
_TOPICS = 3
_LEAST_SHOWN, _MOST_SHOWN = 0.2, 60
"""The least probability of a statement that is shown beside "I do not know", and its most words."""
_LEAST_UNKNOWN = 0.7
"""The least probability of an answer to an English question with a name that stands nowhere: of 18 such questions to
small folders, 13 had no answer there."""
_WHOLE = 0.99
"""The least share of a question's words that is all of them."""
_NAMES_BY_CAPITAL = frozenset({"es", "fr", "it", "nl", "pt"})
"""Languages beside English in which a capital letter tells a name, and a name has one form."""
_MARKS = re.compile(r"\[[\d\s,;]*\]")


def unsupported(
    context: Context, question: str, quotes: "Sequence[Quote]", chosen: "Sequence[Quote]"
) -> tuple[str, str]:
    """Return why the chosen of some quotes do not support an answer, "" if it is probable enough that they answer.

    With the reason comes the best of them if it may be of use nevertheless, else "".
    """
    if not chosen:
        return "no sentence was found", ""
    asked = asked_of(context, question)
    unknown = unknown_names(context, question)
    rows = {quote.span: row for row, quote in enumerate(quotes)}
    features = answer_features(
        asked, np.array([quote.score for quote in quotes]), np.array([quote.features for quote in quotes]),
        [quote.held for quote in quotes], [rows[quote.span] for quote in chosen],
    )  # fmt: skip
    weights = reader_weights(asked.by_many_languages)
    chance = probability(float(weights.answer.logits(features)))
    least = weights.least[matter(asked, context.index.manifest.rows["chunks"])]
    if unknown and (asked.understood or asked.language in _NAMES_BY_CAPITAL):
        least = max(least, _LEAST_UNKNOWN)
    if chance >= least or _tells_all(features, chosen[0]):
        return "", ""
    named = f"; nothing names {', '.join(unknown)}" if unknown else ""
    reason = f"no support: the nearest sentences answer the question with a probability of {chance:.2f}{named}"
    return reason, chosen[0].text if chance >= _LEAST_SHOWN and word_count(chosen[0].text) <= _MOST_SHOWN else ""


def _tells_all(features: Floats, best: "Quote") -> bool:
    """Return whether an answer tells all words of a question, and has the value of its measure or is a whole list.

    "author: Ada Holm" shares no word with "Who wrote the paper?", nor does an item with what is asked of its list; few
    questions to learn from are of this form.
    """
    told = dict(zip(ANSWER_FEATURES, features.tolist(), strict=True))
    valued = told["has the measure"] > 0 and not told["lacks the kind"]
    return told["told together"] > _WHOLE and (valued or len(best.whole) > 1)


def unknown_names(context: Context, question: str) -> list[str]:
    """Return the names in a question that appear nowhere in the documents.

    A name is a word with a capital letter that does not begin a sentence, or with a capital or digit inside. German
    capitalises every noun; there a noun that begins or ends with a word of the documents is taken as a compound that
    they explain, and over documents in another language no noun counts.
    """
    asked = open_question(context, question)
    absent = {term for term, chunks in zip(asked.terms.stems, asked.terms.chunks, strict=True) if not len(chunks)}
    if not absent:
        return []
    german = language_of_question(question, LANGUAGES) == "de"
    found: list[str] = []
    for word, term in zip(asked.words, asked.stems, strict=True):
        surface, before = question[word.start : word.end], question[: word.start].rstrip()
        inside = surface[1:] != surface[1:].lower() or any(sign.isdigit() for sign in surface)
        begins = not before or before[-1] in ".!?:"
        named = surface[0].isupper() and not begins and (not german or "de" in context.bm25.analysis.known)
        if term not in absent or surface.isdigit() or not (inside or named):
            continue
        if not (german and _is_compound(word.key, context.bm25.vocabulary)):
            found.append(surface)
    return found


def _is_compound(word: str, vocabulary: Container[str]) -> bool:
    """Return whether a word begins or ends with a word of the vocabulary of at least five letters."""
    starts = (word[:end] for end in range(_LEAST_OF_COMPOUND, len(word)))
    ends = (word[start:] for start in range(1, len(word) - _LEAST_OF_COMPOUND + 1))
    return any(part in vocabulary for part in (*starts, *ends))


def declined(context: Context, question: str, passages: Sequence[Passage], statement: str = "") -> str:
    """Return the text of an unsupported answer, in the language of the question if it is known.

    It names the sections that contain the nearest passages, else their titles, and quotes a statement that is near.
    """
    topics: dict[str, None] = {}
    for passage in passages:
        headings = sections_at(context.places_of(passage.document_id), passage.start)
        topic = _MARKS.sub("", headings[-1] if headings else passage.title).strip()
        if topic:
            topics[topic] = None
    return no_answer(question, list(topics)[:_TOPICS], " ".join(statement.split()))


@dataclass(frozen=True, slots=True)
class Weights:
    """The learned reader (`python -m benchmarks.train_reader`): three logistic regressions.

    Attributes:
        statement: Does a statement answer the question?
        next: Does a further statement answer it where the chosen ones do not?
        answer: Do the chosen statements answer it?
        least: The least probability of an answer that is given, by the matter of the question (`matter`).
        least_next: The least probability of a further statement.
    """

    statement: Logistic
    next: Logistic
    answer: Logistic
    least: Mapping[str, float]
    least_next: float


SETS = {False: "english", True: "many languages"}
"""The names of the weights by whether the encoder knows many languages: its cosines are on another scale, and words of
an inflected language are found less often."""


@cache
def reader_weights(by_many_languages: bool) -> Weights:
    """Return the weights of `reader_weights.json` for the encoder of English or for that of many languages."""
    found = stored_weights("query.answer_writing", "reader_weights.json")
    own = found[SETS[by_many_languages]]
    return Weights(
        Logistic.of(own["statement"], STATEMENT_FEATURES),
        Logistic.of(own["next"], NEXT_FEATURES),
        Logistic.of(found["answer"], ANSWER_FEATURES),
        found["least"],
        found["least_next"],
    )


_MANY = 100
"""Passages of an index that nobody would look through instead of asking."""


def matter(asked: Asked, n_chunks: int) -> str:
    """Return what a question is about: a "fact" or something "other" in a few passages, or anything "of many"."""
    return "of many" if n_chunks >= _MANY else "fact" if asked.is_fact else "other"
