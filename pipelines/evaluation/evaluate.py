"""Evaluate methods on the questions of a suite over one index.

Retrieval is measured on the questions that name supporting documents, answers on those with accepted answers. Over
a graph, answers are sets of things; claims have verdicts (see graph_answers.py).
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any

from conspectus.pipelines.evaluation.metrics import (
    Interval,
    accuracy,
    all_at,
    bootstrap,
    exact_match,
    rank_documents,
    reached,
    recall_at,
    rouge_l,
    sentence_coverage,
    set_quality,
    token_f1,
    validity,
    word_coverage,
)
from conspectus.pipelines.evaluation.metrics import answered as named_in
from conspectus.pipelines.evaluation.suites import ReadyMethod, Suite, SuiteQuestion, Topic, asked
from conspectus.prompts.client.usage_and_cost import metered
from conspectus.query.citations.marks import BEST_EFFORT, without_marks
from conspectus.query.context import Context
from conspectus.query.menu import find_method
from conspectus.query.types import Answer, Evidence, Retriever
from conspectus.storage.errors import InputError, ModelError

Progress = Callable[[str, int, int], None]

_PASSAGES_A_DOCUMENT = 4
"""Passages to retrieve for each wanted document: several may come from one document."""


@dataclass(frozen=True, slots=True)
class MethodScores:
    """A method's metrics by name, and the cost of a question.

    `recall@5` and `all@5` measure retrieval; `rougeL`, `coverage`, `coverage_words`, `exact_match` and `f1` measure
    answers (see answers.py); `units` and `context_tokens` describe the material of an answer, if reported. Calls and
    tokens count requests that were sent, not cache hits. Seconds are those of answering if answers were measured,
    otherwise of retrieving. `failures` counts the questions that a model failed to answer, which score 0. Over a graph,
    `hits@1`, `exact_match` and `f1` compare things, `depth` and `calls` describe the walks, and `recall@1` is the share
    of questions with an accepted answer in the retrieved subgraph, for methods that retrieve one; `accuracy` is of
    claims. `declined@unanswerable` is the share of unanswerable questions that the method declines,
    `declined@answerable` that of the others, and `best_effort@...` the shares that are only best efforts. `by_hops` and
    `by_kind` are the same metrics, grouped by the hops or the kind that questions state. `answers` lists each answered
    question with its answer and its own metrics.
    """

    metrics: dict[str, Interval]
    seconds_per_question: float
    calls_per_question: float = 0.0
    tokens_per_question: float = 0.0
    remembered_per_question: float = 0.0
    failures: int = 0
    median_seconds: float = 0.0
    by_hops: dict[int, dict[str, Interval]] = field(default_factory=dict)
    by_kind: dict[str, dict[str, Interval]] = field(default_factory=dict)
    answers: tuple["AnsweredQuestion", ...] = ()


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question, its accepted answers, the method's answer (None if the model failed), and its metrics."""

    id: str
    question: str
    accepted: tuple[str, ...]
    answer: str | None
    span: str
    known: bool
    names: tuple[str, ...]
    kind: str
    metrics: dict[str, float]


def evaluate(
    suite: Suite,
    context: Context,
    methods: Sequence[str],
    ks: Sequence[int],
    progress: Progress,
    answers: bool = False,
    topic: Topic = "given",
) -> dict[str, MethodScores]:
    """Evaluate methods on the questions of a suite.

    Recall is measured for methods that retrieve passages. Answers are measured for all methods if `answers` is set or
    the suite has a graph, and always for methods that retrieve no passages.

    Args:
        suite: The question set.
        context: The index of the suite, with models and settings.
        methods: The names of the methods.
        ks: The cut-offs k of recall@k.
        progress: Called with the progress of each method.
        answers: Whether to measure answers as well as recall.
        topic: How the topic entities of a question over a graph are determined.

    Returns:
        The scores by method name.

    Raises:
        InputError: No question of the suite can be measured in this way.
    """
    answers = answers or suite.kg is not None
    if context.settings.answer.form == "auto":  # exact match and F1 expect a few words
        brief = context.settings.answer.model_copy(update={"form": "brief"})
        context = replace(context, settings=context.settings.model_copy(update={"answer": brief}))
    chosen = {name: find_method(name) for name in methods}
    to_retrieve = [question for question in suite.questions if question.supporting]
    to_answer = [
        question for question in suite.questions if question.answers or question.label or question.unanswerable
    ]
    if not to_retrieve and any(value.retrieves for value in chosen.values()) and not answers:
        raise InputError(f"suite {suite.name}: no question names supporting documents, so recall has no meaning")
    if not to_answer and (answers or not all(value.retrieves for value in chosen.values())):
        raise InputError(f"suite {suite.name}: no question has accepted answers to compare with")
    scores: dict[str, MethodScores] = {}
    for name, method in chosen.items():
        found = answered = None
        if method.retrieves and to_retrieve:
            found = asyncio.run(_retrieved(name, method.retriever(context), to_retrieve, ks, progress))
        if answers or not method.retrieves:
            ready = asked(method, context, to_answer, topic)
            measure = _OfGraph() if suite.kg else _OfTexts(context)
            if context.model is None:  # do not time what is loaded on first use
                asyncio.run(ready.ask(to_answer[0]))
            answered = asyncio.run(_answered(name, ready, measure, to_answer, progress))
        scores[name] = _together(found, answered)
    return scores


