"""Local search: an answer about particular entities, from all that the index contains about them.

After GraphRAG's local search: the question is linked to entities (`local_selection.py`); reports of their communities,
the records of the graph and passages (`graph_tables.py`) fill one window, which one call reads.

Reports take at most `REPORT_SHARE` of the token budget, text at least `TEXT_SHARE`, records
what remains in between. An item that does not fit is skipped and the next one tried; only the best passage is cut.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from conspectus.query.answer_writing.cited_answer import write
from conspectus.query.answer_writing.context_windows import (
    ScoredUnit,
    Unit,
    cut_tokens,
    evidence,
    passage_unit,
    report_unit,
)
from conspectus.query.answer_writing.extractive import quote_evidence
from conspectus.query.answering import ModelMethod, assembling
from conspectus.query.context import Context, IndexRetriever
from conspectus.query.methods.graphrag.global_search import open_level_search
from conspectus.query.methods.graphrag.graph_tables import RecordUnits
from conspectus.query.methods.graphrag.local_selection import LocalSelection, Ranked
from conspectus.query.question.kinds import kind_of
from conspectus.query.types import Answer, Evidence, ScoredReport, Step
from conspectus.storage.text.tokens import count_each, count_tokens

REPORT_SHARE, TEXT_SHARE = 0.15, 0.5
"""Maximum share of reports, minimum share of passages (GraphRAG's `community_prop` and `text_unit_prop`)."""
_WORDS = 500  # at most in an answer, half as many as in one about the whole collection
_MOST_UNITS = 999
"""Citation numbers have up to three digits."""


@dataclass(frozen=True, slots=True)
class LocalContext:
    """The window: one text of `n_tokens` in which unit i has the number i + 1."""

    text: str
    n_tokens: int
    units: tuple[ScoredUnit, ...]
    trace: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An item that may be shown: the text after its mark, and a function that makes its unit."""

    text: str
    n_tokens: int
    score: float
    unit: Callable[[], Unit]


def local_context(context: Context, selection: LocalSelection) -> LocalContext:
    """Fill the window of a selection, within `local_search.context_tokens`."""
    settings = context.settings.local_search
    limit = context.room(STEP, settings.context_tokens)
    records = int(limit * (1 - REPORT_SHARE - TEXT_SHARE) + 1e-6)
    filling = _Filling()
    filling.add("Reports", _reports(context, selection), int(limit * REPORT_SHARE), "\n\n")
    before = filling.n_tokens
    for name, candidates in _records(context, selection):
        filling.add(name, candidates, records - (filling.n_tokens - before), "\n")
    passages = _passages(context, selection)
    passages[:1] = [filling.shortened("Passages", passage, limit) for passage in passages[:1]]
    filling.add("Passages", passages, limit - filling.n_tokens, "\n\n")
    trace = (*selection_trace(selection), Step("context", "; ".join(filling.told) or "nothing"))
    return LocalContext("\n\n".join(filling.blocks), filling.n_tokens, tuple(filling.units), trace)


def selection_trace(selection: LocalSelection) -> tuple[Step, ...]:
    """Return the trace step with the linked entities."""
    known, linked = selection.knowledge, selection.entities
    named = [known.entities[row].name for row in linked.rows.tolist() if row in set(selection.named.tolist())]
    near = len(linked.rows) - len(named)
    compared = "name and description" if selection.by_description else "name"
    said = f"the question names {', '.join(named) or 'no entity'}; {near} more are near in meaning, by {compared}"
    return (Step("link", said),)


class _Filling:
    """Fills a window section by section and numbers the units."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.units: list[ScoredUnit] = []
        self.told: list[str] = []
        self.n_tokens = 0

    def add(self, name: str, candidates: Sequence[_Candidate], limit: int, between: str) -> None:
        """Add the candidates that fit into `limit` tokens, with a heading."""
        heading = f"{name}:"
        used, shown = count_tokens(heading), []
        for candidate in candidates:
            number = len(self.units) + 1
            cost = candidate.n_tokens + _mark_tokens(number)
            if candidate.n_tokens and number <= _MOST_UNITS and used + cost <= limit:
                shown.append(f"[{number}]{candidate.text}")
                self.units.append(ScoredUnit(candidate.unit(), candidate.score))
                used += cost
        if shown:
            self.blocks.append(f"{heading}{between}{between.join(shown)}")
            self.n_tokens += used
            self.told.append(f"{len(shown)} of {len(candidates)} {name.lower()}, {used} tokens")

    def shortened(self, name: str, candidate: _Candidate, limit: int) -> _Candidate:
        """Cut a candidate to the available size: the best passage is shown even if it is too long."""
        room = limit - self.n_tokens - count_tokens(f"{name}:") - _mark_tokens(len(self.units) + 1)
        if candidate.n_tokens <= room:
            return candidate
        text = cut_tokens(candidate.text, room)
        return replace(candidate, text=text, n_tokens=count_tokens(text))


def _reports(context: Context, selection: LocalSelection) -> list[_Candidate]:
    return [
        _Candidate(f"\n{made.text}", made.n_tokens, score, lambda made=made: made)  # type: ignore[misc]
        for row, score in _each(selection.reports)
        for made in (report_unit(context, row),)
    ]


def _records(context: Context, selection: LocalSelection) -> Iterator[tuple[str, list[_Candidate]]]:
    """Yield the sections of records in the order in which they fill the window."""
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
        candidates(inner.tolist(), weights(inner).tolist(), units.relation_line, units.relation),
    )
    claims = selection.claims.tolist()
    yield "Claims about them", candidates(claims, [1.0] * len(claims), units.claim_line, units.claim)
    outer = selection.outer_relations
    yield (
        "Relations with others",
        candidates(outer.tolist(), weights(outer).tolist(), units.relation_line, units.relation),
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


STEP = "local"


class LocalRetriever(IndexRetriever):
    """Retrieves the passages of local search: those that mention linked entities or are similar to the question."""

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` best passages, and the reports, entities, relations and claims of the linked entities."""
        if not self._context.chunks:
            return Evidence(trace=(Step("local", "the index has no chunk"),))
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
    """Return the window of local search for a question; an empty one if the index has no chunks."""
    if not context.chunks:
        return LocalContext("", 0, (), (Step("local", "the index has no chunk"),))
    return local_context(context, LocalSelection(context, question))


class LocalSearch(ModelMethod):
    """Answers by local search over reports, records and passages of the linked entities.

    With a model, one call reads the window; without one, the answer quotes sentences of the passages in it, and a
    question about the whole is answered as by global search: no sentence near its words is an overview.
    """

    async def answer(self, question: str) -> Answer:
        """Return the answer, with citations of sentences of the documents."""
        context = self._context
        if self._model is None and kind_of(question) == "global":
            return await open_level_search(self._name, context, None).answer(question)
        with assembling(question, self._name) as assembly:
            found = find_context(context, question)
            units = [scored.unit for scored in found.units]
            assembly.over(len(units), found.n_tokens)
            if self._model is None:
                shown = replace(evidence(context, found.units), trace=found.trace)
                return quote_evidence(assembly, context, shown)
            assembly.add(*found.trace)
            assembly.step("read", f"{len(units)} reports, records and passages read")
            return await write(
                assembly,
                context,
                self._model,
                found.text,
                units,
                evidence(context, found.units),
                prompt="query/graphrag/local_answer",
                step=STEP,
                most_words=_WORDS,
            )
