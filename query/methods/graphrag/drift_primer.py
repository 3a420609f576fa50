"""The primer of DRIFT: a first answer from the reports nearest to the question, and where to go from there."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.prompts.client.event_loop import gather_settled
from conspectus.prompts.model import LanguageModel, Message, Request
from conspectus.prompts.render import render
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.drift_branch import Asker, Branch
from conspectus.query.reader.material import ScoredUnit, Unit, report_units, sources
from conspectus.query.reader.packing import Window, filled
from conspectus.query.types import Step
from conspectus.storage.errors import ModelError
from conspectus.storage.index import per_index

STEP = "primer"
HYPOTHESIS_STEP = "hypothesis"


@dataclass(frozen=True, slots=True)
class Primed:
    """The branches of the primer, and the calls that failed."""

    branches: tuple[Branch, ...]
    failures: tuple[ModelError, ...]
    trace: tuple[Step, ...]


async def prime(context: Context, model: LanguageModel, question: str) -> Primed:
    """Return what the nearest reports say, in up to `drift_search.folds` calls after one for a hypothetical answer.

    No call is made where the index has no reports.
    """
    reports = report_rows(context)
    if not reports:
        return Primed((), (), (Step(STEP, "the index has no reports"),))
    expanded = await gather_settled([_hypothesis(context, model, question, reports)])
    texts = [question, *(each for each in expanded if isinstance(each, str) and each)]
    near = [each.unit for each in nearest_reports(context, texts)]
    windows = _folds(context, near)
    asker = Asker(context, model)
    replies = await gather_settled(
        asker.branch(
            "query/drift_primer", STEP, each.units, each.n_tokens, {"material": each.text, "question": question}
        )
        for each in windows
    )
    branches = tuple(each for each in replies if isinstance(each, Branch))
    failures = tuple(each for each in [*expanded, *replies] if isinstance(each, ModelError))
    with_it = "with a hypothetical answer" if len(texts) > 1 else "without a hypothetical answer"
    shown = sum(len(each.units) for each in windows)
    told = f"{shown} of the {len(near)} nearest reports, found {with_it}, in {len(windows)} calls: " + gained(branches)
    return Primed(branches, failures, (Step(STEP, told + failed(failures)),))


def nearest_reports(context: Context, texts: Sequence[str]) -> list[ScoredUnit]:
    """Return the reports nearest to a question and to texts that may answer it, nearest first.

    Nearest to the mean of their vectors (HyDE: Gao et al. 2023). None where the index has no reports.
    """
    reports = report_rows(context)
    if not reports:
        return []
    embedder = context.embedder
    vectors = [embedder.embed_query(texts[0])]
    if len(texts) > 1:
        vectors += list(embedder.embed([embedder.windows(each)[0] for each in texts[1:]]))
    mean = np.mean(vectors, axis=0)
    unit = (mean / max(float(np.linalg.norm(mean)), 1e-12)).astype(np.float32)
    cosines, rows = context.index.vectors("reports").search(unit[np.newaxis], context.settings.drift_search.reports)
    return [ScoredUnit(reports[row], score) for row, score in zip(rows[0].tolist(), cosines[0].tolist(), strict=True)]


@per_index
def report_rows(context: Context) -> list[Unit]:
    """Return all reports by row."""
    return sorted(report_units(context).values(), key=lambda each: each.row)


def gained(branches: tuple[Branch, ...]) -> str:
    """Return in words what branches gave."""
    notes = sum(len(each.notes) for each in branches)
    follow_ups = sum(len(each.follow_ups) for each in branches)
    baseless = sum(each.baseless for each in branches)
    scores = ", ".join(str(each.score) for each in branches) or "none"
    return f"{notes} notes, {follow_ups} follow-up questions, scores {scores}" + (
        f"; {baseless} points that rested on nothing shown" if baseless else ""
    )


def failed(failures: tuple[ModelError, ...]) -> str:
    """Return in words which calls failed, "" for none."""
    return f"; {len(failures)} calls failed: {failures[0]}" if failures else ""


async def _hypothesis(context: Context, model: LanguageModel, question: str, reports: list[Unit]) -> str:
    example = max(reports, key=lambda each: (each.weight, -each.row))
    text = render("query/drift_hypothesis", example=_summary(example), question=question)
    request = Request((Message("user", text),), HYPOTHESIS_STEP, sources=sources(context, [example]))
    return (await model.complete(request)).text.strip()


def _summary(unit: Unit) -> str:
    """Return a report without its findings."""
    return unit.text.split("\n\n- ")[0]


def _folds(context: Context, near: list[Unit]) -> list[Window]:
    """Deal the reports out to the calls, so that each has some of the nearest, and fill each call's window."""
    settings = context.settings.drift_search
    count = min(settings.folds, len(near))
    dealt = [filled(near[place::count], settings.context_tokens) for place in range(count)]
    return [each for each in dealt if each]
