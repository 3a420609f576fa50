"""Every method on every question of a suite, over the same index."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.evaluation.metrics import Interval, all_at, bootstrap, rank_documents, recall_at
from pipelines.evaluation.suites import Question, Suite
from query.context import Context
from query.methods import find_retriever
from query.types import Retriever
from storage.errors import InputError

_PASSAGES_A_DOCUMENT = 4
"""Passages asked for per wanted document: several may come from one."""


@dataclass(frozen=True, slots=True)
class MethodScores:
    """A method's metrics by name (`recall@5`, `all@5`), and what a question costs."""

    metrics: dict[str, Interval]
    seconds_per_question: float
    calls_per_question: float = 0.0
    tokens_per_question: float = 0.0


def evaluate(
    suite: Suite,
    context: Context,
    methods: Sequence[str],
    ks: Sequence[int],
    progress: Callable[[str, int, int], None],
) -> dict[str, MethodScores]:
    """Return the scores of each method over the questions that name supporting documents."""
    questions = [each for each in suite.questions if each.supporting]
    if not questions:
        raise InputError(f"suite {suite.name}: no question names supporting documents, so recall has no meaning")
    retrievers = {name: find_retriever(name, context) for name in methods}
    return {
        name: asyncio.run(_score(name, retriever, questions, ks, progress)) for name, retriever in retrievers.items()
    }


async def _score(
    name: str,
    retriever: Retriever,
    questions: Sequence[Question],
    ks: Sequence[int],
    progress: Callable[[str, int, int], None],
) -> MethodScores:
    values: dict[str, list[float]] = {f"{metric}@{k}": [] for k in ks for metric in ("recall", "all")}
    await retriever.retrieve(questions[0].question, 1)  # what is loaded on first use is not the question's time
    seconds = 0.0
    for done, question in enumerate(questions):
        progress(name, done, len(questions))
        began = time.perf_counter()
        evidence = await retriever.retrieve(question.question, max(ks) * _PASSAGES_A_DOCUMENT)
        seconds += time.perf_counter() - began
        ranked = rank_documents([each.document_id for each in evidence.passages])
        for k in ks:
            values[f"recall@{k}"].append(recall_at(k, ranked, question.supporting))
            values[f"all@{k}"].append(all_at(k, ranked, question.supporting))
    progress(name, len(questions), len(questions))
    return MethodScores({metric: bootstrap(each) for metric, each in values.items()}, seconds / len(questions))


def as_json(
    suite: Suite, settings: dict[str, Any], scores: dict[str, MethodScores], build_seconds: float
) -> dict[str, Any]:
    """Return the result in the form that `conspectus evaluate --json` writes."""
    return {
        "suite": suite.name,
        "questions": len(suite.questions),
        "settings": settings,
        "build_seconds": round(build_seconds, 2),
        "methods": {
            name: {
                **{metric: asdict(interval) for metric, interval in each.metrics.items()},
                "seconds_per_question": each.seconds_per_question,
                "calls_per_question": each.calls_per_question,
                "tokens_per_question": each.tokens_per_question,
            }
            for name, each in scores.items()
        },
    }
