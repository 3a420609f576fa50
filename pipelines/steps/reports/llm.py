"""Reports on communities by a language model: the community summaries of GraphRAG (Edge et al. 2024, section 3.1.5).

Each finding cites the places in the documents that support it.

All reports run concurrently. A report waits for others only if it needs them: a community whose elements do not fit
into a prompt waits for the reports of its largest parts, one after the other, until the prompt fits.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from conspectus.pipelines.steps.extract.llm import AT_ONCE
from conspectus.pipelines.steps.reports.cite import ReportAnswer, Supported, supported, without_labels
from conspectus.pipelines.steps.reports.prompt import (
    CitedRecord,
    Element,
    Elements,
    finding_text,
    largest_first,
    listed,
    packed,
    report_element,
    surely_fit,
    tokens_of,
    without,
)
from conspectus.prompts.client.event_loop import gather_all
from conspectus.prompts.client.window import window_for
from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.structured import ExchangeResult, Usability, ask_for, least_lost
from conspectus.storage.errors import BadAnswer, Deferred, ModelError
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Community, Failure, Report
from conspectus.storage.settings import ReportSettings
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.tokens import count_each

STAGE = "report"

StandIn = Callable[[Community], Report | None]
"""Writes a community's report without a model."""

Ready = Callable[[Iterable[str]], Awaitable[None]]
"""Waits until the entities and relations with the given ids have descriptions."""
FEWEST_FINDINGS, MOST_FINDINGS, MOST_WORDS = 5, 10, 1000
"""The extent that the prompt asks for: as many findings as GraphRAG, on two pages, so that many fit together."""

_Answered = tuple[ReportAnswer, Supported, list[Failure]]
"""A reply, its supported findings, and failures for the others."""


async def write_reports(
    communities: Sequence[Community],
    elements: Elements,
    model: LanguageModel,
    settings: ReportSettings,
    stand_in: StandIn | None = None,
    persona: str = "",
    ready: Ready | None = None,
) -> tuple[list[Report], list[Failure]]:
    """Return the reports, sorted by id, and the failures.

    Each community of `reports.min_size` entities or more gets one, even if it is on several levels. On the coarsest
    level every entity is in the prompt of one report: entities of a smaller community in that of the community with
    which they share most passages, or in a separate one if there is none. Communities that no document names (a graph
    may have very many) have reports if `reports.method` requests them. If a call fails, or no finding of its reply
    cites a record, the report is that of `stand_in`, if there is one, and a failure is recorded; the parent community
    then uses the elements instead. Findings without a record, and record numbers that do not exist, are dropped and
    recorded as failures too. BudgetReached is raised after the running calls have ended. `persona` is the role given
    to the model. A report waits until its elements are `ready`.
    """
    return await _Writing(communities, elements, model, settings, stand_in, persona, ready).all()


@dataclass(frozen=True, slots=True)
class _Written:
    """A report, if there is one. That of a model replaces its elements in the prompt of the parent community."""

    report: Report | None
    failures: tuple[Failure, ...]
    is_models: bool = False
    waits: bool = False
    """Whether the request waits for a batch: the parent community then waits, too."""