def _together(found: MethodScores | None, answered: MethodScores | None) -> MethodScores:
    last = answered or found
    assert last is not None, "a method is measured in at least one way"
    return replace(last, metrics={**(found.metrics if found else {}), **last.metrics})


async def _retrieved(
    name: str, retriever: Retriever, questions: Sequence[SuiteQuestion], ks: Sequence[int], progress: Progress
) -> MethodScores:
    values: dict[str, list[float]] = {f"{metric}@{k}": [] for k in ks for metric in ("recall", "all")}
    seconds: list[float] = []
    failures = 0
    with metered() as meter:
        await _find(retriever, questions[0].question, 1)  # do not time what is loaded on first use
        for done, question in enumerate(questions):
            progress(name, done, len(questions))
            began = time.perf_counter()
            evidence = await _find(retriever, question.question, max(ks) * _PASSAGES_A_DOCUMENT)
            seconds.append(time.perf_counter() - began)
            failures += evidence is None
            ranked = rank_documents([passage.document_id for passage in evidence.passages] if evidence else [])
            for k in ks:
                values[f"recall@{k}"].append(recall_at(k, ranked, question.supporting))
                values[f"all@{k}"].append(all_at(k, ranked, question.supporting))
    progress(name, len(questions), len(questions))
    n, spent = len(questions), meter.total()
    return MethodScores(
        {metric: bootstrap(value) for metric, value in values.items()},
        sum(seconds) / n,
        spent.calls / n,
        (spent.prompt_tokens + spent.completion_tokens) / n,
        spent.remembered / n,
        failures,
        median(seconds),
    )


async def _find(retriever: Retriever, question: str, k: int) -> Evidence | None:
    try:
        return await retriever.retrieve(question, k)
    except ModelError:
        return None


