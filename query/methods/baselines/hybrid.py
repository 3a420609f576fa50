"""Passages that words and meaning agree on: reciprocal rank fusion of BM25 and dense retrieval."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from conspectus.query.context import Context
from conspectus.query.methods.baselines.bm25 import Bm25Retriever
from conspectus.query.methods.baselines.dense import DenseRetriever
from conspectus.query.types import Evidence, Passage, Step

CONSTANT = 60
"""The k of Cormack, Clarke & Buettcher (2009), which they found to matter little."""
DEPTH = 100
"""Passages of each ranking that are fused."""


class HybridRetriever:
    """Reciprocal rank fusion: score = sum over rankings of 1 / (60 + rank)."""

    def __init__(self, context: Context) -> None:
        self._rankings = (Bm25Retriever(context), DenseRetriever(context))

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` passages of highest fused score."""
        found = await asyncio.gather(*(each.retrieve(question, max(k, DEPTH)) for each in self._rankings))
        passages = fuse([each.passages for each in found])[:k]
        step = Step("hybrid", f"{len(passages)} passages by reciprocal rank fusion")
        return Evidence(passages, trace=(*(step for each in found for step in each.trace), step))


def fuse(rankings: Sequence[Sequence[Passage]]) -> tuple[Passage, ...]:
    """Return all passages by fused score, ties by chunk id."""
    scores: defaultdict[str, float] = defaultdict(float)
    passages: dict[str, Passage] = {}
    for ranking in rankings:
        for rank, passage in enumerate(ranking, start=1):
            scores[passage.chunk_id] += 1 / (CONSTANT + rank)
            passages[passage.chunk_id] = passage
    order = sorted(passages, key=lambda id_: (-scores[id_], id_))
    return tuple(replace(passages[id_], score=scores[id_]) for id_ in order)