class _Writing:
    """The reports of one hierarchy, while they are written."""

    def __init__(
        self,
        communities: Sequence[Community],
        elements: Elements,
        model: LanguageModel,
        settings: ReportSettings,
        stand_in: StandIn | None,
        persona: str,
        ready: Ready | None,
    ) -> None:
        self._elements = elements
        self._model = model
        self._settings = settings
        self._stand_in = stand_in
        self._persona = persona
        self._ready = ready
        self._beside, alone = beside(communities, settings.min_size)
        self._due = [
            community
            for community in communities
            if community.same_as is None
            and (community.size >= settings.min_size or community.id in alone)
            and (community.chunk_ids or settings.method == "model")
        ]
        self._parts = _parts(communities, self._due)
        of_id = {community.id: community for community in communities}
        self._parent_of = {each.id: of_id[each.parent_id] for each in communities if each.parent_id in of_id}
        self._tasks: dict[str, asyncio.Task[_Written]] = {}
        self._running = asyncio.Semaphore(window_for(model, "report").slots or AT_ONCE)
        self._usability = Usability()

    async def all(self) -> tuple[list[Report], list[Failure]]:
        # Parts first, since others may wait for them, and what has elements in common near each other.
        pending = iter(sorted(self._due, key=self._path, reverse=True))

        async def work() -> list[_Written]:
            return [await self._begin(community) for community in pending]

        # So that few prompts are in memory. A report waits for none that is not begun before it.
        parts = await gather_all(work() for _ in range(min(AT_ONCE, len(self._due))))
        written = [writing for part in parts for writing in part]
        reports = [writing.report for writing in written if writing.report is not None]
        return sorted_by_id(reports), sorted_by_id(failure for writing in written for failure in writing.failures)

    def _path(self, community: Community) -> tuple[str, ...]:
        """Return the ids of the communities that contain a community, the largest first, and its own."""
        path: tuple[str, ...] = ()
        while community.id not in path:
            path = (community.id, *path)
            community = self._parent_of.get(community.id, community)
        return path

    def _begin(self, community: Community) -> asyncio.Task[_Written]:
        task = self._tasks[community.id] = asyncio.create_task(self._write(community))
        return task

    async def _write(self, community: Community) -> _Written:
        if self._ready:
            await self._ready(
                id_
                for each in (community, *self._beside.get(community.id, ()))
                for id_ in (*each.entity_ids, *each.relation_ids)
            )
        try:
            text, cited = listed(await self._records(community))
        except Deferred:
            return _Written(None, (), waits=True)
        if not text:
            return self._lost(community, "no record fits into reports.max_input_tokens", "")
        async with self._running:
            if why := self._usability.why_not:
                return self._lost(community, "not asked for", why)
            try:
                answer, found, failures = await self._answer(community, text, cited)
            except Deferred:
                return _Written(None, (), waits=True)
            except ModelError as error:
                self._usability.unusable += isinstance(error, BadAnswer)
                return self._lost(community, "the model gave no report", str(error))
        if not found.findings:
            self._usability.unusable += 1
            return self._lost(community, "no finding of the report rests on a record", "", failures)
        self._usability.usable += 1
        title, summary = (without_labels(item, cited) for item in (answer.title, answer.summary))
        report = _report(community, title, summary, answer, found)
        return _Written(report, tuple(failures), is_models=True)

    async def _records(self, community: Community) -> list[Element]:
        """Return the records of a community's prompt, within `max_input_tokens`."""
        most = window_for(self._model, "report").room(self._settings.max_input_tokens)
        shown = (community, *self._beside.get(community.id, ()))
        members = [id_ for each in shown for id_ in each.entity_ids]
        stated = [id_ for each in shown for id_ in each.relation_ids]
        left = self._elements.of(members, stated, measured=False)
        if surely_fit(left, most):  # as in most communities: counting tokens is what takes the time
            return left
        left = self._elements.of(members, stated)
        reports: list[Element] = []
        parts = self._parts.get(community.id, [])
        if parts and tokens_of(left, most) > most:
            whole = frozenset(members)
            own = {part.id: self._elements.of(part.entity_ids, part.relation_ids) for part in parts}
            inside = {part.id: frozenset(part.entity_ids) for part in parts}
            for id_ in largest_first(own, most):
                part = await self._tasks[id_]
                if part.waits:
                    raise Deferred("the report on a part waits for a batch")
                if part.report is None or not part.is_models:
                    continue
                substitute = report_element(part.report)
                rest = without(left, inside[id_], whole)
                if tokens_of([substitute, *rest], most) < tokens_of(left, most):
                    reports, left = [*reports, substitute], rest
                if tokens_of([*reports, *left], most) <= most:
                    break
        return packed(reports, left, most)

    async def _answer(self, community: Community, records: str, cited: Mapping[str, CitedRecord]) -> _Answered:
        prompt = messages(
            "index/report",
            persona=self._persona,
            records=records,
            words=str(MOST_WORDS),
            findings=f"{FEWEST_FINDINGS} to {MOST_FINDINGS}",
            collection=self._elements.collection,
        )
        sources = self._elements.sources(community.chunk_ids)
        request = Request(prompt, "report", sources=sources)

        async def exchange(model: LanguageModel) -> ExchangeResult[_Answered]:
            failures = []
            try:
                answer = await ask_for(model, request, ReportAnswer)
            except BadAnswer as bad:
                if not isinstance(bad.salvaged, ReportAnswer):
                    raise
                answer = bad.salvaged
                failures = [_failure(community, "the report was cut off", "what was complete before is kept")]
            # No place in a document can be cited for content of an imported graph alone.
            found = supported(answer, cited, self._elements.chunks, places=bool(community.chunk_ids))
            failures += _losses(community, found)
            n_lost = len(failures) or int(not found.findings)
            return ExchangeResult((answer, found, failures), read=len(found.findings), lost=n_lost)

        return await least_lost(self._model, exchange)

    def _lost(self, community: Community, reason: str, detail: str, others: Sequence[Failure] = ()) -> _Written:
        report = self._stand_in(community) if self._stand_in else None
        instead = "an extractive report stands in" if report else "the community has no report"
        failure = _failure(community, reason, f"{instead}; {detail}" if detail else instead)
        return _Written(report, (*others, failure))


