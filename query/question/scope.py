"""Question scope: about the corpus as a whole, about something in it, or out of domain."""

from importlib.resources import files

import numpy as np
from conspectus.query.context import Context
from conspectus.query.question.kinds import kind_of
from conspectus.query.question.question import open_question
from conspectus.storage.arrays import Vectors
from conspectus.storage.index import per_index

ABOUT_THE_WHOLE, LEAST_SUPPORT = 0.42, 0.4
"""Least closeness to typical questions about a whole for a question to be one, and least coverage of any other to be
answered without a model: the best pair on half of the indexes of benchmarks/abstention.py, checked on the others."""
_MOST_PASSAGES = 5
"""Number of passages whose words are examined."""
_COVERAGE_WEIGHT = 0.5
"""Weight of the share of the question's words that these passages contain. Chosen on QMSum's even meetings and one
book, with the kinds of questions of benchmarks/abstention.py except the global ones: balanced accuracy .84 at 0, .91 at
.2, .96 at .5. The benchmark checks the result."""


def closeness_to_whole(context: Context, question: str) -> float:
    """Return the greatest cosine of a question with a typical question about a corpus as a whole.

    The typical questions are those of `query/question/global_questions.txt`. Titles that the question names are left
    out once ("the main themes of Moby Dick" asks for main themes).
    """
    asked = open_question(context, question)
    forms = dict.fromkeys((question, asked.linker.without_titles(question)))
    vectors = np.stack([open_question(context, form).vector for form in forms])
    return float((_typical_questions(context) @ vectors.T).max())


def closeness_in_translation(context: Context, question: str) -> float:
    """Return the greatest cosine of a question with a typical global question in German, French, Spanish or Chinese.

    The packaged encoder was trained for English: it places any two texts of another language close together. So this
    cosine is meaningless against a fixed threshold, but can be compared with that of passages in the same language.
    """
    vector = open_question(context, question).vector
    return float((_translated_questions(context) @ vector).max())


def is_about_the_whole(context: Context, question: str) -> bool:
    """Return whether a question asks about the whole, by its words or by its similarity to questions that do.

    The words are those of `kind_of`; the similarity is `closeness_to_whole`, which must be at least
    `ABOUT_THE_WHOLE`.
    """
    return kind_of(question) == "global" or closeness_to_whole(context, question) >= ABOUT_THE_WHOLE


def corpus_coverage(context: Context, question: str) -> float:
    """Return how well the documents cover a question, 0 to 1.5.

    It is the cosine of the nearest passage, plus half the share of the question's words (by inverse document
    frequency) that the nearest passages contain. It depends on the documents alone, not on the material of the answer:
    a coarse level of reports has fewer sentences than a fine one, so its nearest sentence is weaker evidence of whether
    there is an answer.
    """
    asked = open_question(context, question)
    cosines, rows = context.chunk_vectors.search(asked.vector[np.newaxis], _MOST_PASSAGES)
    if not cosines.size:
        return 0.0
    contained = asked.terms.contained_in(rows[0]).max(axis=0, initial=0.0)
    return max(0.0, float(cosines[0][0])) + _COVERAGE_WEIGHT * float(contained @ asked.terms.weights)


@per_index
def _typical_questions(context: Context) -> Vectors:
    return context.embedder.embed(_lines("global_questions.txt"))


@per_index
def _translated_questions(context: Context) -> Vectors:
    return context.embedder.embed(_lines("global_questions_translated.txt"))


def _lines(name: str) -> list[str]:
    text = files("conspectus.query.question").joinpath(name).read_text("utf-8")
    return [line for line in text.splitlines() if line]
