"""What a question is about, before it is answered: the corpus as a whole, something in it, or nothing in it."""

from importlib.resources import files

import numpy as np
from conspectus.query.context import Context
from conspectus.query.question.linking import open_linker
from conspectus.query.question.terms import question_terms
from conspectus.storage.arrays import Vectors
from conspectus.storage.index import per_index

_PASSAGES = 5
"""Passages whose words are looked at."""
_COVERAGE_WEIGHT = 0.5
"""What it is worth that they hold all of the question's words. Explored on QMSum's even meetings and one book, with
questions like those of benchmarks/abstention.py but for the whole: balanced accuracy .84 without it, .91 with .2, .96
with .5. The benchmark checks the result."""


def closeness_to_whole(context: Context, question: str) -> float:
    """Return the greatest cosine of the question with a typical one (`query/global_questions.txt`).

    Titles that the question names are left out once ("the main themes of Moby Dick" asks for main themes).
    """
    embedder = context.embedder
    without = open_linker(context).without_titles(question)
    forms = [embedder.embed_query(each) for each in dict.fromkeys((question, without))]
    return float((_typical_questions(context) @ np.stack(forms).T).max())


def is_about_the_whole(context: Context, question: str) -> bool:
    """Return whether a question asks about the corpus as a whole, as far as `global_search.about_the_whole` tells."""
    return closeness_to_whole(context, question) >= context.settings.global_search.about_the_whole


def support(context: Context, question: str) -> float:
    """Return how much the documents have on a question, 0 to 1.5.

    It is the cosine of the nearest passage, plus half the share of the question's words (by inverse document
    frequency) that the nearest passages hold. It is the documents' support, whatever an answer is made over: a
    coarse level has fewer sentences than a fine one, so its nearest sentence says less about whether there is an
    answer.
    """
    vector = context.embedder.embed_query(question)
    cosines, rows = context.chunk_vectors.search(vector[np.newaxis], _PASSAGES)
    if not cosines.size:
        return 0.0
    terms = question_terms(context, question)
    held = terms.held_by(rows[0]).max(axis=0, initial=0.0)
    return max(0.0, float(cosines[0][0])) + _COVERAGE_WEIGHT * float(held @ terms.weights)


@per_index
def _typical_questions(context: Context) -> Vectors:
    lines = files("conspectus.query.question").joinpath("global_questions.txt").read_text("utf-8").splitlines()
    return context.embedder.embed([line for line in lines if line])
