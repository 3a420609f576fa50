"""Local search: an answer about particular things, from all that the index knows of them.

GraphRAG's way: the question is mapped to entities, and what is known of these (reports on their communities, relations,
claims, text) fills one window, from which one call answers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from conspectus.prompts.model import LanguageModel
from conspectus.query.answering import assembling
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.graph_tables import RecordUnits
from conspectus.query.methods.graphrag.local_selection import LocalSelection, Ranked
from conspectus.query.reader.cited_answer import write
from conspectus.query.reader.extractive import quote_evidence
from conspectus.query.reader.material import ScoredUnit, Unit, cut, evidence, passage_unit
from conspectus.query.types import Answer, Evidence, Say, ScoredReport, Step
from conspectus.storage.index import per_index
from conspectus.storage.records import Community
from conspectus.storage.text.tokens import count_each, count_tokens

_MOST_UNITS = 999
"""Numbers in citations have up to three digits."""


@dataclass(frozen=True, slots=True)
class Section:
    """One kind of material: how many there were, how many were kept, and the tokens of these."""

    name: str
    considered: int
    kept: int
    n_tokens: int


@dataclass(frozen=True, slots=True)
class LocalContext:
    """One text of `n_tokens` in which unit i stands under the number i + 1."""

    text: str
    n_tokens: int
    units: tuple[ScoredUnit, ...]
    sections: tuple[Section, ...]
    trace: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """Something that may be shown: what stands behind its mark, and how it becomes a unit."""

    text: str
    n_tokens: int
    score: float
    unit: Callable[[], Unit]


def local_context(context: Context, selection: LocalSelection) -> LocalContext:
    """Return what a question's selection gives, within `local_search.context_tokens`."""
    settings = context.settings.local_search
    limit = settings.context_tokens
    records = int(limit * (1 - settings.report_share - settings.text_share) + 1e-6)
    filling = _Filling()
    filling.add("Reports", _reports(context, selection), int(limit * settings.report_share), "\n\n")
    before = filling.n_tokens
    for name, candidates in _records(context, selection):
        filling.add(name, candidates, records - (filling.n_tokens - before), "\n")
    passages = _passages(context, selection)
    passages[:1] = [filling.shortened("Passages", each, limit) for each in passages[:1]]
    filling.add("Passages", passages, limit - filling.n_tokens, "\n\n")
    trace = (*selection_trace(selection), Step("context", filling.told()))
    return LocalContext(
        "\n\n".join(filling.blocks), filling.n_tokens, tuple(filling.units), tuple(filling.sections), trace
    )


def selection_trace(selection: LocalSelection) -> tuple[Step, ...]:
    """Return the step that says which entities were linked, and how."""
    known, linked = selection.knowledge, selection.entities
    named = [known.entities[row].name for row in linked.rows.tolist() if row in set(selection.named.tolist())]
    near = len(linked.rows) - len(named)
    return (Step("link", f"the question names {', '.join(named) or 'no entity'}; {near} more are near in meaning"),)


