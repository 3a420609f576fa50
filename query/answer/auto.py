"""Choosing a method for a question, and saying why."""

from dataclasses import replace
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from query.context import Context
from query.types import Answer, Answerer, Step


class AutoAnswerer:
    """Global search for questions about the corpus as a whole, PageRank over passages for the others.

    A question is about the whole when it is nearer to a typical question of that kind
    (`query/global_questions.txt`) than to any passage: a passage answers what it is near to.
    """

    def __init__(self, context: Context, whole: Answerer, parts: Answerer) -> None:
        self._context = context
        self._whole = whole
        self._parts = parts

    async def answer(self, question: str) -> Answer:
        """Answer with the method that suits the question; the first step of the trace says which and why."""
        embedder = self._context.embedder
        vector = embedder.embed_query(question)
        typical = float((_typical_questions(embedder.name) @ vector).max())
        scores, _ = self._context.chunk_vectors.search(vector[np.newaxis], 1)
        nearest = float(scores[0][0]) if scores.size else 0.0
        chosen = self._whole if typical >= nearest else self._parts
        answer = await chosen.answer(question)
        why = (
            f"{answer.method}: cosine {typical:.2f} with a typical question about a whole corpus, "
            f"{nearest:.2f} with the nearest passage"
        )
        return replace(answer, trace=(Step("auto", why), *answer.trace))


@cache
def _typical_questions(model: str) -> npt.NDArray[np.float32]:
    from prompts.embedder import open_embedder

    lines = files("query").joinpath("global_questions.txt").read_text("utf-8").splitlines()
    return open_embedder(model).embed([line for line in lines if line])
