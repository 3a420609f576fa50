"""What indexing will take, before it is done: no server is asked, and nothing is written."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conspectus.pipelines.build_report import can_be_retried
from conspectus.pipelines.estimation.embedding import embedding, without_model
from conspectus.pipelines.estimation.habits import Habits, bounds
from conspectus.pipelines.estimation.observed import certainty, chunks_of_the_version, later_replies, learn
from conspectus.pipelines.estimation.rehearsal import Corpus, Rehearsal, look_up, rehearse
from conspectus.pipelines.estimation.sampling import EXTRACTION, Spread, draw, extended, spread
from conspectus.pipelines.estimation.seconds import Pace
from conspectus.pipelines.plan import fingerprint_of, read_input
from conspectus.pipelines.resolution.llm_vote import STAGE as VOTE
from conspectus.pipelines.resolution.undo_log import fingerprinted, kept_marks, merges_of
from conspectus.pipelines.steps.chunks import split_documents
from conspectus.pipelines.steps.communities import earlier_of
from conspectus.prompts.client.usage import Spending
from conspectus.prompts.embedding.endpoint import STEP as EMBED
from conspectus.storage.errors import UsageError
from conspectus.storage.hashing import digest
from conspectus.storage.index import Index
from conspectus.storage.manifest import current_manifest, damaged_files
from conspectus.storage.memo import Memo
from conspectus.storage.memo_reader import MemoReader
from conspectus.storage.records import Chunk, Document, Failure
from conspectus.storage.settings import EmbeddingServerSettings, LlmSettings, Settings

_ORDER = (*EXTRACTION, VOTE, "summarise", "report", EMBED)
"""Steps as a build begins them."""


@dataclass(frozen=True, slots=True)
class Range:
    """Calls, tokens and dollars with replies that are terser, or wordier, than expected."""

    calls: int
    tokens: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class StepEstimate:
    """What one step will ask of one model.

    `remembered` calls have their replies in the memo: they are not among `calls` and cost nothing. `cost` is in US
    dollars, None where the price of the model is not in the settings. `seconds` is how long the server takes.
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
    """What a build would ask of models, by step and together.

    `unchanged`: the version in force already holds this input, and a build would do nothing. `rehearsed` is the number
    of chunks that the figures rest on, `observed` the number of chunks whose remembered replies they were learned from.
    `time_assumes` says what the seconds rest on; `warnings` name the budgets that will not suffice.
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


def estimate(
    inputs: Sequence[str | Path],
    index: Path,
    settings: Settings,
    *,
    latency: float | None = None,
    retry_failed: bool = False,
) -> Estimate:
    """Return what `build_index` with the same arguments would ask of models.

    The build is rehearsed: what the memo of the index holds is taken from there, every other reply is made up, as
    long as the model's own remembered replies or, where there are none, real replies of GPT-4o to other texts. Of a
    large corpus a sample is rehearsed. `latency` is seconds a call; without it, it follows from the length of the
    replies. Calls that fail and are tried again are not foreseen. Errors as for `build_index`; no key is needed.
    """
    documents, failures = read_input(inputs, settings)
    return estimate_read(documents, failures, index, settings, latency=latency, retry_failed=retry_failed)


def estimate_read(
    documents: Sequence[Document],
    failures: Sequence[Failure],
    index: Path,
    settings: Settings,
    *,
    chunks: Sequence[Chunk] | None = None,
    latency: float | None = None,
    retry_failed: bool = False,
) -> Estimate:
    """Return what `estimate` does, of an input that is read already, and split into chunks perhaps."""
    if _is_unchanged(index, documents, failures, settings, retry_failed=retry_failed):
        return _made(index, Corpus(documents, []), settings, (), latency, unchanged=True)
    corpus = Corpus(documents, split_documents(documents, settings.chunks) if chunks is None else chunks)
    memo = MemoReader(index / "cache" / "memo.sqlite")
    if settings.extracts_with and settings.extraction.method == "openie":
        raise UsageError(
            f"extraction.method `openie` has no estimate of tokens; it takes two calls for each of the "
            f"{len({each.text for each in corpus.chunks}):,} different chunks"
        )
    if not settings.extracts_with:
        return _without_model(index, corpus, settings, memo, latency)
    return _with_model(index, corpus, settings, memo, latency, retry_failed=retry_failed)


def _is_unchanged(
    index: Path, documents: Sequence[Document], failures: Sequence[Failure], settings: Settings, *, retry_failed: bool
) -> bool:
    current = current_manifest(index)
    if current is None:
        return False
    marks = fingerprinted(kept_marks(merges_of(index, current)))
    same = current.fingerprint == fingerprint_of(documents, failures, settings, settings.of_the_index(), marks=marks)
    if not same or damaged_files(index, current):
        return False
    return not (retry_failed and can_be_retried(Index(index, current).rows(Failure)))


def _without_model(index: Path, corpus: Corpus, settings: Settings, memo: Memo, latency: float | None) -> Estimate:
    spent: tuple[Spending, ...] = ()
    if settings.embedding.provider == "endpoint":
        rehearsed, growth = without_model(corpus, settings)
        spent = embedding(corpus, rehearsed, growth, settings, memo)
    return _made(index, corpus, settings, [Spread(each, each, each) for each in spent], latency)


def _with_model(
    index: Path, corpus: Corpus, settings: Settings, memo: Memo, latency: float | None, *, retry_failed: bool
) -> Estimate:
    found, unknown = look_up(corpus.chunks, settings, memo)
    texts = {digest(each.text): each.text for each in corpus.chunks}
    others = [each for each in chunks_of_the_version(index) if digest(each.text) not in texts]
    found += look_up(others, settings, memo)[0]
    seen = {source for each in found for source in each.request.sources}
    later = later_replies(index, memo, seen)
    habits = learn(Habits(), found, later, {**texts, **{digest(each.text): each.text for each in others}})
    sample = draw(texts, unknown)

    earlier = earlier_of(index, current_manifest(index), settings)

    def run(digests: Sequence[str], model: Habits) -> Rehearsal:
        if len(digests) == len(texts):
            marks = kept_marks(merges_of(index, current_manifest(index)))
            return rehearse(corpus, settings, memo, model, retry=retry_failed, earlier=earlier, marks=marks)
        # The communities of a part are others than those of the whole.
        return rehearse(corpus.part(digests), settings, memo, model, retry=retry_failed)

    whole = run(sample.chosen, habits)
    half = () if sample.is_whole else run(sample.half(), habits).spending
    expected = extended(whole.spending, half, sample, settings.llm.prices)
    if any(each.calls for each in expected):
        few = sample.bounded()
        near = whole.spending if len(few) == len(sample.chosen) else run(few, habits).spending
        terse, wordy = (run(few, each).spending for each in bounds(habits, certainty(found)))
        spreads = spread(expected, near, terse, wordy, len(texts) / max(len(few), 1), settings.llm.prices)
    else:
        spreads = [Spread(each, each, each) for each in expected]
    growth = len(texts) / max(len(sample.chosen), 1)
    rehearsed = len(corpus.chunks if sample.is_whole else sample.chosen)  # a text that comes again is asked for once
    spreads += [Spread(each, each, each) for each in embedding(corpus, whole, growth, settings, memo)]
    observed = sum(each.request.step == "extract" for each in found)
    return _made(index, corpus, settings, spreads, latency, rehearsed=rehearsed, observed=observed)


def _made(
    index: Path,
    corpus: Corpus,
    settings: Settings,
    spreads: Sequence[Spread],
    latency: float | None,
    *,
    rehearsed: int = 0,
    observed: int = 0,
    unchanged: bool = False,
) -> Estimate:
    paces = {False: _pace(settings.llm, latency), True: _pace(settings.embedding_server, latency)}
    asking = [each for each in spreads if each.high.calls or each.expected.remembered]
    in_order = sorted(asking, key=lambda each: (_ORDER.index(each.expected.step), each.expected.model))
    steps = tuple(_step(each, paces[each.expected.step == EMBED]) for each in in_order)
    total = _total(steps)
    return Estimate(
        index=index,
        documents=len(corpus.documents),
        chunks=len(corpus.chunks),
        rehearsed=rehearsed,
        observed=observed,
        unchanged=unchanged,
        steps=steps,
        total=total,
        time_assumes=paces[False].assumed(),
        warnings=tuple(_warnings(steps, settings.llm)),
    )


def _pace(server: LlmSettings | EmbeddingServerSettings, latency: float | None) -> Pace:
    return Pace(latency, server.concurrency, server.requests_per_minute, server.tokens_per_minute)


def _step(each: Spread, pace: Pace) -> StepEstimate:
    spent = each.expected
    return StepEstimate(
        step=spent.step,
        model=spent.model,
        calls=spent.calls,
        remembered=spent.remembered,
        prompt_tokens=spent.prompt_tokens,
        completion_tokens=spent.completion_tokens,
        cost=spent.cost if spent.calls else 0.0,
        seconds=round(
            pace.seconds(spent.calls, spent.prompt_tokens + spent.completion_tokens, spent.completion_tokens), 1
        ),
        low=_range(each.low),
        high=_range(each.high),
    )


def _range(spent: Spending) -> Range:
    return Range(spent.calls, spent.prompt_tokens + spent.completion_tokens, spent.cost if spent.calls else 0.0)


def _total(steps: Sequence[StepEstimate]) -> StepEstimate:
    """Return all steps as one. What an endpoint embeds it embeds while the model works: the longer of both counts."""
    by_model = sum(each.seconds for each in steps if each.step != EMBED)
    by_endpoint = sum(each.seconds for each in steps if each.step == EMBED)
    return StepEstimate(
        step="total",
        model="",
        calls=sum(each.calls for each in steps),
        remembered=sum(each.remembered for each in steps),
        prompt_tokens=sum(each.prompt_tokens for each in steps),
        completion_tokens=sum(each.completion_tokens for each in steps),
        cost=_dollars([each.cost for each in steps]),
        seconds=round(max(by_model, by_endpoint), 1),
        low=_sum([each.low for each in steps]),
        high=_sum([each.high for each in steps]),
    )


def _warnings(steps: Sequence[StepEstimate], llm: LlmSettings) -> Iterator[str]:
    """Yield a line for each budget that the steps of the language model pass."""
    by_model = [each for each in steps if each.step != EMBED]
    tokens, dollars = sum(each.tokens for each in by_model), _dollars([each.cost for each in by_model])
    if llm.max_tokens is not None and tokens > llm.max_tokens:
        yield f"llm.max_tokens is {llm.max_tokens:,}: one run will not suffice"
    if llm.max_cost is not None and dollars is not None and dollars > llm.max_cost:
        yield f"llm.max_cost is ${llm.max_cost:g}: one run will not suffice"


def _sum(ranges: Sequence[Range]) -> Range:
    return Range(
        sum(each.calls for each in ranges),
        sum(each.tokens for each in ranges),
        _dollars([each.cost for each in ranges]),
    )


def _dollars(costs: Sequence[float | None]) -> float | None:
    known = [each for each in costs if each is not None]
    return sum(known) if len(known) == len(costs) else None


def summary(made: Estimate) -> dict[str, Any]:
    """Return an estimate as plain values."""
    return {**asdict(made), "index": str(made.index)}
