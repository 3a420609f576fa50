"""Global search without a language model: map over reports or passages, score, reduce to cited statements.

The map-reduce of GraphRAG (Edge et al. 2024, section 3.1.6) with extractive parts: each report gets a helpfulness
score of 0-100; zeros are dropped; the most helpful reports give the findings that are nearest to the question.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from query.answer.read import UNKNOWN, ExtractiveReader
from query.answer.selection import NearestPassages, Selector
from query.answer.units import ScoredUnit, Statement, Unit, evidence
from query.citations import Citations
from query.context import Context
from query.types import Answer, Evidence, Say, Step, Usage
from query.whole import closeness_to_whole

Vector = npt.NDArray[np.float32]
_Place = tuple[str, int, int]

_STATEMENTS_A_UNIT = 2
_LEAST_SUPPORT = 0.45
"""Least cosine with a typical question about a whole, or with a finding. Set by hand; no benchmark holds it yet."""


class GlobalSearch:
    """Answers over what a selector selects: the reports of a level, those of a walk down, or every passage."""

    def __init__(self, name: str, context: Context, selector: Selector) -> None:
        self._name = name
        self._context = context
        self._selector = selector

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the statements of what helps most, a line a report or passage, with citations into the documents."""
        began = time.perf_counter()
        selected = await self._selector.select(question)
        vector = self._context.embedder.embed_query(question)
        scored = self._map(vector, selected.units)
        best = scored[: self._context.settings.global_search.reports]
        chosen, nearest = self._reduce(vector, [each.unit for each in best])
        support = max(nearest, closeness_to_whole(self._context, question))
        citations = Citations(self._context)
        lines = [_line(unit, found, citations) for unit, found in chosen] if support >= _LEAST_SUPPORT else []
        trace = (
            *selected.trace,
            Step("map", f"{len(scored)} of {len(selected.units)} scored above zero"),
            Step("reduce", f"the {len(best)} most helpful; support {support:.2f} of {_LEAST_SUPPORT}"),
        )
        text = "\n".join(line for line in lines if line) or UNKNOWN
        say(text)
        return Answer(
            question=question,
            method=self._name,
            text=text,
            citations=citations.made(),
            evidence=replace(evidence(self._context, best), trace=trace),
            usage=Usage(
                seconds=time.perf_counter() - began, units=len(selected.units), context_tokens=selected.n_tokens
            ),
            trace=trace,
            dropped_citations=citations.dropped,
        )

    def _map(self, vector: Vector, units: Sequence[Unit]) -> list[ScoredUnit]:
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

    def _reduce(self, vector: Vector, units: Sequence[Unit]) -> tuple[list[tuple[Unit, list[Statement]]], float]:
        """Return each unit with its statements nearest to the question, no place twice, and the best cosine."""
        chosen: list[tuple[Unit, list[Statement]]] = []
        seen: set[tuple[_Place, ...]] = set()
        nearest = 0.0
        for unit in units:
            statements = unit.statements()
            cosines = self._vectors_of(unit, statements) @ vector
            nearest = max(nearest, float(cosines.max(initial=0.0)))
            ranked = [statements[i] for i in np.argsort(-cosines, kind="stable")]
            fresh = [each for each in ranked if _places(each) not in seen][:_STATEMENTS_A_UNIT]
            seen.update(_places(each) for each in fresh)
            chosen.append((unit, fresh))
        return chosen, nearest

    def _vectors_of(self, unit: Unit, statements: Sequence[Statement]) -> Vector:
        """Return (n, dimension); those of reports are kept with the open index."""
        embedder = self._context.embedder

        def embed() -> Vector:
            if not statements:
                return np.zeros((0, embedder.dimension), np.float32)
            return embedder.embed([embedder.windows(each.text)[0] for each in statements])

        return self._context.index.keep(f"findings {unit.id}", embed) if unit.table == "reports" else embed()


class ExtractiveVectorSearch:
    """Naive vector search without a model: sentences of the nearest passages that one window holds."""

    def __init__(self, name: str, context: Context) -> None:
        self._name = name
        self._context = context

    async def answer(self, question: str, say: Say) -> Answer:
        """Return up to `answer.sentences` sentences that together cover the question, as of any passages."""
        found = _Found(self._context)
        answer = await ExtractiveReader(self._name, self._context, found).answer(question, say)
        n_tokens = sum(each.n_tokens for each in found.units)
        return replace(answer, usage=replace(answer.usage, units=len(found.units), context_tokens=n_tokens))


class _Found:
    """A retriever that finds as many passages as one window holds, however many are wanted."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.units: tuple[Unit, ...] = ()

    async def retrieve(self, question: str, k: int) -> Evidence:
        scored, step = NearestPassages(self._context).nearest(question)
        self.units = tuple(each.unit for each in scored)
        return replace(evidence(self._context, scored), trace=(step,))


def _places(statement: Statement) -> tuple[_Place, ...]:
    """Return where a statement stands; chunks overlap, so the same sentence can stand in two."""
    return tuple((each.document_id, each.start, each.end) for each in statement.spans)


def _line(unit: Unit, statements: Sequence[Statement], citations: Citations) -> str:
    cited = [citations.cite(each.text, each.spans[0]) for each in statements]
    found = " ".join(each for each in cited if each)
    return "- " + ": ".join(filter(None, (unit.title, found))) if found else ""
