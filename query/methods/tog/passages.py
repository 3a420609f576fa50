"""The passages that a walk came to, ranked together with those that are near to the question itself."""

from collections.abc import Sequence

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.tog.evidence import has_documents, open_chunks
from conspectus.query.methods.tog.policy import Material
from conspectus.query.question.question import open_question
from conspectus.query.types import Passage
from conspectus.query.walk.graph import KnowledgeGraph
from conspectus.storage.records import Name

_NAMED = 0.25
"""What it is worth that a passage stands under a name that the question holds, beside the cosine with the question."""
_WALKED = 0.1
"""Weight of what the walk scored a passage, beside the same."""
_POOL = 20


class Reached:
    """Collects passages; `rows` are the topics of the walk."""

    def __init__(self, context: Context, graph: KnowledgeGraph, question: str, rows: Sequence[int]) -> None:
        self._context = context
        self._graph = graph
        self._question = question
        self._rows = tuple(rows)
        self._documents = has_documents(context)
        self._walked: dict[int, float] = {}
        self._topical = self._of_topics() if self._documents else set()

    def first(self, most: int) -> list[Material]:
        """Return the chunks of the topics' documents nearest to the question; without topics those of all."""
        if not self._documents:
            return []
        vector = self._context.embedder.embed_query(self._question)[np.newaxis]
        if not self._topical:
            cosines, rows = self._context.chunk_vectors.search(vector, most)
            near = list(zip(rows[0].tolist(), cosines[0].tolist(), strict=True))
        else:
            places = np.array(sorted(self._topical), np.int64)
            found = self._context.chunk_vectors.scores(vector, places)[0]
            near = sorted(zip(places.tolist(), found.tolist(), strict=True), key=lambda each: -each[1])[:most]
        return [self._material(row, float(cosine)) for row, cosine in near]

    def add(self, depth: int, material: Sequence[Material], clue: str) -> None:
        """Take the passages of a round, best first: a passage counts by its best round."""
        rows = self._context.chunk_rows
        most = max((each.score for each in material), default=0.0) or 1.0
        for each in material:
            if each.passage is not None:
                row = rows[each.passage.chunk_id]
                self._walked[row] = max(self._walked.get(row, 0.0), each.score / most)

    def best(self, most: int) -> tuple[Passage, ...]:
        """Return the passages of highest score, ties by chunk id."""
        if not self._documents:
            return ()
        vector = self._context.embedder.embed_query(self._question)[np.newaxis]
        _, near = self._context.chunk_vectors.search(vector, _POOL + most)
        pool = np.array(sorted({*near[0].tolist(), *self._topical, *self._walked}), np.int64)
        cosines = self._context.chunk_vectors.scores(vector, pool)[0]
        scores = {
            row: float(cosine) + _NAMED * (row in self._topical) + _WALKED * self._walked.get(row, 0.0) * float(cosine)
            for row, cosine in zip(pool.tolist(), cosines.tolist(), strict=True)
        }
        ranked = sorted(scores, key=lambda row: (-scores[row], row))[:most]
        return tuple(self._context.passage(row, scores[row]) for row in ranked)

    def _of_topics(self) -> set[int]:
        chunks = open_chunks(self._context)
        rows = {row for topic in self._rows for row in chunks.titled(topic)}
        known = self._context.chunk_rows
        names: list[Name] = list(open_question(self._context, self._question).links.names)
        return rows | {known[each] for name in names for each in name.chunk_ids if each in known}

    def _material(self, row: int, score: float) -> Material:
        passage = self._context.passage(row, score)
        return Material(-1, f"{passage.title}\n{passage.text}".strip(), -1, passage, max(0.0, score))
