"""Passages by a model that reads question and passage together: slower, and finer than any comparison of vectors."""

import asyncio
from dataclasses import replace

from conspectus.prompts.embedding.reranker import open_reranker
from conspectus.query.context import Context
from conspectus.query.menu import find_retriever
from conspectus.query.types import Evidence, Retriever, Step
from conspectus.storage.errors import SettingsError


class RerankRetriever:
    """The best `rerank.pool` candidates of another method, ranked again by the cross-encoder of `rerank.model`.

    SettingsError where no model is configured, MissingPart where it is not on this machine.
    """

    def __init__(self, context: Context, candidates: Retriever) -> None:
        self._settings = context.settings.rerank
        if not self._settings.model:
            raise SettingsError(
                "the method 'rerank' needs a cross-encoder: set rerank.model to the folder of one "
                "(for example cross-encoder/ms-marco-MiniLM-L6-v2, saved on this machine)"
            )
        self._candidates = candidates
        self._reranker = open_reranker(self._settings.model)

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` candidates of highest score, never more than `rerank.pool`; ties by chunk id.

        The score is the model's logit for the question and the passage under its document's title; a passage that
        is longer than the model reads scores as its best window.
        """
        found = await self._candidates.retrieve(question, self._settings.pool)
        passages = found.passages if k else ()
        texts = [f"{each.title}\n{each.text}" if each.title else each.text for each in passages]
        scores = await asyncio.to_thread(self._reranker.scores, question, texts)
        rescored = [replace(each, score=float(score)) for each, score in zip(passages, scores, strict=True)]
        best = tuple(sorted(rescored, key=lambda each: (-each.score, each.chunk_id))[:k])
        step = Step("rerank", f"{len(passages)} candidates of {self._settings.candidates} by {self._settings.model}")
        return Evidence(best, trace=(*found.trace, step))


def open_rerank(context: Context) -> RerankRetriever:
    """Return the retriever that reranks the candidates of the method `rerank.candidates`."""
    return RerankRetriever(context, find_retriever(context.settings.rerank.candidates, context))
