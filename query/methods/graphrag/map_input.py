"""The input of global search, the reports or passages that an answer is based on, and the comparison with one call."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from conspectus.query.answer_writing.cited_answer import write
from conspectus.query.answer_writing.context_windows import (
    ScoredUnit,
    Unit,
    Units,
    Window,
    every,
    evidence,
    filled,
    passage_unit,
)
from conspectus.query.answer_writing.extractive import quote_evidence
from conspectus.query.answering import ModelMethod, assembling
from conspectus.query.context import Context
from conspectus.query.types import Answer, Step
from conspectus.storage.joins import reports_of_levels
from conspectus.storage.level_names import Level, level_name, level_number
from conspectus.storage.records import Chunk, Report

_FIRST_LOOK = 64
"""The number of passages searched first; more if they all fit into a window."""


@dataclass(frozen=True, slots=True)
class Selected:
    """The selected units, and the steps that selected them."""

    units: Units
    trace: tuple[Step, ...]


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
        levels = reports_of_levels(self._context.index)
        level = min(self.level, max(len(levels) - 1, 0))
        units = Units(self._context, Report, levels[level] if len(levels) else np.zeros(0, np.int64))
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
        units = every(self._context, Chunk)
        return Selected(units, (selection_step("the index has", "passages", units),))


async def passages_instead(context: Context, question: str, why: str) -> Selected:
    """Return every passage instead of reports, for a filtered index whose reports may not be read."""
    found = await EveryPassage(context).select(question)
    return Selected(found.units, (Step("global", f"{why}: the passages are read, as ts does"), *found.trace))


def nearest_passages(context: Context, question: str) -> tuple[list[ScoredUnit], Step]:
    """Return as many chunks as fit into one call, and the step of the trace: the condition SS, naive vector search.

    They are chosen by the cosine of their best window, nearest first.
    """
    limit = context.room("passages", context.settings.global_search.context_tokens)
    vector = context.embedder.embed_query(question)[np.newaxis]
    k = _FIRST_LOOK
    while True:
        cosines, rows = context.chunk_vectors.search(vector, k)
        window = filled([passage_unit(context, int(row)) for row in rows[0]], limit)
        units = window.units if window else ()
        if k >= context.index.manifest.rows["chunks"] or len(units) < len(rows[0]):
            scored = [ScoredUnit(unit, float(cosine)) for unit, cosine in zip(units, cosines[0], strict=False)]
            return scored, selection_step("one call holds the", "nearest passages", units)
        k *= 4


def selection_step(what: str, plural: str, units: Units | Sequence[Unit], note: str = "") -> Step:
    """Return the trace step with the number of units and their tokens."""
    n_tokens = units.n_tokens if isinstance(units, Units) else sum(unit.n_tokens for unit in units)
    return Step("global", f"{what} {len(units)} {plural}, {n_tokens} tokens{note}")


_NEAREST = 20  # of which each of the two calls of the primer reads ten, as many as its window holds


def nearest_reports(context: Context, texts: Sequence[str]) -> list[ScoredUnit]:
    """Return the `_NEAREST` reports nearest to a question and to texts that may answer it, nearest first.

    The query is the mean of their vectors (HyDE: Gao et al. 2023, "Precise Zero-Shot Dense Retrieval without Relevance
    Labels"); no report is returned if the index has none.
    """
    reports = every(context, Report)
    if not reports:
        return []
    embedder = context.embedder
    vectors = [embedder.embed_query(texts[0])]
    if len(texts) > 1:
        vectors += list(embedder.embed([embedder.windows(text)[0] for text in texts[1:]]))
    mean = np.mean(vectors, axis=0)
    unit = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
    cosines, rows = context.index.vectors("reports").search(unit[np.newaxis], _NEAREST)
    return [ScoredUnit(reports[row], score) for row, score in zip(rows[0].tolist(), cosines[0].tolist(), strict=True)]


STEP = "passages"


class VectorSearch(ModelMethod):
    """Answers from the nearest passages that fit into one window.

    With a model it makes one call; without one, it quotes sentences of the passages.
    """

    async def answer(self, question: str) -> Answer:
        """Return the answer; it cites sentences of the passages."""
        with assembling(question, self._name) as assembly:
            scored, step = nearest_passages(self._context, question)
            context, found = self._context, evidence(self._context, scored)
            if self._model is None:
                assembly.over(len(scored), sum(passage.unit.n_tokens for passage in scored))
                return quote_evidence(assembly, context, replace(found, trace=(step,)))
            assembly.add(step)
            room = context.room(STEP, context.settings.global_search.context_tokens)
            window = filled([passage.unit for passage in scored], room) or Window((), "", 0)
            assembly.step("read", f"{len(scored)} passages read")
            assembly.over(len(scored), window.n_tokens)
            return await write(
                assembly,
                context,
                self._model,
                window.text,
                window.units,
                found,
                prompt="query/graphrag/vector_answer",
                step=STEP,
            )
