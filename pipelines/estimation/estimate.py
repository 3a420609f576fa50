"""Estimate calls, tokens, cost and time of indexing; no server is called and nothing is written.

The prompts about chunks are made as in a build and counted. The later steps follow by arithmetic from the tokens that
the model writes about the chunks.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, sqrt
from pathlib import Path

from conspectus.pipelines.build_plan import BuildPlan, plan_build, source_of
from conspectus.pipelines.estimation.totals import Estimate, totals
from conspectus.pipelines.exchange.kg.read import read_graph
from conspectus.pipelines.incremental import changed_source
from conspectus.pipelines.remote_index.shared_memo import open_memo_reader
from conspectus.pipelines.resolution.llm_vote import STAGE as VOTE
from conspectus.pipelines.steps.chunks import split_documents
from conspectus.pipelines.steps.descriptions import STAGE as SUMMARISE
from conspectus.pipelines.steps.extract.llm import extract_chunks, guidance_of
from conspectus.pipelines.steps.extract.openie import NER, TRIPLES, extract_open
from conspectus.pipelines.steps.reports.llm import STAGE as REPORT
from conspectus.pipelines.steps.vectors import MOST_EMBEDDED, vector_kind, windows_of_chunks
from conspectus.prompts.client.capabilities import requested_schema
from conspectus.prompts.client.client import sendable
from conspectus.prompts.client.reply_cache import KIND, ReplyMemo, reply_key, step_source
from conspectus.prompts.client.usage_and_cost import Spending, cost
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.prompts.embedding.endpoint import STEP as EMBED
from conspectus.prompts.language_model import Reply, Request
from conspectus.prompts.render import prompt_text, prompts_of
from conspectus.prompts.replies.structured import Retrying
from conspectus.storage.errors import IndexUnusable
from conspectus.storage.hashing import digest
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import MEMO
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk
from conspectus.storage.settings import LlmSettings, Settings
from conspectus.storage.text.tokens import count_each

TOKENS_A_CALL = {VOTE: 3_000, SUMMARISE: 3_000, REPORT: 600}
"""Tokens of replies about chunks for each call of a later step.

GraphRAG's index of the story has a report for each 420 tokens of replies. For 150 passages of HotpotQA only the calls
were counted; with some 90,000 tokens of replies, which is assumed, a report comes to 920, a vote on names to 2,800 and
a summary to 2,500."""
PROMPT_TOKENS = {VOTE: 500, SUMMARISE: 600}
"""Tokens of a prompt of these steps besides its instructions, in the same builds."""
IN_REPORTS = 1.5
"""Prompts of reports that contain a record: 2.1 in GraphRAG's index, 0.9 in that of HotpotQA."""
REPLY_TOKENS = {VOTE: 110, SUMMARISE: 165, REPORT: 900}
"""Tokens of a reply: of ten votes; of three quarters of the words that a prompt asks for; and of a report: those of
GraphRAG's index have 877 tokens on four records and 1,818 on 93."""
CHUNKS_A_CALL = 5
"""Chunks that the prompt of a later step depends on: a change of one of them changes the prompt."""
EMBEDDED_OF_REPORT = 775
"""Tokens of the text of a report: .86 of the reply in GraphRAG's index, which has the scores and signs of JSON too."""
NAMES_A_REPORT = 4.3
"""Entities for each report in GraphRAG's index: 529 and 122."""
RECORD_TOKENS = 43.5
"""Tokens of an entity or relationship in the recorded extractions."""
TEXTS_A_RECORD, EMBEDDED_AGAIN = 2.0, 0.4
"""Texts besides chunks and reports that are embedded for a record, and their tokens for each token of the replies.

Builds of the examples with the fake server have 1.0 to 1.9 and .2 to .4; without a model 2.3 to 4.9 and .2 to 1.0."""
_RESHAPES = ("communities", "kg", "llm", "reports", "resolution")
"""Sections of the settings that change the prompts of reports."""


