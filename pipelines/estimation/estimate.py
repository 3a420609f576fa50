"""Estimate calls, tokens, cost and time of indexing; no server is called and nothing is written.

The steps of a build (`index_steps`) run with a model and an embedder that only count. Prompts are counted exactly
unless they contain replies; replies have the expected length (see replies.py). Of a large corpus a sample is run, and
half of it to extrapolate the later steps. The result is expected within a factor of the estimate: `UNSEEN` without
cached replies of the model, `SEEN` with many.
"""

import asyncio
import math
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conspectus.pipelines.backends.base import Backend, open_backend
from conspectus.pipelines.backends.llm import LlmBackend
from conspectus.pipelines.backends.openie import OpenieLlmBackend
from conspectus.pipelines.build_index import Build, index_steps
from conspectus.pipelines.build_plan import BuildPlan, plan_build, source_of
from conspectus.pipelines.estimation.counting import CountingEmbedding, CountingModel, NoWriter
from conspectus.pipelines.estimation.replies import Observed, ReplyModel, SyntheticReplies, certainty, learn
from conspectus.pipelines.estimation.totals import Estimate, totals
from conspectus.pipelines.exchange.kg.builder import ImportedGraph
from conspectus.pipelines.exchange.kg.read import read_graph
from conspectus.pipelines.incremental import changed_source
from conspectus.pipelines.remote_index.sharing import open_memo_reader
from conspectus.pipelines.runner import RunHere, no_progress
from conspectus.pipelines.steps.chunks import split_documents
from conspectus.pipelines.steps.communities import earlier_communities
from conspectus.pipelines.steps.descriptions import STAGE as SUMMARISE
from conspectus.pipelines.steps.extract.llm import CHUNK_STEPS, Guidance, extract_chunks
from conspectus.pipelines.steps.extract.openie import NER, TRIPLES
from conspectus.pipelines.steps.reports.llm import STAGE as REPORT
from conspectus.prompts.client.reply_cache import KIND, ReplyMemo, step_source
from conspectus.prompts.client.usage_and_cost import Spending, cost
from conspectus.prompts.embedding.endpoint import STEP as EMBED
from conspectus.prompts.language_model import Reply
from conspectus.prompts.render import prompts_of
from conspectus.storage.errors import IndexUnusable
from conspectus.storage.hashing import digest
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import MEMO
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk
from conspectus.storage.settings import Settings, read_tuned

MOST = 300
"""Maximum chunks of the sample, which takes some seconds."""
MOST_REMEMBERED = 2000
"""Maximum chunks of the sample if all replies are cached; then the estimate is exact."""
MOST_WITHOUT_MODEL = 60
"""Maximum chunks of the sample without a model, to count the texts for an embedding endpoint."""

_PER_CHUNK = (*CHUNK_STEPS, NER, TRIPLES, "embed chunks")
"""Steps whose calls are proportional to the number of chunks."""
_LATER_REPLIES = 200
"""Maximum cached replies of each later step that are examined."""


def estimate(
    inputs: Sequence[str | Path],
    index: Path,
    settings: Settings,
    *,
    latency: float | None = None,
    retry_failed: bool = False,
) -> Estimate:
    """Return the estimated cost of `build_index` with the same arguments. No API key is needed.

    Failed calls and retries are not included.

    Args:
        inputs: As for `build_index`.
        index: The folder of the index, which need not exist. Cached results cost nothing.
        settings: Settings of the build.
        latency: Seconds per call; None to derive it from the length of the replies.
        retry_failed: As for `build_index`.

    Raises:
        InputError, UsageError, MissingPart: As for `build_index`.
    """
    plan = plan_build(source_of(inputs, settings), index, settings, retry_failed=retry_failed)
    return estimate_plan(plan, settings, latency=latency, retry_failed=retry_failed)


def estimate_change(
    inputs: Sequence[str | Path],
    names: Sequence[str],
    index: Path,
    settings: Settings,
    *,
    latency: float | None = None,
    retry_failed: bool = False,
) -> Estimate:
    """Return the estimated cost of `change_documents` with the same arguments, as `estimate` does."""
    plan = plan_build(changed_source(inputs, names, index, settings), index, settings, retry_failed=retry_failed)
    return estimate_plan(plan, settings, latency=latency, retry_failed=retry_failed)


