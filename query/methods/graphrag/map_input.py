"""The input of global search: the reports or passages that an answer is based on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from conspectus.query.answer_writing.context_windows import ScoredUnit, Unit, filled, passage_unit, report_units
from conspectus.query.context import Context
from conspectus.query.types import Step
from conspectus.storage.index import per_index
from conspectus.storage.level_names import Level, level_name, level_number
from conspectus.storage.records import Community

_FIRST_LOOK = 64
"""The number of passages searched first; more if they all fit into a window."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The selected units, and the steps that selected them."""

    units: tuple[Unit, ...]
    trace: tuple[Step, ...]

    @property
    def n_tokens(self) -> int:
        """The tokens of all units."""
        return sum(unit.n_tokens for unit in self.units)


class Selector(Protocol):
    """Selects the units that an answer is based on."""

    async def select(self, _question: str, /) -> Selected:
        """Return reports of which no two cover the same entity, or passages."""
        ...


class LevelReports:
    """Selects all reports of one level of the hierarchy; of the deepest level if `level` is deeper."""

    def __init__(self, context: Context, level: Level) -> None:
        self._context = context
        self.level = level_number(level)

    async def select(self, question: str, /) -> Selected:
        """Return the reports of the level; its communities partition the entities."""
        columns = ("id", "level", "same_as")
        table = self._context.index.arrow(Community, *columns)
        communities = [*zip(*(table.column(name).to_pylist() for name in columns), strict=True)]
        level = min(self.level, max((found for _, found, _ in communities), default=0))
        ids = {same_as or id_ for id_, found, same_as in communities if found == level}
        units = tuple(report_unit for id_, report_unit in report_units(self._context).items() if id_ in ids)
        if not units and self._context.narrowed:
            return await passages_instead(
                self._context, question, f"level {level_name(level)} has no report that may be read"
            )
        shallower = (
            f" ({level_name(self.level)} was asked for; the hierarchy ends at {level_name(level)})"
            if level != self.level
            else ""
        )
        return Selected(units, (selection_step(f"level {level_name(level)} has", "reports", units, shallower),))


class EveryPassage:
    """Selects all chunks: the condition TS of GraphRAG (Edge et al. 2024, section 3.2)."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def select(self, _question: str, /) -> Selected:
        """Return every chunk of the index, whatever the question."""
        units = _passage_units(self._context)
        return Selected(units, (selection_step("the index has", "passages", units),))


async def passages_instead(context: Context, question: str, why: str) -> Selected:
    """Return every passage instead of reports, for a filtered index whose reports may not be read."""
    found = await EveryPassage(context).select(question)
    return Selected(found.units, (Step("global", f"{why}: the passages are read, as ts does"), *found.trace))


class NearestPassages:
    """Finds as many of the nearest chunks as fit into one call: the condition SS, naive vector search."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._limit = context.settings.global_search.context_tokens

    def nearest(self, question: str) -> tuple[list[ScoredUnit], Step]:
        """Return chunks by the cosine of their best window, nearest first, and the step of the trace."""
        context = self._context
        vector = context.embedder.embed_query(question)[np.newaxis]
        k = _FIRST_LOOK
        while True:
            cosines, rows = context.chunk_vectors.search(vector, k)
            window = filled([passage_unit(context, int(row)) for row in rows[0]], self._limit)
            units = window.units if window else ()
            if k >= context.index.manifest.rows["chunks"] or len(units) < len(rows[0]):
                scored = [ScoredUnit(unit, float(cosine)) for unit, cosine in zip(units, cosines[0], strict=False)]
                return scored, selection_step("one call holds the", "nearest passages", units)
            k *= 4


def selection_step(what: str, plural: str, units: tuple[Unit, ...], note: str = "") -> Step:
    """Return the trace step with the number of units and their tokens."""
    return Step("global", f"{what} {len(units)} {plural}, {sum(unit.n_tokens for unit in units)} tokens{note}")


@per_index
def _passage_units(context: Context) -> tuple[Unit, ...]:
    return tuple(passage_unit(context, row) for row in range(context.index.manifest.rows["chunks"]))


def nearest_reports(context: Context, texts: Sequence[str]) -> list[ScoredUnit]:
    """Return the `drift_search.reports` reports nearest to a question and to texts that may answer it, nearest first.

    The query is the mean of their vectors (HyDE: Gao et al. 2023, "Precise Zero-Shot Dense Retrieval without Relevance
    Labels"); no report is returned if the index has none.
    """
    reports = report_rows(context)
    if not reports:
        return []
    embedder = context.embedder
    vectors = [embedder.embed_query(texts[0])]
    if len(texts) > 1:
        vectors += list(embedder.embed([embedder.windows(text)[0] for text in texts[1:]]))
    mean = np.mean(vectors, axis=0)
    unit = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
    cosines, rows = context.index.vectors("reports").search(unit[np.newaxis], context.settings.drift_search.reports)
    return [ScoredUnit(reports[row], score) for row, score in zip(rows[0].tolist(), cosines[0].tolist(), strict=True)]


@per_index
def report_rows(context: Context) -> list[Unit]:
    """Return all reports, in the order of their table."""
    return sorted(report_units(context).values(), key=lambda report: report.row)
