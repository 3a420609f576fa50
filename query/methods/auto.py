"""Automatic choice of a method: global search for the corpus as a whole, passages for everything else."""

from dataclasses import replace

import numpy as np
from conspectus.prompts.model import LanguageModel
from conspectus.query.context import Context
from conspectus.query.menu import find_method
from conspectus.query.question.kinds import kind_of
from conspectus.query.question.scope import closeness_in_translation, closeness_to_whole
from conspectus.query.types import Answer, Answerer, Say, Step


class Auto:
    """Answers questions about the corpus as a whole with one method, and all others with another.

    A question is about the whole if its words say so (`kind_of`), in four languages. Any other one is if its
    cosine with a typical question of that kind is at least its cosine with the nearest passage: a passage answers
    questions that it is similar to.
    """

    def __init__(self, context: Context, whole: Answerer, passages: Answerer) -> None:
        self._context = context
        self._whole = whole
        self._passages = passages

    async def answer(self, question: str, say: Say) -> Answer:
        """Answer with the method that suits the question; the first step of the trace says which one and why."""
        if kind_of(question) == "global":
            answer = await self._whole.answer(question, say)
            return replace(answer, trace=(Step("auto", f"{answer.method}: its words ask for the whole"), *answer.trace))
        typical = self._typical(question)
        nearest = self._nearest_passage(question)
        answer = await (self._whole if typical >= nearest else self._passages).answer(question, say)
        why = (
            f"{answer.method}: cosine {typical:.2f} with a typical question about a whole corpus, "
            f"{nearest:.2f} with the nearest passage"
        )
        return replace(answer, trace=(Step("auto", why), *answer.trace))

    def _typical(self, question: str) -> float:
        """Return the cosine with typical questions about a whole corpus; with a model, in other languages too.

        Without a model global search could not tell whether the documents support a question in another language.
        """
        english = closeness_to_whole(self._context, question)
        if not self._context.settings.llm.model:
            return english
        return max(english, closeness_in_translation(self._context, question))

    def _nearest_passage(self, question: str) -> float:
        vector = self._context.embedder.embed_query(question)
        scores, _ = self._context.chunk_vectors.search(vector[np.newaxis], 1)
        return float(scores[0][0]) if scores.size else 0.0


def open_auto(_name: str, context: Context, _model: LanguageModel | None, *, whole: str, passages: str) -> Auto:
    """Return the choice between two methods, given by name; the answer names the one that was chosen."""
    return Auto(context, find_method(whole).answerer(context), find_method(passages).answerer(context))