def estimate_plan(
    plan: BuildPlan,
    settings: Settings,
    chunks: Sequence[Chunk] | None = None,
    *,
    latency: float | None = None,
    retry_failed: bool = False,
) -> Estimate:
    """Return the estimate of a planned build, optionally with its chunks."""
    settings = plan.settings
    if plan.is_unchanged:
        return totals(plan, (), (), settings, latency, certain=1.0)
    rehearsal = _Rehearsal(plan, settings, chunks, retry_failed=retry_failed)
    if not settings.extracts_with and settings.embedding.provider != "endpoint":
        return totals(plan, rehearsal.chunks, (), settings, latency, certain=1.0)
    with prompts_of(settings.llm.prompts):
        sample = rehearsal.sample()
        whole = rehearsal.run(sample.chosen)
        if not sample.is_whole:
            whole = _extrapolated(whole, rehearsal.run(sample.chosen[::2]), sample, settings)
    return totals(
        plan,
        rehearsal.chunks,
        _embedding_as_one_step(whole, settings),
        settings,
        latency,
        certain=certainty(rehearsal.observed),
        rehearsed=len(rehearsal.chunks) if sample.is_whole else len(sample.chosen),
        observed=sum(seen.request.step == "extract" for seen in rehearsal.observed),
    )


@dataclass(frozen=True, slots=True)
class Sample:
    """Digests of texts: those with a reply that is not cached, the others, and the sample."""

    unknown: Sequence[str]
    known: Sequence[str]
    chosen: Sequence[str]

    @property
    def is_whole(self) -> bool:
        """Whether the sample has all texts."""
        return len(self.chosen) == len(self.unknown) + len(self.known)


