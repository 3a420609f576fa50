"""Global search without a language model: map over reports or passages, score, reduce to cited statements.

The map-reduce of GraphRAG (Edge et al. 2024, section 3.1.6) with extractive parts: each report gets a helpfulness
score of 0-100; zeros are dropped; of what the most helpful ones say, the answer quotes what is near to the question
and says something new.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.answering import assembling
from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.map_input import Selector
from conspectus.query.question.scope import closeness_to_whole, corpus_coverage, is_about_the_whole
from conspectus.query.reader.material import ScoredUnit, Statement, Unit, evidence
from conspectus.query.reader.mmr import diverse
from conspectus.query.types import Answer, Say, Step
from conspectus.storage.arrays import Vectors
from conspectus.storage.index import per_index


class ExtractiveGlobalSearch:
    """Answers over what a selector selects: the reports of a level, those of a walk down, or every passage."""

    def __init__(self, name: str, context: Context, selector: Selector) -> None:
        self._name = name
        self._context = context
        self._selector = selector
        self._settings = context.settings.global_search

    async def answer(self, question: str, say: Say) -> Answer:
        """Return what the most helpful reports or passages say, a statement a line, with citations into the documents.

        Questions about the whole are answered, and those that the documents support; others are not.
        """
        with assembling(question, self._name) as assembly:
            selected = await self._selector.select(question)
            vector = self._context.embedder.embed_query(question)
            scored = self._map(vector, selected.units)
            best = scored[: self._settings.reports]
            reason, answerable = self._judged(question)
            chosen = self._reduce(vector, [each.unit for each in best]) if answerable else []
            citations = Citations(self._context)
            lines = [citations.cite(statement.text, statement.spans[0]) for statement in chosen]
            text = "\n".join(f"- {line}" for line in lines if line) or NO_ANSWER
            say(text)
            assembly.add(
                *selected.trace,
                Step("map", f"{len(scored)} of {len(selected.units)} scored above zero"),
                Step("reduce", f"{len(chosen)} statements of the {len(best)} most helpful; {reason}"),
            )
            assembly.over(len(selected.units), selected.n_tokens)
            return assembly.assemble(
                text,
                citations=citations.made(),
                evidence=replace(evidence(self._context, best), trace=tuple(assembly.trace)),
                dropped_citations=citations.dropped,
            )

    def _judged(self, question: str) -> tuple[str, bool]:
        """Return whether the documents have an answer to a question, and the reason before it."""
        if is_about_the_whole(self._context, question):
            return f"the question is about the whole ({closeness_to_whole(self._context, question):.2f})", True
        found, least = corpus_coverage(self._context, question), self._settings.least_support
        return f"the documents support it by {found:.2f}, the least is {least}", found >= least

    def _map(self, vector: Vectors, units: Sequence[Unit]) -> list[ScoredUnit]:
        """Score each unit 0-100 by closeness times weight, drop zeros, sort best first.

        A question about the whole is near to no report in particular; then how much of the corpus a report is
        about decides.
        """
        if not units:
            return []
        vectors = self._context.index.vectors(units[0].table)
        closeness = vectors.scores(vector[np.newaxis], np.array([each.row for each in units]))[0]
        scored = [
            ScoredUnit(unit, round(100 * unit.weight * max(0.0, float(cosine)), 4))
            for unit, cosine in zip(units, closeness, strict=True)
        ]
        return sorted((each for each in scored if each.score > 0), key=lambda each: (-each.score, each.unit.id))

    def _reduce(self, vector: Vectors, units: Sequence[Unit]) -> list[Statement]:
        """Return the statements that are near to the question and unlike each other, best first."""
        if not units:
            return []
        statements = [each for unit in units for each in unit.statements()]
        vectors = np.concatenate([self._vectors_of(unit) for unit in units])
        return diverse(statements, vectors, vector, self._settings.quoted_words)

    def _vectors_of(self, unit: Unit) -> Vectors:
        """Return (n, dimension), kept with the open index: most questions about a whole look at the same units."""
        embedder, vectors = self._context.embedder, _statement_vectors(self._context)
        if unit.id not in vectors:
            texts = [embedder.windows(statement.text)[0] for statement in unit.statements()]
            vectors[unit.id] = embedder.embed(texts) if texts else np.zeros((0, embedder.dimension), np.float32)
        return vectors[unit.id]


@per_index
def _statement_vectors(context: Context) -> dict[str, Vectors]:
    return {}
