"""Calls, tokens, dollars and seconds of a build, by step and in total, from the spending that was counted."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conspectus.pipelines.build_plan import BuildPlan
from conspectus.pipelines.resolution.llm_vote import STAGE as VOTE
from conspectus.pipelines.steps.descriptions import STAGE as SUMMARISE
from conspectus.pipelines.steps.extract.llm import CHUNK_STEPS
from conspectus.pipelines.steps.extract.openie import NER, TRIPLES
from conspectus.pipelines.steps.reports.llm import STAGE as REPORT
from conspectus.prompts.client.usage_and_cost import Spending
from conspectus.prompts.embedding.endpoint import STEP as EMBED
from conspectus.storage.settings import Settings

WITHIN = 2.0
"""Figures that depend on replies are expected within this factor of the estimate."""
_FROM_DOCUMENTS = ("extract", "claims", NER, "embed chunks")
"""Steps whose prompts contain no replies and are counted exactly."""
_ORDER = (*CHUNK_STEPS, NER, TRIPLES, VOTE, SUMMARISE, REPORT, EMBED)
_FIRST_TOKEN, _TOKENS_A_SECOND = 0.7, 60.0
"""Default latency of the first token in seconds, and tokens per second:
hosted models of the size of GPT-4o write 50 to 100 tokens per second."""


@dataclass(frozen=True, slots=True)
class Range:
    """Lower or upper bound of calls, tokens and dollars."""

    calls: int
    tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class StepEstimate:
    """The estimate of one step with one model.

    Attributes:
        step: The step.
        model: The model.
        calls: Calls to the server.
        remembered: Calls with a cached reply: they cost nothing and are not in `calls`.
        prompt_tokens: Tokens of all prompts.
        completion_tokens: Tokens of all replies.
        cost: US dollars; None if the settings have no price of the model.
        seconds: Seconds that the calls take.
        low: Lower bound.
        high: Upper bound.
    """

    step: str
    model: str
    calls: int
    remembered: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    seconds: float
    low: Range
    high: Range

    @property
    def tokens(self) -> int:
        """Tokens of prompts and replies together."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate of a build, by step and in total.

    Attributes:
        index: The folder of the index.
        documents: Number of documents.
        chunks: Number of chunks; 0 if there is nothing to do.
        rehearsed: Number of chunks whose prompts were counted.
        observed: Number of chunks with cached replies, whose lengths are assumed for the others.
        unchanged: Whether the current version is already the index of this input.
        steps: The steps with model calls, in the order of a build.
        total: All steps together.
        time_assumes: The assumptions behind the seconds.
        warnings: Budgets that are too small.
    """

    index: Path
    documents: int
    chunks: int
    rehearsed: int
    observed: int
    unchanged: bool
    steps: tuple[StepEstimate, ...]
    total: StepEstimate
    time_assumes: str
    warnings: tuple[str, ...] = ()


def totals(
    plan: BuildPlan,
    chunks: int,
    spending: Sequence[Spending],
    settings: Settings,
    latency: float | None,
    *,
    observed: int = 0,
) -> Estimate:
    """Return the estimate of a build with so many chunks from the spending of each step; see `Estimate`."""
    asking = sorted(
        (item for item in spending if item.calls or item.remembered), key=lambda item: _ORDER.index(item.step)
    )
    steps = tuple(_step(spent, _seconds(spent, settings, latency)) for spent in asking)
    by_model, llm, warnings = _total([step for step in steps if step.step != EMBED]), settings.llm, []
    if llm.max_tokens is not None and by_model.tokens > llm.max_tokens:
        warnings.append(f"llm.max_tokens is {llm.max_tokens:,}: one run will not suffice")
    if llm.max_cost is not None and by_model.cost is not None and by_model.cost > llm.max_cost:
        warnings.append(f"llm.max_cost is ${llm.max_cost:g}: one run will not suffice")
    return Estimate(
        index=plan.index,
        documents=len(plan.documents),
        chunks=chunks,
        rehearsed=chunks if settings.extracts_with else 0,
        observed=observed,
        unchanged=plan.is_unchanged,
        steps=steps,
        total=_total(steps),
        time_assumes=_assumed(settings, latency),
        warnings=tuple(warnings),
    )


def _step(spent: Spending, seconds: float) -> StepEstimate:
    is_exact = spent.step in _FROM_DOCUMENTS
    exact, tokens = spent.prompt_tokens if is_exact else 0, spent.prompt_tokens + spent.completion_tokens
    dollars = spent.cost if spent.calls else 0.0

    def end(times: float) -> Range:
        found = exact + (tokens - exact) * times
        calls = spent.calls if is_exact else round(spent.calls * times)
        return Range(calls, round(found), None if dollars is None else dollars * found / max(tokens, 1))

    counts = spent.calls, spent.remembered, spent.prompt_tokens, spent.completion_tokens
    return StepEstimate(spent.step, spent.model, *counts, dollars, round(seconds, 1), end(1 / WITHIN), end(WITHIN))


def _total(steps: Sequence[StepEstimate]) -> StepEstimate:
    """Return the total of some steps. Embedding and model calls overlap, so the longer time counts."""
    names = ("calls", "remembered", "prompt_tokens", "completion_tokens")
    calls, remembered, prompt, completion = (sum(getattr(step, name) for step in steps) for name in names)
    by_endpoint = sum(step.seconds for step in steps if step.step == EMBED)
    seconds = max(by_endpoint, sum(step.seconds for step in steps) - by_endpoint)
    low, high = (
        Range(sum(end.calls for end in ends), sum(end.tokens for end in ends), _sum(end.cost for end in ends))
        for ends in ([step.low for step in steps], [step.high for step in steps])
    )
    dollars = _sum(step.cost for step in steps)
    return StepEstimate("total", "", calls, remembered, prompt, completion, dollars, round(seconds, 1), low, high)


def _sum(costs: Iterable[float | None]) -> float | None:
    """Return the sum; None if one is unknown."""
    known = list(costs)
    return None if None in known else sum(dollars for dollars in known if dollars is not None)


def _seconds(spent: Spending, settings: Settings, latency: float | None) -> float:
    """Return the seconds of these calls, by latency and concurrency or by the limits per minute."""
    if not spent.calls:
        return 0.0
    if latency is None:
        latency = _FIRST_TOKEN + spent.completion_tokens / spent.calls / _TOKENS_A_SECOND
    if spent.step == EMBED:
        return spent.calls * latency / min(settings.embedding_server.concurrency, spent.calls)
    llm, tokens = settings.llm, spent.prompt_tokens + spent.completion_tokens
    return max(
        spent.calls * latency / min(llm.concurrency, spent.calls),
        60 * spent.calls / llm.requests_per_minute if llm.requests_per_minute else 0.0,
        60 * tokens / llm.tokens_per_minute if llm.tokens_per_minute else 0.0,
    )


def _assumed(settings: Settings, latency: float | None) -> str:
    """Return the assumptions behind the time."""
    usual = f"{_FIRST_TOKEN:g} s and 1 s for {_TOKENS_A_SECOND:.0f} tokens of reply"
    call = f"a call takes {usual if latency is None else f'{latency:g} s'} (--latency)"
    llm = settings.llm
    limits = ((llm.requests_per_minute, "requests"), (llm.tokens_per_minute, "tokens"))
    told = [f"{limit:,} {name} a minute" for limit, name in limits if limit]
    return f"{call}; {', '.join([f'{llm.concurrency} calls at once', *told])}"


def summary(made: Estimate) -> dict[str, Any]:
    """Return an estimate as plain values, as printed with --json."""
    return {**asdict(made), "index": str(made.index)}