async def _answered(
    name: str,
    ready: ReadyMethod,
    measure: "_OfTexts | _OfGraph",
    questions: Sequence[SuiteQuestion],
    progress: Progress,
) -> MethodScores:
    """Ask the questions one by one, so that the seconds do not include waiting for other questions."""
    label = f"{name} answers"
    values: defaultdict[str, list[float]] = defaultdict(list)
    far: defaultdict[int, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    alike: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    failures = calls = tokens = remembered = 0
    seconds: list[float] = []
    asked_so_far: list[AnsweredQuestion] = []
    for done, question in enumerate(questions):
        progress(label, done, len(questions))
        began = time.perf_counter()
        answer = await ready.ask(question)
        seconds.append(time.perf_counter() - began)
        own = measure(answer, question)
        asked_so_far.append(_answered_question(question, answer, own))
        for metric, value in own.items():
            values[metric].append(value)
            if question.hops:
                far[question.hops][metric].append(value)
            if question.kind:
                alike[question.kind][metric].append(value)
        if answer is None:
            failures += 1
            continue
        calls += answer.usage.calls
        tokens += answer.usage.prompt_tokens + answer.usage.completion_tokens
        remembered += answer.usage.remembered
    progress(label, len(questions), len(questions))
    n = len(questions)
    measured = {metric for metric, value in values.items() if metric not in _MAY_BE_NOTHING or any(value)}
    return MethodScores(
        _means(values, measured),
        sum(seconds) / n,
        calls / n,
        tokens / n,
        remembered / n,
        failures,
        median(seconds),
        {hops: _means(found, measured) for hops, found in sorted(far.items())},
        {kind: _means(found, measured) for kind, found in alike.items()},
        tuple(asked_so_far),
    )


def _means(values: Mapping[str, list[float]], measured: Set[str]) -> dict[str, Interval]:
    return {metric: bootstrap(found) for metric, found in values.items() if metric in measured}


def _answered_question(question: SuiteQuestion, answer: Answer | None, metrics: dict[str, float]) -> AnsweredQuestion:
    text, span, known, names = (
        (answer.text, answer.span, answer.known, answer.names) if answer else (None, "", False, ())
    )
    return AnsweredQuestion(
        question.id, question.question, tuple(question.answers), text, span, known, names, question.kind, metrics
    )


_MAY_BE_NOTHING = frozenset({"depth", "calls", "recall@1"})
"""Metrics that are reported only if some answer has them."""


@dataclass(frozen=True, slots=True)
class _OfTexts:
    """Measures answers as texts."""

    context: Context

    def __call__(self, answer: Answer | None, question: SuiteQuestion) -> dict[str, float]:
        found = {"accuracy": accuracy(answer, question.label)} if question.label else {}
        if question.answers:
            text = answer.text if answer and (answer.known or answer.names) else ""
            span = (answer.span or ", ".join(answer.names)) if answer else ""
            found |= quality(text, question, self.context, span)
        return found | ({"depth": float(answer.usage.depth), **context_size(answer)} if answer else {})


@dataclass(frozen=True, slots=True)
class _OfGraph:
    """Measures answers as sets of things."""

    def __call__(self, answer: Answer | None, question: SuiteQuestion) -> dict[str, float]:
        found = {"accuracy": accuracy(answer, question.label)} if question.label else {}
        if question.answers:
            found |= set_quality(named_in(answer), question.answers) | {"recall@1": reached(answer, question.answers)}
        if answer and (question.answers or question.unanswerable):
            side = "unanswerable" if question.unanswerable else "answerable"
            found[f"declined@{side}"] = float(not answer.known and not answer.names)
            found[f"best_effort@{side}"] = float(BEST_EFFORT in answer.text)
        if answer is None:
            return found
        walked = {"depth": float(answer.usage.depth), "calls": float(answer.usage.calls)}
        return found | walked | validity(answer) | context_size(answer)


def quality(text: str, question: SuiteQuestion, context: Context, span: str = "") -> dict[str, float]:
    """Return the metrics of one answer by name; "" means that the method declined, and scores 0.

    Exact match and F1 compare the `span`, the few words of the text that answer, if there is one.
    """
    embedder = context.embedder
    text = without_marks(text)
    short = span or text
    return {
        "rougeL": rouge_l(text, question.answers),
        "coverage": sentence_coverage(
            text, question.answers, lambda texts: embedder.embed([embedder.windows(item)[0] for item in texts])
        ),
        "coverage_words": word_coverage(text, question.answers, context.bm25.inverse_document_frequency),
        "exact_match": exact_match(short, question.answers),
        "f1": token_f1(short, question.answers),
    }


def context_size(answer: Answer) -> dict[str, float]:
    """Return the `units` (reports or chunks) and `context_tokens` that an answer was made from, if it reports them."""
    found = {"units": answer.usage.units, "context_tokens": answer.usage.context_tokens}
    return {name: float(value) for name, value in found.items() if value}


def measured(suite: Suite, scores: dict[str, MethodScores]) -> dict[str, int]:
    """Return the number of questions of a suite on which each kind of metric was measured."""
    metrics = {metric for score in scores.values() for metric in score.metrics}
    counts = {
        "retrieval": sum(bool(question.supporting) for question in suite.questions)
        if any(metric.startswith("recall@") for metric in metrics)
        else 0,
        "answers": sum(bool(question.answers) for question in suite.questions) if metrics & {"rougeL", "hits@1"} else 0,
        "declining": sum(question.unanswerable for question in suite.questions)
        if "declined@unanswerable" in metrics
        else 0,
        "claims": sum(bool(question.label) for question in suite.questions) if "accuracy" in metrics else 0,
    }
    return {kind: count for kind, count in counts.items() if count}


def as_json(
    suite: Suite, settings: dict[str, Any], scores: dict[str, MethodScores], build_seconds: float
) -> dict[str, Any]:
    """Return the result in the form that `conspectus evaluate --json` writes.

    `questions` counts all questions of the suite, `measured` those with each kind of metric.
    """
    return {
        "suite": suite.name,
        "questions": len(suite.questions),
        "measured": measured(suite, scores),
        "settings": settings,
        "build_seconds": round(build_seconds, 2),
        "methods": {name: _scores_json(score) for name, score in scores.items()},
    }


def _scores_json(score: MethodScores) -> dict[str, Any]:
    """Return the scores of a method; groups of questions and answers only if there are any."""
    found = asdict(score)
    found["by_hops"] = {str(hops): group for hops, group in found["by_hops"].items()}
    found["answers"] = list(found["answers"])
    given = {name: value for name, value in found.items() if value or name not in ("by_hops", "by_kind", "answers")}
    return {**given.pop("metrics"), **given}
