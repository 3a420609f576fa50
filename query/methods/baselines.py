"""The baselines: BM25, dense retrieval, their reciprocal rank fusion, and a cross-encoder for reranking."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from conspectus.prompts.embedding.reranker import open_reranker
from conspectus.query.context import Context, IndexRetriever
from conspectus.query.menu import find_retriever
from conspectus.query.question.question import FOREIGN, Question, encoder_of, open_question
from conspectus.query.question.spelling import spelling_steps
from conspectus.query.question.times import LEADING, in_time, time_steps
from conspectus.query.types import Evidence, Passage, Retriever, Step
from conspectus.storage.arrays import Rows
from conspectus.storage.text.language import MULTILINGUAL_ENCODER

RRF_CONSTANT = 60
"""The k of reciprocal rank fusion (Cormack, Clarke & Buettcher 2009), which its authors found to matter little."""
RRF_DEPTH = 100
"""Number of passages of each ranking that are fused."""
_MULTILINGUAL = 0.25
"""Weight of the ranking by the multilingual encoder, which is less precise than words of the same language: R@1 on
XQuAD in German, Chinese and Arabic is .89, .91 and .75, with 1 .83, .87 and .70."""


class Bm25Retriever(IndexRetriever):
    """BM25 over titles and texts (Robertson and Zaragoza 2009)."""

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` passages with the highest BM25 scores; passages without any of its words are excluded."""
        asked = open_question(self._context, question)
        scores = self._context.bm25.scores(asked.content_words, asked.language)
        rows = np.argsort(-scores, kind="stable")[: depth(asked, k)]  # ties by id, as rows are sorted by it
        passages = ordered(self._context, asked, rows[scores[rows] > 0], scores[rows], k)
        step = Step("bm25", f"{len(passages)} passages share words with the question")
        return Evidence(passages, trace=(*spelling_steps(asked.mended), step, *time_steps(asked.time)))


class DenseRetriever(IndexRetriever):
    """Dense retrieval: the cosine of the question's vector with each passage's best window."""

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` nearest passages; their scores are cosines."""
        asked = open_question(self._context, question)
        cosines, rows = self._context.chunk_vectors.search(asked.vector[np.newaxis], depth(asked, k))
        passages = ordered(self._context, asked, rows[0], cosines[0], k)
        best = f", the best at cosine {cosines[0].max():.2f}" if passages else ""
        step = Step("dense", f"{len(passages)} nearest passages{best}")
        return Evidence(passages, trace=(*spelling_steps(asked.mended), step, *time_steps(asked.time)))


def depth(asked: Question, k: int) -> int:
    """Return how many passages are to be found for the `k` best: more, if the question names a time."""
    return max(k, LEADING) if asked.time else k


def ordered(
    context: Context, asked: Question, rows: Rows, scores: npt.NDArray[np.floating], k: int
) -> tuple[Passage, ...]:
    """Return the `k` best of some passages, which come best first, those of one document in the order of time."""
    places = in_time(context, asked.time, rows)[:k]
    return tuple(context.passage(int(row), float(score)) for row, score in zip(rows[places], scores, strict=False))


class HybridRetriever:
    """Reciprocal rank fusion of BM25 and dense retrieval: score = sum over rankings of weight / (60 + rank).

    Both rankings have weight 1, except with the multilingual encoder (`fusion_weights`).

    Cormack, Clarke & Buettcher 2009, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
    methods" (SIGIR), equation 1.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._rankings = (Bm25Retriever(context), DenseRetriever(context))

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` passages with the highest fused scores."""
        depth = max(k, RRF_DEPTH)
        rankings = await asyncio.gather(*(ranking.retrieve(question, depth) for ranking in self._rankings))
        weights = fusion_weights(self._context, question)
        passages = fuse([ranking.passages for ranking in rankings], weights)[:k]
        step = Step("hybrid", f"{len(passages)} passages by reciprocal rank fusion")
        steps = dict.fromkeys(step for ranking in rankings for step in ranking.trace)  # both report corrections
        return Evidence(passages, trace=(*steps, step))


def fusion_weights(context: Context, question: str) -> tuple[float, float]:
    """Return the weights of BM25 and dense retrieval in `hybrid`."""
    if encoder_of(context.index) != MULTILINGUAL_ENCODER:
        return 1.0, 1.0
    return (FOREIGN, 1.0) if open_question(context, question).is_foreign else (1.0, _MULTILINGUAL)


def fuse(rankings: Sequence[Sequence[Passage]], weights: Sequence[float] = ()) -> tuple[Passage, ...]:
    """Return all passages of some rankings by weighted reciprocal rank fusion, ties by chunk id."""
    scores: defaultdict[str, float] = defaultdict(float)
    passages: dict[str, Passage] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, passage in enumerate(ranking, start=1):
            scores[passage.chunk_id] += weight / (RRF_CONSTANT + rank)
            passages[passage.chunk_id] = passage
    order = sorted(passages, key=lambda id_: (-scores[id_], id_))
    return tuple(replace(passages[id_], score=scores[id_]) for id_ in order)


POOL = 50  # candidates that the cross-encoder reads: each costs a pass of the model


class RerankRetriever:
    """The best `POOL` candidates of another method, reranked by the cross-encoder of `rerank.model`.

    Raises:
        MissingPart: the model is not on this machine, and there is no `rerank.base_url`.
    """

    def __init__(self, context: Context, candidates: Retriever) -> None:
        self._settings = context.settings.rerank
        self._candidates = candidates
        self._reranker = open_reranker(self._settings)

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` candidates with the highest scores, at most `POOL`; ties by chunk id.

        The score is the model's logit for the question and the passage under its document's title; a passage too long
        for the model gets the score of its best window.
        """
        found = await self._candidates.retrieve(question, POOL)
        passages = found.passages if k else ()
        texts = [f"{passage.title}\n{passage.text}" if passage.title else passage.text for passage in passages]
        scores = await asyncio.to_thread(self._reranker.scores, question, texts)
        rescored = [replace(passage, score=float(score)) for passage, score in zip(passages, scores, strict=True)]
        best = tuple(sorted(rescored, key=lambda passage: (-passage.score, passage.chunk_id))[:k])
        by = self._settings.model or self._settings.base_url
        step = Step("rerank", f"{len(passages)} candidates of {self._settings.candidates} by {by}")
        return Evidence(best, trace=(*found.trace, step))


def open_rerank(context: Context) -> RerankRetriever:
    """Return the retriever that reranks the candidates of the method `rerank.candidates`."""
    return RerankRetriever(context, find_retriever(context.settings.rerank.candidates, context))