def estimate(
    inputs: Sequence[str | Path],
    index: Path,
    settings: Settings,
    *,
    names: Sequence[str] | None = None,
    latency: float | None = None,
    retry_failed: bool = False,
) -> Estimate:
    """Return the estimated cost of `build_index`, or of `change_documents`, with the same arguments.

    No API key is needed. Failed calls and retries are not included.

    Args:
        inputs: As for `build_index`.
        index: The folder of the index, which need not exist. Cached results cost nothing.
        settings: Settings of the build.
        names: As for `change_documents`; None for `build_index`.
        latency: Seconds per call; None to derive it from the length of the replies.
        retry_failed: As for `build_index`.

    Raises:
        InputError, UsageError, MissingPart: As for `build_index`.
    """
    source = source_of(inputs, settings) if names is None else changed_source(inputs, names, index, settings)
    plan = plan_build(source, index, settings, retry_failed=retry_failed)
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
        return totals(plan, 0, (), settings, latency)
    chunks = split_documents(plan.documents, settings.chunks) if chunks is None else chunks
    if not (settings.extracts_with or settings.reports_with or settings.embedding.provider == "endpoint"):
        return totals(plan, len(chunks), (), settings, latency)
    counting = _Counting(plan, settings, chunks, retry_failed=retry_failed)
    with prompts_of(settings.llm.prompts):
        counting.count_chunks()
        counting.count_later_steps()
        counting.count_embedding()
    return totals(plan, len(chunks), counting.spending, settings, latency, observed=counting.observed)


