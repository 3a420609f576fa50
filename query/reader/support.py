"""Whether the documents support an answer, and what is said where they do not."""

import re
from collections.abc import Sequence
from math import fsum
from typing import TYPE_CHECKING

import numpy as np
from conspectus.query.abstention import no_answer
from conspectus.query.context import Context
from conspectus.query.question.kinds import LANGUAGES
from conspectus.query.question.question import open_question
from conspectus.query.types import Passage
from conspectus.storage.locators import sections_at
from conspectus.storage.text.language import function_words, language_of_question
from conspectus.storage.text.words import stem

if TYPE_CHECKING:
    from conspectus.query.reader.extractive import Quote

_LEAST_SUPPORT = 0.66
"""An answer is given from this support on. Chosen on collections of `realdocs` and ten questions of our own
over each that it cannot answer, and checked on the fourth, in turn (DECISIONS.md)."""
_COVERAGE = 0.4
"""What the share of the question's words that the passages hold counts beside the best cosine."""
_UNKNOWN_NAME = 0.25
"""What a name in the question costs that stands nowhere in the documents."""
_TOPICS = 3
_MARKS = re.compile(r"\[[\d\s,;]*\]")


def term_weights(context: Context, question: str) -> dict[str, float]:
    """Return the weights of the question's terms by stem, without the function words of its language.

    They sum to 1, or there are none.
    """
    terms = open_question(context, question).terms
    weights: dict[str, float] = dict(zip(terms.stems, terms.weights.tolist(), strict=True))
    left_out = {stem(word) for word in function_words(language_of_question(question, LANGUAGES) or "en")}
    told = {term: weight for term, weight in weights.items() if term not in left_out} or weights
    total = fsum(told.values()) or 1.0
    return {term: weight / total for term, weight in told.items()}


def unsupported(context: Context, question: str, quotes: "Sequence[Quote]") -> str:
    """Return why the quotes do not support an answer; "" if they do.

    The support is the mean of the best cosine of a quote and of a passage of the index with the question, plus
    `_COVERAGE` times the share of the question's words (by idf) that the quotes and what they stand under hold, less
    `_UNKNOWN_NAME` where the question has a name that stands nowhere in the documents.
    """
    if not quotes:
        return "no sentence was found"
    weights = term_weights(context, question)
    passage, _ = context.chunk_vectors.search(open_question(context, question).vector[np.newaxis], 1)
    nearest = (max(quote.cosine for quote in quotes) + float(passage[0][0])) / 2
    held = frozenset[str]().union(*(quote.covers | quote.near for quote in quotes))
    coverage = fsum(weights[term] for term in held)
    unknown = unknown_names(context, question)
    if nearest + _COVERAGE * coverage - (_UNKNOWN_NAME if unknown else 0.0) >= _LEAST_SUPPORT:
        return ""
    return (
        f"no support: the nearest sentence and passage have cosine {nearest:.2f} and the passages hold {coverage:.0%} "
        f"of what the question says" + (f"; nothing names {', '.join(unknown)}" if unknown else "")
    )


def unknown_names(context: Context, question: str) -> list[str]:
    """Return the names in a question that stand nowhere in the documents.

    A name is a word with a capital letter or digit that does not begin a sentence; German writes every noun so, and
    there only capitals and digits inside a word tell.
    """
    asked = open_question(context, question)
    absent = {term for term, chunks in zip(asked.terms.stems, asked.terms.chunks, strict=True) if not len(chunks)}
    if not absent:
        return []
    german = language_of_question(question, LANGUAGES) == "de"
    found: list[str] = []
    for word, term in zip(asked.words, asked.stems, strict=True):
        surface = question[word.start : word.end]
        inside = surface[1:] != surface[1:].lower() or any(sign.isdigit() for sign in surface)
        begins = not question[: word.start].strip() or question[: word.start].rstrip()[-1] in ".!?:"
        if (
            term in absent
            and not surface.isdigit()
            and (inside or (surface[0].isupper() and not begins and not german))
        ):
            found.append(surface)
    return found


def declined(context: Context, question: str, passages: Sequence[Passage]) -> str:
    """Return the text of an answer that nothing supports, in the language of the question where it is known.

    It names the sections that the nearest passages stand in, else their titles.
    """
    topics: dict[str, None] = {}
    for passage in passages:
        headings = sections_at(context.places_of(passage.document_id), passage.start)
        topic = _MARKS.sub("", headings[-1] if headings else passage.title).strip()
        if topic:
            topics[topic] = None
    return no_answer(question, list(topics)[:_TOPICS])