def beside(communities: Sequence[Community], min_size: int) -> tuple[Mapping[str, Sequence[Community]], frozenset[str]]:
    """Return which small communities of the coarsest level share another's report, and which have a separate one.

    A community of fewer than `min_size` entities joins the one that shares most passages with it, on a tie the
    smallest; if no other shares any, it has a separate report.
    """
    coarsest = [community for community in communities if community.level == 0]
    hosts = [community for community in coarsest if community.size >= min_size]
    of_chunk: defaultdict[str, list[Community]] = defaultdict(list)
    for host in hosts:
        for id_ in host.chunk_ids:
            of_chunk[id_].append(host)
    found: defaultdict[str, list[Community]] = defaultdict(list)
    alone = set()
    for small in (community for community in coarsest if community.size < min_size):
        shared = Counter(host.id for id_ in small.chunk_ids for host in of_chunk.get(id_, ()))
        size = {host.id: host.size for id_ in small.chunk_ids for host in of_chunk.get(id_, ())}
        if shared:
            found[min(shared, key=lambda id_: (-shared[id_], size[id_], id_))].append(small)
        else:
            alone.add(small.id)
    return found, frozenset(alone)


def _parts(communities: Sequence[Community], due: Sequence[Community]) -> Mapping[str, list[Community]]:
    """Return the communities that get a report by the id of the community that they are parts of."""
    first = {community.id: community.same_as or community.id for community in communities}
    parts: defaultdict[str, list[Community]] = defaultdict(list)
    for community in due:
        if community.parent_id is not None:
            parts[first[community.parent_id]].append(community)
    return parts


def _report(community: Community, title: str, summary: str, answer: ReportAnswer, found: Supported) -> Report:
    full_text = "\n".join(
        [f"# {title}", "", summary, "", *(f"- {finding_text(finding)}" for finding in found.findings)]
    )
    return Report(
        id=short_id("report", community.id),
        community_id=community.id,
        level=community.level,
        title=title,
        summary=summary,
        findings=found.findings,
        rating=round(answer.rating, 2),
        full_text=full_text,
        n_tokens=count_each([full_text])[0],
        rating_explanation=" ".join(answer.rating_explanation.split()),
    )


def _losses(community: Community, found: Supported) -> list[Failure]:
    losses = [_failure(community, "finding without support", text) for text in found.unsupported]
    if found.unknown:
        losses.append(_failure(community, "citations of no record", ", ".join(found.unknown)))
    return losses


def _failure(community: Community, reason: str, detail: str) -> Failure:
    return Failure(STAGE, community.id, reason, detail)
