"""Global search without a language model: map over the reports of a level, score, reduce to cited findings.

The map-reduce of GraphRAG (Edge et al. 2024, section 3.1.6) with extractive parts: each report gets a helpfulness
score of 0-100 from its closeness to the question and its rating; zeros are dropped; the best reports give
the findings that are nearest to the question.
"""

import time
from collections.abc import Sequence

import numpy as np

from query.answer.read import UNKNOWN
from query.citations import cite
from query.context import Context
from query.types import Answer, Evidence, ScoredReport, Step, Usage
from storage.records import Community, Finding, Report, Span

_RATING_WEIGHT = 0.5
"""How much of a report's score its rating decides: broad questions are near to no report in particular."""
_FINDINGS_A_REPORT = 2


class GlobalSearch:
    """Answers over all reports of one level (c0, the coarsest, to c3)."""

    def __init__(self, context: Context, level: str) -> None:
        self._context = context
        self._level = level

    async def answer(self, question: str) -> Answer:
        """Return the findings of the most helpful reports, one line each, with citations into the documents."""
        began = time.perf_counter()
        wanted = int(self._level[1:])
        level, reports = reports_of_level(self._context, wanted)
        vector = self._context.embedder.embed_query(question)
        scored = self._map(vector, reports)
        best = scored[: self._context.settings.global_search.reports]
        findings = self._reduce(vector, [each.report for each in best])
        cited = cite(self._context, findings)
        trace = (
            Step("global", f"level c{level} has {len(reports)} reports" + _shallower(wanted, level)),
            Step("map", f"{len(scored)} reports scored above zero"),
            Step("reduce", f"{len(findings)} findings of the {len(best)} most helpful reports"),
        )
        return Answer(
            question=question,
            method=f"global:c{level}:offline",
            text="\n".join(f"- {line}" for line in cited.lines) or UNKNOWN,
            citations=cited.citations,
            evidence=Evidence(reports=tuple(best), trace=trace),
            usage=Usage(seconds=time.perf_counter() - began),
            trace=trace,
            dropped_citations=cited.dropped,
        )

    def _map(self, vector: np.ndarray, reports: Sequence[tuple[int, Report]]) -> list[ScoredReport]:
        """Score each (row, report) 0-100, drop zeros, sort best first."""
        if not reports:
            return []
        vectors = self._context.index.vectors("reports")
        closeness = vectors.scores(vector[np.newaxis], np.array([row for row, _ in reports]))[0]
        scored = [
            ScoredReport(report, round(100 * max(0.0, float(cosine)) * _rating_factor(report), 4))
            for (_, report), cosine in zip(reports, closeness, strict=True)
        ]
        return sorted((each for each in scored if each.score > 0), key=lambda each: (-each.score, each.report.id))

    def _reduce(self, vector: np.ndarray, reports: Sequence[Report]) -> list[tuple[str, Span]]:
        """Return the findings of each report that are nearest to the question, reports in order, none twice."""
        embedder = self._context.embedder
        quotes: list[tuple[str, Span]] = []
        for report in reports:
            texts = [embedder.windows(each.explanation)[0] for each in report.findings]
            order = np.argsort(-(embedder.embed(texts) @ vector), kind="stable")
            fresh = [report.findings[i] for i in order if _span(report.findings[i]) not in {span for _, span in quotes}]
            quotes += [(f"{report.title}: {each.explanation}", _span(each)) for each in fresh[:_FINDINGS_A_REPORT]]
        return quotes


def _rating_factor(report: Report) -> float:
    return 1 - _RATING_WEIGHT + _RATING_WEIGHT * report.rating / 10


def _span(finding: Finding) -> Span:
    return finding.citations[0]


def _shallower(wanted: int, found: int) -> str:
    return "" if wanted == found else f" (c{wanted} was asked for; the hierarchy ends at c{found})"


def reports_of_level(context: Context, level: int) -> tuple[int, list[tuple[int, Report]]]:
    """Return the level (the deepest one where `level` is deeper) and its reports with their table rows.

    The communities of a level share no entity, so no entity is covered by two of the reports.
    """
    communities = context.index.rows(Community)
    deepest = max((each.level for each in communities), default=0)
    level = min(level, deepest)
    ids = {each.same_as or each.id for each in communities if each.level == level}
    rows = [(row, each) for row, each in enumerate(context.index.rows(Report)) if each.community_id in ids]
    return level, rows
