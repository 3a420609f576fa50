"""Passages by the closeness of their meaning to the question's."""

import numpy as np
from conspectus.query.context import Context
from conspectus.query.question.question import open_question
from conspectus.query.types import Evidence, Step


class DenseRetriever:
    """Cosine of the question's vector with that of each passage's best window."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` nearest passages."""
        vector = open_question(self._context, question).vector
        scores, rows = self._context.chunk_vectors.search(vector[np.newaxis], k)
        passages = tuple(
            self._context.passage(int(row), float(score)) for row, score in zip(rows[0], scores[0], strict=True)
        )
        best = f", the best at cosine {passages[0].score:.2f}" if passages else ""
        return Evidence(passages, trace=(Step("dense", f"{len(passages)} nearest passages{best}"),))