class _Filling:
    """Takes material section by section and numbers it."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.units: list[ScoredUnit] = []
        self.sections: list[Section] = []
        self.n_tokens = 0

    def add(self, name: str, candidates: Sequence[_Candidate], limit: int, between: str) -> None:
        """Take what fits into `limit` tokens with its heading."""
        heading = f"{name}:"
        used, shown = count_tokens(heading), []
        for each in candidates:
            number = len(self.units) + 1
            cost = each.n_tokens + _mark_tokens(number)
            if each.n_tokens and number <= _MOST_UNITS and used + cost <= limit:
                shown.append(f"[{number}]{each.text}")
                self.units.append(ScoredUnit(each.unit(), each.score))
                used += cost
        if shown:
            self.blocks.append(f"{heading}{between}{between.join(shown)}")
            self.n_tokens += used
            self.sections.append(Section(name, len(candidates), len(shown), used))

    def shortened(self, name: str, candidate: _Candidate, limit: int) -> _Candidate:
        """Return what of a candidate fits behind a heading: the best passage is shown even where it is too long."""
        room = limit - self.n_tokens - count_tokens(f"{name}:") - _mark_tokens(len(self.units) + 1)
        if candidate.n_tokens <= room:
            return candidate
        text = cut(candidate.text, room)
        return replace(candidate, text=text, n_tokens=count_tokens(text))

    def told(self) -> str:
        """Return what was kept, in words."""
        parts = [
            f"{each.kept} of {each.considered} {each.name.lower()}, {each.n_tokens} tokens" for each in self.sections
        ]
        return "; ".join(parts) or "nothing"


def _reports(context: Context, selection: LocalSelection) -> list[_Candidate]:
    ranked = selection.reports
    chunk_ids = _chunks_of_communities(context)

    def unit(row: int) -> Unit:
        report = selection.knowledge.reports[row]
        made_from = chunk_ids[report.community_id]
        return Unit(report, row, report.title, report.full_text, report.n_tokens, report.rating / 10, made_from)

    return [
        _Candidate(f"\n{made.text}", made.n_tokens, score, lambda made=made: made)  # type: ignore[misc]
        for row, score in _each(ranked)
        for made in (unit(row),)
    ]


def _records(context: Context, selection: LocalSelection) -> Iterator[tuple[str, list[_Candidate]]]:
    """Yield the sections of records in the order in which they are taken."""
    units = RecordUnits(context, selection.knowledge, selection.chunks.rows)
    weights = selection.knowledge.weights

    def candidates(
        rows: Sequence[int], scores: Sequence[float], line: Callable[[int], str], make: Callable[[int, str, int], Unit]
    ) -> list[_Candidate]:
        lines = [line(row) for row in rows]
        counted = zip(rows, scores, lines, count_each(lines), strict=True)
        return [
            _Candidate(f" {text}", n, score, lambda row=row, text=text, n=n: make(row, text, n))  # type: ignore[misc]
            for row, score, text, n in counted
        ]

    entities = selection.entities
    yield "Entities", candidates(entities.rows.tolist(), entities.scores.tolist(), units.entity_line, units.entity)
    inner = selection.inner_relations
    yield (
        "Relations between them",
        candidates(inner.tolist(), weights[inner].tolist(), units.relation_line, units.relation),
    )
    claims = selection.claims.tolist()
    yield "Claims about them", candidates(claims, [1.0] * len(claims), units.claim_line, units.claim)
    outer = selection.outer_relations
    yield (
        "Relations with others",
        candidates(outer.tolist(), weights[outer].tolist(), units.relation_line, units.relation),
    )


def _passages(context: Context, selection: LocalSelection) -> list[_Candidate]:
    chunks = context.chunks
    titles = [context.titles[chunks[row].document_id] for row in selection.chunks.rows.tolist()]
    return [
        _Candidate(
            f" {title}\n{chunks[row].text}" if title else f"\n{chunks[row].text}",
            tokens + chunks[row].n_tokens,
            score,
            lambda row=row: passage_unit(context, row),  # type: ignore[misc]
        )
        for (row, score), title, tokens in zip(_each(selection.chunks), titles, count_each(titles), strict=True)
    ]


def _each(ranked: Ranked) -> Iterator[tuple[int, float]]:
    return zip(ranked.rows.tolist(), ranked.scores.tolist(), strict=True)


@cache
def _mark_tokens(number: int) -> int:
    return count_tokens(f"[{number}]")


@per_index
def _chunks_of_communities(context: Context) -> dict[str, tuple[str, ...]]:
    return {community.id: community.chunk_ids for community in context.index.rows(Community)}


STEP = "local"


class LocalRetriever:
    """The passages of local search: those that hold what the question is about, or are near to it."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` best passages, and the reports, entities, relations and claims that belong to the question."""
        if not self._context.chunks:
            return Evidence(trace=(Step("local", "the index holds no chunk"),))
        selection = LocalSelection(self._context, question)
        known, chunks, reports = selection.knowledge, selection.chunks, selection.reports
        passages = zip(chunks.rows[: max(k, 0)].tolist(), chunks.scores.tolist(), strict=False)
        relations = [*selection.inner_relations.tolist(), *selection.outer_relations.tolist()]
        found = Step(
            "local",
            f"{len(reports.rows)} reports, {len(selection.inner_relations)} relations between linked entities, "
            f"{len(selection.outer_relations)} with others, {len(selection.claims)} claims, "
            f"{len(chunks.rows)} passages",
        )
        return Evidence(
            tuple(self._context.passage(row, score) for row, score in passages),
            tuple(
                ScoredReport(known.reports[row], score)
                for row, score in zip(reports.rows.tolist(), reports.scores.tolist(), strict=True)
            ),
            (*selection_trace(selection), found),
            tuple(known.entities[row] for row in selection.entities.rows.tolist()),
            tuple(known.relations[row] for row in relations),
            tuple(known.claims[row] for row in selection.claims.tolist()),
        )


def find_context(context: Context, question: str) -> LocalContext:
    """Return what local search reads for a question; nothing where the index holds no chunk."""
    if not context.chunks:
        return LocalContext("", 0, (), (), (Step("local", "the index holds no chunk"),))
    return local_context(context, LocalSelection(context, question))


class LocalSearch:
    """Answers from what local search finds.

    With a model, in one call over the window; without one, with sentences of the passages in the same window.
    """

    def __init__(self, name: str, context: Context, model: LanguageModel | None) -> None:
        self._name = name
        self._context = context
        self._model = model

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the answer; it cites sentences of the documents."""
        context = self._context
        with assembling(question, self._name) as assembly:
            found = find_context(context, question)
            units = [scored.unit for scored in found.units]
            assembly.over(len(units), found.n_tokens)
            if self._model is None:
                shown = replace(evidence(context, found.units), trace=found.trace)
                return quote_evidence(assembly, context, shown, say)
            written = await write(
                context,
                self._model,
                question,
                found.text,
                units,
                say,
                prompt="query/local_answer",
                step=STEP,
                most_words=context.settings.local_search.words,
            )
            assembly.add(*found.trace)
            assembly.step(
                "read", f"{len(units)} reports, records and passages read, {len(written.citations)} citations made"
            )
            return assembly.assemble(
                written.text,
                citations=written.citations,
                evidence=evidence(context, found.units),
                dropped_citations=written.dropped,
            )