class _Counting:
    """The counts of one estimate, from step to step."""

    def __init__(self, plan: BuildPlan, settings: Settings, chunks: Sequence[Chunk], *, retry_failed: bool) -> None:
        self._plan = plan
        self._settings = settings
        self._chunks = chunks
        self._memo = open_memo_reader(plan.index / MEMO, shares=settings.build.share_results)
        self._retry = retry_failed
        self._graph = read_graph(settings.kg, settings.input)
        texts = [chunk.text for chunk in chunks]
        self._tokens = dict(zip(map(digest, texts), count_each(texts), strict=True))
        self._changed = 1.0
        """Share of the chunks that are new or gone."""
        self._written = float(sum(self._tokens.values()))
        """Tokens that the model writes about all chunks; without a model those of the chunks take their place."""
        self._reports = 0
        self.spending: list[Spending] = []
        self.observed = 0

    def count_chunks(self) -> None:
        """Count the calls about chunks: those of extraction, gleaning, claims and OpenIE."""
        if not self._settings.extracts_with:
            return
        settings, documents = self._settings.extraction, self._plan.documents
        counting = CountingModel(self._settings.llm, self._memo, self._tokens)
        guidance, model = guidance_of(settings), Retrying(counting) if self._retry else counting
        if settings.method == "openie":
            asyncio.run(extract_open(documents, self._chunks, model, persona=guidance.persona))
        else:
            asyncio.run(extract_chunks(documents, self._chunks, settings, model, guidance=guidance))
        checks, gleaned = (counting.by_step[step].remembered for step in ("glean_check", "glean"))
        yes = min(gleaned / checks, 1.0) if checks >= ENOUGH else SAYS_YES
        self._written, self.observed = 0.0, counting.by_step["extract"].remembered
        for step, tally in counting.by_step.items():
            times = yes / SAYS_YES if step == "glean" else 1.0
            written = times * tally.completion_tokens
            self._add(step, times * tally.calls, tally.remembered, times * tally.prompt_tokens, written)
            self._written += tally.remembered_tokens + written
        gone = _texts_of(self._plan) - self._tokens.keys()
        self._changed = (len(counting.new) + len(gone)) / max(len(self._tokens) + len(gone), 1)

    def count_later_steps(self) -> None:
        """Count the votes on names, the summaries and the reports."""
        settings, by_model = self._settings, self._settings.extracts_with
        votes = by_model and settings.resolution.vote != "off"
        summaries = by_model and settings.extraction.method != "openie"
        for step, is_asked in ((VOTE, votes), (SUMMARISE, summaries)):
            if is_asked:
                self._count_later(step, self._written / TOKENS_A_CALL[step], PROMPT_TOKENS[step])
        if settings.reports_with:
            # By default only communities that documents name get a report.
            of_graph = len(self._graph.names) if self._graph and settings.reports.method == "model" else 0
            expected = self._written / TOKENS_A_CALL[REPORT] + of_graph / NAMES_A_REPORT
            records = (self._written + of_graph * RECORD_TOKENS) * IN_REPORTS / max(expected, 1)
            self._reports = self._count_later(REPORT, expected, min(records, settings.reports.max_input_tokens))

    def _count_later(self, step: str, expected: float, tokens: float) -> int:
        """Count a step whose prompts have so many tokens besides the instructions, and return its calls.

        Cached replies stay valid where the changed chunks do not touch their prompts.
        """
        current, expected = self._plan.current, ceil(expected)
        cached = sum(kind == KIND for kind, _ in self._memo.made_from(step_source(step)))
        kept = (1.0 - self._changed) ** CHUNKS_A_CALL
        if current and "llm" in current.settings:  # a model made the current version
            cached = min(cached, current.rows["reports"]) if step == REPORT else cached
            expected = round(cached * len(self._chunks) / max(current.rows["chunks"], 1))
            differ = [name for name in _RESHAPES if current.settings.get(name) != self._plan.index_settings.get(name)]
            kept = 0.0 if step == REPORT and differ else kept
        remembered = min(cached, round(max(expected, cached) * kept))
        failures = self._plan.previous_failures() if self._retry else []
        again = len({failure.item_id for failure in failures if failure.stage == step})
        calls = max(expected - remembered, min(again, remembered))
        prompt = tokens + count_each([prompt_text(f"index/{step}")])[0]
        reply = min(REPLY_TOKENS[step], self._settings.llm.max_output_tokens)
        self._add(step, calls, remembered, calls * prompt, calls * reply)
        return calls

    def count_embedding(self) -> None:
        """Count the texts that an endpoint embeds: those of chunks and of a graph exactly, the others by arithmetic."""
        settings, server = self._settings.embedding, self._settings.embedding_server
        if settings.provider != "endpoint":
            return
        embedder = open_embedder(settings, server)
        texts = [text for windows in windows_of_chunks(self._plan.documents, self._chunks) for text in windows]
        if self._graph:
            texts += [*self._graph.names[:MOST_EMBEDDED], *self._graph.predicates]
        pieces = {digest(piece): piece for text in texts for piece in embedder.windows(text)}
        missing = self._memo.missing(vector_kind(embedder.name), pieces)
        share = len(missing) / max(len(pieces), 1)
        more = share * TEXTS_A_RECORD * self._written / RECORD_TOKENS + self._reports
        tokens = sum(count_each(settings.document_prefix + pieces[key] for key in missing))
        tokens += round(share * EMBEDDED_AGAIN * self._written + self._reports * EMBEDDED_OF_REPORT)
        calls = sum(ceil(count / server.batch_size) for count in (len(missing), more))
        price = None if server.price is None else tokens * server.price / 1_000_000
        self.spending.append(Spending(EMBED, settings.model, calls, 0, len(pieces) - len(missing), tokens, cost=price))

    def _add(self, step: str, calls: float, remembered: int, prompt: float, completion: float) -> None:
        """Add the spending of a step with the model that the settings name for it."""
        llm = self._settings.llm
        model, asked, written = llm.step_models.get(step, llm.model), round(prompt), round(completion)
        dollars = cost(llm.prices, model, asked, written)
        self.spending.append(Spending(step, model, round(calls), 0, remembered, asked, written, cost=dollars))


def _texts_of(plan: BuildPlan) -> set[str]:
    """Return the digests of the chunks of the current version, if there is a readable one."""
    try:
        chunks = StoredIndex(plan.index, plan.current).rows(Chunk) if plan.current else []
    except IndexUnusable:
        return set()
    return {digest(chunk.text) for chunk in chunks}