def draw(texts: Collection[str], unknown: Collection[str], most: int) -> Sample:
    """Return a deterministic sample of about `most` texts, given by their digests."""
    new, old = sorted(set(texts) & set(unknown)), sorted(set(texts) - set(unknown))
    if len(texts) <= most or (not new and len(texts) <= MOST_REMEMBERED):
        return Sample(new, old, sorted(texts))
    of_new = min(len(new), max(most - len(old), round(most * len(new) / len(texts)), most // 5))
    return Sample(new, old, sorted([*_every(new, of_new), *_every(old, most - of_new)]))


def _every(digests: Sequence[str], most: int) -> list[str]:
    """Return at most `most` hashes, evenly spaced in a sorted list: a random sample."""
    return [digests[place * len(digests) // most] for place in range(most)] if len(digests) > most else list(digests)


class _Rehearsal:
    """A build of a corpus, or of some of its chunks, without a server and without writing anything."""

    def __init__(
        self, plan: BuildPlan, settings: Settings, chunks: Sequence[Chunk] | None, *, retry_failed: bool
    ) -> None:
        self._plan = plan
        self._settings = settings
        self._retry = retry_failed
        self._memo = open_memo_reader(plan.index / MEMO, shares=settings.build.share_results)
        self._graph: ImportedGraph | None = read_graph(settings.kg)
        self.chunks = split_documents(plan.documents, settings.chunks) if chunks is None else chunks
        self._texts = {digest(chunk.text): chunk.text for chunk in self.chunks}
        self.observed: list[Observed] = []
        self._model = ReplyModel()

    def sample(self) -> Sample:
        """Return the chunks to run; with a model, also calibrate with the cached replies."""
        if not self._settings.extracts_with:
            return draw(self._texts, self._texts, MOST_WITHOUT_MODEL)
        self.observed, unknown = self._looked_up(self.chunks)
        others = [chunk for chunk in _chunks_of(self._plan) if digest(chunk.text) not in self._texts]
        self.observed += self._looked_up(others)[0]
        texts = {**self._texts, **{digest(chunk.text): chunk.text for chunk in others}}
        later = {step: _remembered(self._memo, step) for step in (REPORT, SUMMARISE)}
        self._model = learn(ReplyModel(), self.observed, later, texts)
        return draw(self._texts, unknown, MOST)

    def run(self, digests: Sequence[str]) -> tuple[Spending, ...]:
        """Return the spending of a build of these chunks."""
        is_whole = len(digests) == len(self._texts)
        chunks = self.chunks if is_whole else self._part(digests)
        of_part = {chunk.document_id for chunk in chunks}
        documents = self._plan.documents
        if not is_whole:
            documents = [document for document in documents if document.id in of_part]
        settings = self._settings
        embedding = CountingEmbedding(settings.embedding, settings.embedding_server, self._memo, RunHere())
        with tempfile.TemporaryDirectory() as folder:
            # Annotations go to a temporary memo: nothing is written to that of the index.
            backend = self._backend(Memo(Path(folder) / "memo.sqlite"), is_whole=is_whole)
            build = Build(documents, chunks, self._graph, self._plan.marks, settings, backend, embedding, NoWriter())
            index_steps(build)
        return (*backend.spending(), *embedding.meter.spending())

    def _backend(self, memo: Memo, *, is_whole: bool) -> Backend:
        settings = self._settings
        # A subset of the corpus has other communities.
        earlier = earlier_communities(self._plan.index, self._plan.current, settings) if is_whole else None
        if not settings.extracts_with:
            return open_backend(settings, memo, RunHere(), no_progress, earlier, retry_failed=False)
        replies = SyntheticReplies(self._model, settings, self._texts)
        model = CountingModel(settings.llm, self._memo, replies)
        if settings.extraction.method == "openie":
            return OpenieLlmBackend(settings, memo, RunHere(), no_progress, model, retry=self._retry, earlier=earlier)
        return LlmBackend(settings, memo, no_progress, model, retry=self._retry, earlier=earlier)

    def _part(self, digests: Sequence[str]) -> list[Chunk]:
        """Return the chunks with these texts, each text once."""
        wanted = set(digests)
        chosen = {key: chunk for chunk in self.chunks if (key := digest(chunk.text)) in wanted}
        return sorted(chosen.values(), key=lambda chunk: chunk.id)

    def _looked_up(self, chunks: Sequence[Chunk]) -> tuple[list[Observed], set[str]]:
        """Return the cached replies to chunks, and the digests of chunks with a reply that is not cached."""
        settings, probe = self._settings, CountingModel(self._settings.llm, self._memo)
        if settings.extraction.method == "openie":
            return [], {digest(chunk.text) for chunk in chunks}
        tuned = read_tuned(settings.extraction)
        guidance = Guidance(tuned.extracts_as(), tuned.extract_examples, tuned.claims_examples)
        asyncio.run(extract_chunks(self._plan.documents, chunks, settings.extraction, probe, guidance=guidance))
        return probe.observed, probe.unknown


def _chunks_of(plan: BuildPlan) -> list[Chunk]:
    """Return the chunks of the current version, if there is a readable one."""
    try:
        return StoredIndex(plan.index, plan.current).rows(Chunk) if plan.current else []
    except IndexUnusable:
        return []


def _remembered(memo: Memo, step: str) -> list[Reply]:
    """Return some cached replies of a step."""
    keys = sorted(key for kind, key in memo.made_from(step_source(step)) if kind == KIND)[:_LATER_REPLIES]
    return [reply for reply in asyncio.run(_replies(memo, keys)) if reply is not None]


async def _replies(memo: Memo, keys: Iterable[str]) -> list[Reply | None]:
    replies = ReplyMemo(memo)
    return await asyncio.gather(*(replies.get(key) for key in keys))


def _extrapolated(
    whole: Sequence[Spending], half: Sequence[Spending], sample: Sample, settings: Settings
) -> tuple[Spending, ...]:
    """Return the spending for the corpus, extrapolated from a sample and half of it.

    Extraction is proportional to the chunks. Later steps follow a power law fitted to half of the sample and all of it.
    Their prompts are assumed to be new if there are new chunks, because a prompt changes with every chunk of its
    community.
    """
    chosen = set(sample.chosen)
    n_new, n_old = len(chosen & set(sample.unknown)), len(chosen & set(sample.known))
    to_new = len(sample.unknown) / n_new if n_new else 1.0
    to_old = len(sample.known) / n_old if n_old else to_new
    size = (len(sample.unknown) + len(sample.known)) / len(chosen)
    before = {(spent.step, spent.model): spent for spent in half}
    grown = []
    for spent in whole:
        earlier = before.get((spent.step, spent.model), Spending(spent.step, spent.model))
        if spent.step in _PER_CHUNK:
            grown.append(_scaled(spent, to_new, to_new, to_old, settings))
        else:
            calls = _growth(spent, earlier, size, lambda one: one.calls + one.remembered)
            tokens = _growth(spent, earlier, size, lambda one: one.prompt_tokens + one.completion_tokens)
            grown.append(_scaled(spent, calls, tokens, calls, settings))
    return tuple(grown)


def _growth(now: Spending, before: Spending, size: float, amount: Callable[[Spending], int]) -> float:
    if not (amount(now) and amount(before)):
        return size
    power = math.log2(amount(now) / amount(before))
    return float(size ** min(max(power, 0.0), 1.25))


def _scaled(spent: Spending, calls: float, tokens: float, remembered: float, settings: Settings) -> Spending:
    prompt, completion = round(spent.prompt_tokens * tokens), round(spent.completion_tokens * tokens)
    return replace(
        spent,
        calls=round(spent.calls * calls),
        attempts=round(spent.calls * calls),
        remembered=round(spent.remembered * remembered),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=cost(settings.llm.prices, spent.model, prompt, completion),
    )


def _embedding_as_one_step(whole: Sequence[Spending], settings: Settings) -> list[Spending]:
    """Return the spending with the embedding calls to an endpoint as one step, in batches."""
    kept = [spent for spent in whole if not spent.step.startswith(f"{EMBED} ")]
    texts = [spent for spent in whole if spent.step.startswith(f"{EMBED} ")]
    if settings.embedding.provider != "endpoint":
        return kept
    server = settings.embedding_server
    tokens = sum(spent.prompt_tokens for spent in texts)
    return [
        *kept,
        Spending(
            EMBED,
            settings.embedding.model,
            calls=sum(-(-spent.calls // server.batch_size) for spent in texts),
            remembered=sum(spent.remembered for spent in texts),
            prompt_tokens=tokens,
            cost=None if server.price is None else tokens * server.price / 1_000_000,
        ),
    ]
