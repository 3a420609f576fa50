"""Passages by the words they share with the question."""

from conspectus.query.context import Context
from conspectus.query.question.question import open_question
from conspectus.query.types import Evidence, Step


class Bm25Retriever:
    """BM25 over titles and texts."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` passages of highest BM25 score; none that shares no word with the question."""
        passages = self._context.best(
            self._context.bm25.scores(open_question(self._context, question).content_words), k
        )
        return Evidence(passages, trace=(Step("bm25", f"{len(passages)} passages share words with the question"),))
