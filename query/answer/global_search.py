"""Global search without a language model: map over the reports of a level, score, reduce to cited findings.

The map-reduce of GraphRAG (Edge et al. 2024, section 3.1.6) with extractive parts: each report gets a helpfulness
score of 0-100; zeros are dropped; the most helpful reports give the findings that are nearest to the question.
"""

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from query.answer.read import UNKNOWN
from query.citations import Citations
from query.context import Context
from query.types import Answer, Evidence, Say, ScoredReport, Step, Usage
from query.whole import closeness_to_whole
from storage.records import Community, Finding, Report

Vector = npt.NDArray[np.float32]

_FINDINGS_A_REPORT = 2
_LEAST_SUPPORT = 0.45
"""Least cosine with a typical question about a whole, or with a finding. Set by hand; no benchmark holds it yet."""


class GlobalSearch:
    """Answers over all reports of one level (c0, the coarsest, to c3)."""

    def __init__(self, name: str, context: Context, level: str) -> None:
        self._name = name
        self._context = context
        self._level = level

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the findings of the most helpful reports, a line a report, with citations into the documents."""
        began = time.perf_counter()
        wanted = int(self._level[1:])
        level, reports = reports_of_level(self._context, wanted)
        vector = self._context.embedder.embed_query(question)
        scored = self._map(vector, reports)
        best = scored[: self._context.settings.global_search.reports]
        chosen, nearest = self._reduce(vector, [each.report for each in best])
        support = max(nearest, closeness_to_whole(self._context, question))
        citations = Citations(self._context)
        lines = [_line(report, found, citations) for report, found in chosen] if support >= _LEAST_SUPPORT else []
        trace = (
            Step("global", f"level c{level} has {len(reports)} reports" + _shallower(wanted, level)),
            Step("map", f"{len(scored)} reports scored above zero"),
            Step("reduce", f"the {len(best)} most helpful reports; support {support:.2f} of {_LEAST_SUPPORT}"),
        )
        text = "\n".join(line for line in lines if line) or UNKNOWN
        say(text)
        return Answer(
            question=question,
            method=self._name,
            text=text,
            citations=citations.made(),
            evidence=Evidence(reports=tuple(best), trace=trace),
            usage=Usage(seconds=time.perf_counter() - began),
            trace=trace,
            dropped_citations=citations.dropped,
        )

    def _map(self, vector: Vector, reports: Sequence[tuple[int, Report]]) -> list[ScoredReport]:
        """Score each (row, report) 0-100 by closeness times rating, drop zeros, sort best first.

        A question about the whole is near to no report in particular; then how much of the corpus a report is
        about decides.
        """
        if not reports:
            return []
        vectors = self._context.index.vectors("reports")
        closeness = vectors.scores(vector[np.newaxis], np.array([row for row, _ in reports]))[0]
        scored = [
            ScoredReport(report, round(10 * report.rating * max(0.0, float(cosine)), 4))
            for (_, report), cosine in zip(reports, closeness, strict=True)
        ]
        return sorted((each for each in scored if each.score > 0), key=lambda each: (-each.score, each.report.id))

    def _reduce(self, vector: Vector, reports: Sequence[Report]) -> tuple[list[tuple[Report, list[Finding]]], float]:
        """Return each report with its findings nearest to the question, no passage twice, and the best cosine."""
        embedder = self._context.embedder
        chosen: list[tuple[Report, list[Finding]]] = []
        seen: set[object] = set()
        nearest = 0.0
        for report in reports:
            cosines = embedder.embed([embedder.windows(each.explanation)[0] for each in report.findings]) @ vector
            nearest = max(nearest, float(cosines.max()))
            ranked = [report.findings[i] for i in np.argsort(-cosines, kind="stable")]
            fresh = [each for each in ranked if each.citations not in seen][:_FINDINGS_A_REPORT]
            seen.update(each.citations for each in fresh)
            chosen.append((report, fresh))
        return chosen, nearest


def _line(report: Report, findings: Sequence[Finding], citations: Citations) -> str:
    cited = [citations.cite(each.explanation, each.citations[0]) for each in findings]
    found = " ".join(each for each in cited if each)
    return f"- {report.title}: {found}" if found else ""


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