PER_ROOT = {"extract": 33.7, "glean": 22.6, "claims": 31.4, NER: 2.2, TRIPLES: 6.0}
"""Tokens of a reply for the square root of the tokens of its chunk: 17 x 43.5 x 1.6 / sqrt(1195) for `extract`.

For claims it is that of 9.7 records of 112 tokens without the 1.6; for OpenIE 15 names of 5 tokens and as many triples
of 14 tokens, as records have one name or two."""
FIXED = {"glean_check": 9.0, "claims_glean": 4.0}
"""Tokens of replies whose length does not depend on the text: yes or no, and the sign that nothing was missed."""
SAYS_YES = 0.45
"""Share of chunks for which the model says that it missed something."""
ENOUGH = 5
"""Cached replies of a step that replace these figures."""
_TEXTS = {
    "glean_check": '{"answer": "Yes"}',
    "claims": '("claim"<|>"A"<|>"NONE"<|>"a"<|>"TRUE"<|>"NONE"<|>"NONE"<|>"WORDS"<|>"A")<|COMPLETE|>',
    "claims_glean": "<|COMPLETE|>",
    NER: '{"entities": ["WORDS"]}',
    TRIPLES: '{"triples": [["a", "WORDS", "b"]]}',
}
_RECORD = '("entity"<|>"A"<|>"thing"<|>"WORDS")<|COMPLETE|>'
"""Replies with one part, whose words make up the length, because later prompts contain the reply."""


@dataclass(slots=True)
class Tally:
    """The sums over the requests of one step: those to be paid for, and those with a cached reply.

    Calls are an expected number.
    """

    calls: float = 0.0
    prompt_tokens: float = 0.0
    usual_tokens: float = 0.0
    remembered: int = 0
    remembered_tokens: int = 0

    @property
    def completion_tokens(self) -> float:
        """The expected tokens of the replies to be paid for: as long as the cached ones, if there are enough."""
        if self.remembered < ENOUGH:
            return self.usual_tokens
        return self.calls * self.remembered_tokens / self.remembered


class CountingModel:
    """Answers requests about chunks from the cache, or else with a text of the usual length, and counts both."""

    def __init__(self, settings: LlmSettings, memo: Memo, chunk_tokens: Mapping[str, int]) -> None:
        """`chunk_tokens` are the tokens of the chunks by the digests of their texts."""
        self._settings = settings
        self._memo = ReplyMemo(memo)
        self._chunk_tokens = chunk_tokens
        self.by_step = defaultdict[str, Tally](Tally)
        self.new: set[str] = set()
        """Digests of the chunks with a reply that is not cached."""

    async def complete(self, request: Request) -> Reply:
        """Return a reply and count it."""
        step, tally = request.step, self.by_step[request.step]
        name = self._settings.step_models.get(step, self._settings.model)
        most = self._settings.max_output_tokens
        most = min(request.max_tokens or most, most)
        reply = await self._remembered(request, name, most)
        if reply is not None:
            tally.remembered += 1
            tally.remembered_tokens += reply.completion_tokens
            return reply
        self.new.update(request.sources)
        # Every answer here is yes, so a gleaning counts as much as a yes is to be expected.
        replies = sum(message.role == "assistant" for message in request.messages)
        expected = SAYS_YES ** {"glean": replies, "glean_check": replies - 1}.get(step, 0)
        tally.calls += expected
        tally.prompt_tokens += expected * sum(_tokens(message.content) for message in request.messages)
        usual = FIXED.get(step) or PER_ROOT[step] * sqrt(max(self._chunk_tokens[request.sources[0]], 1))
        written = min(round(usual), most)
        tally.usual_tokens += expected * written
        return Reply(_TEXTS.get(step, _RECORD).replace("WORDS", "word " * written), name, "stop", 0, written)

    async def remember(self, request: Request, reply: Reply) -> None:
        """Do nothing: an estimate writes no cache."""

    async def _remembered(self, request: Request, name: str, most: int) -> Reply | None:
        if request.fresh:
            return None
        messages = tuple(replace(message, content=sendable(message.content)) for message in request.messages)
        request = replace(request, messages=messages)
        return await self._memo.get(reply_key(request, name, most, requested_schema(request), self._settings.extra))


@lru_cache(1 << 12)
def _tokens(text: str) -> int:
    """Return the tokens of a message, cached: all conversations of a step begin with the same one."""
    return count_each([text])[0]
