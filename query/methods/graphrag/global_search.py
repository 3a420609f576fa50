"""Global search: the map-reduce of GraphRAG over community reports (Edge et al. 2024, section 3.1.6).

    1. select   reports of one level, of a descent (`dynamic.py`), or all passages for the condition TS (`map_input.py`)
    2. map      shuffle them into windows; a model extracts scored points from each window in parallel (`map_step.py`)
    3. reduce   drop points of score zero; the most helpful ones fill the window of the final answer, whose sentences
                are cited (`answer_writing/cited_answer.py`)

Without a language model, the documents' own structure answers if there is one: a question about the whole with a
statement from each part, any other question with statements from the parts that mention its subject (`overview/`).
Otherwise the same stages are extractive: a report's score is its similarity to the question, weighted by its
rating, and the answer quotes statements of the most helpful reports.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from conspectus.prompts.language_model import LanguageModel
from conspectus.query.abstention import no_answer
from conspectus.query.answer_writing.cited_answer import write
from conspectus.query.answer_writing.context_windows import (
    ScoredUnit,
    Statement,
    Unit,
    Units,
    Window,
    evidence,
    pack,
    passage_unit,
    shuffled,
)
from conspectus.query.answer_writing.extractive import quote_evidence
from conspectus.query.answering import Assembly, assembling
from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.dynamic import DynamicReports
from conspectus.query.methods.graphrag.map_input import EveryPassage, LevelReports, Selected, Selector
from conspectus.query.methods.graphrag.map_step import Notes, material_of, take_notes
from conspectus.query.methods.graphrag.overview.focus import QUOTED_WORDS, focused_themes, has_parts, is_focused
from conspectus.query.methods.graphrag.overview.themes import Theme, themes
from conspectus.query.question.kinds import FACTS, kind_of
from conspectus.query.question.scope import LEAST_SUPPORT, closeness_to_whole, corpus_coverage, is_about_the_whole
from conspectus.query.types import Answer, Answerer, Step
from conspectus.query.types.answer import OVERVIEW
from conspectus.storage.arrays import Floats, Ints, Vectors
from conspectus.storage.cancellation import check
from conspectus.storage.index import per_index
from conspectus.storage.level_names import Level
from conspectus.storage.text.names import words


class GlobalSearch:
    """Global search with a language model.

    The calls of one question are one per window and one for the final answer.
    """

    def __init__(self, name: str, context: Context, model: LanguageModel, selector: Selector) -> None:
        self._name = name
        self._context = context
        self._model = model
        self._selector = selector
        self._settings = context.settings.global_search

    async def answer(self, question: str) -> Answer:
        """Answer by map-reduce over the selected reports or passages.

        Args:
            question: The question.

        Returns:
            The answer; its citations are sentences of the documents. The trace counts windows, points, points of score
            zero and failed calls; a window whose call fails is left out.

        Raises:
            ModelError: No map call gives a note that names what it rests on, or the final call fails.
        """
        limit = self._context.room("map", self._settings.context_tokens)
        with assembling(question, self._name) as assembly:
            selected = await self._selector.select(question)
            windows = pack(shuffled(selected.units, _SEED), limit)
            notes = await take_notes(self._context, self._model, question, windows)
            material = material_of(notes.notes, limit)
            assembly.add(*selected.trace, _map_report(windows, notes), Step("reduce", material.told(len(notes.notes))))
            assembly.over(len(selected.units), sum(window.n_tokens for window in windows))
            found = evidence(self._context, material.scored())
            return await write(
                assembly, self._context, self._model, material.text, material.units, found, dropped=notes.dropped
            )


def _map_report(windows: list[Window], notes: Notes) -> Step:
    parts = [
        f"{len(windows)} windows of {sum(window.n_tokens for window in windows)} tokens in all",
        f"{len(notes.notes)} notes",
        f"{notes.unhelpful} of score zero",
    ]
    if notes.baseless:
        parts.append(f"{notes.baseless} that named no report or passage of their window")
    if notes.cut_off:
        parts.append(f"{notes.cut_off} replies cut off")
    if notes.failures:
        parts.append(f"{len(notes.failures)} calls failed: {notes.failures[0]}")
    return Step("map", ", ".join(parts))


class ExtractiveGlobalSearch:
    """Global search without a language model: scores by similarity, quotes statements."""

    def __init__(self, name: str, context: Context, selector: Selector) -> None:
        self._name = name
        self._context = context
        self._selector = selector

    async def answer(self, question: str) -> Answer:
        """Answer with statements of the most helpful reports or passages, one cited statement per line.

        Passages answer a fact as by any other method. Questions about the corpus as a whole and questions that the
        documents cover are answered; for all others the answer is an abstention.
        """
        with assembling(question, self._name) as assembly:
            selected = await self._selector.select(question)
            told = self._overview(question)
            if told:
                return self._themes_told(assembly, told, selected)
            vector = self._context.embedder.embed_query(question)
            places, scores = self._map(vector, selected.units)
            shown = zip(places[:_QUOTED_REPORTS].tolist(), scores.tolist(), strict=False)
            best = [ScoredUnit(selected.units[place], score) for place, score in shown]
            if kind_of(question) in FACTS and (found := evidence(self._context, best)).passages:
                assembly.over(len(best), sum(each.unit.n_tokens for each in best))
                return quote_evidence(assembly, self._context, replace(found, trace=selected.trace))
            reason, answerable = self._answerable(question)
            if told is not None:
                reason, answerable = f"{reason}, but no part of them speaks of it", False
            chosen = self._reduce(vector, [report.unit for report in best]) if answerable else []
            citations = Citations(self._context)
            lines = [citations.cite(statement.text, statement.spans[0]) for statement in chosen]
            text = "\n".join(f"- {line}" for line in lines if line) or no_answer(question)
            assembly.add(
                *selected.trace,
                Step("map", f"{len(places)} of {len(selected.units)} scored above zero"),
                Step("reduce", f"{len(chosen)} statements of the {len(best)} most helpful; {reason}"),
            )
            assembly.over(len(selected.units), selected.units.n_tokens)
            return self._told(assembly, text, citations, best)

    def _overview(self, question: str) -> list[Theme] | None:
        """Return the themes of the documents' own structure: of the whole, or of its parts about the question's
        subject.

        None if the documents have too little structure, so that the reports must answer.
        """
        if not isinstance(self._selector, LevelReports):
            return None
        if not is_focused(question):
            return themes(self._context, question, self._selector.level) or None
        if not has_parts(self._context) or not self._answerable(question)[1]:
            return None
        return focused_themes(self._context, question, self._selector.level)

    def _themes_told(self, assembly: Assembly, told: Sequence[Theme], selected: Selected) -> Answer:
        """Return the overview: one line per theme, with its citation."""
        citations = Citations(self._context)
        text = "\n".join(_line(theme, citations) for theme in told)
        passages = [
            ScoredUnit(passage_unit(self._context, row), 1.0)
            for row in dict.fromkeys(
                self._context.chunk_rows[each.passage.chunk_id] for theme in told for each in theme.statements
            )
        ]
        assembly.add(
            *selected.trace,
            Step(OVERVIEW, f"no themes were derived: {len(told)} parts of the documents' own structure"),
        )
        assembly.over(len(passages), sum(item.unit.n_tokens for item in passages))
        return self._told(assembly, text, citations, passages)

    def _told(self, assembly: Assembly, text: str, made: Citations, read: Sequence[ScoredUnit]) -> Answer:
        found = replace(evidence(self._context, read), trace=tuple(assembly.trace))
        return assembly.assemble(text, citations=made.made(), evidence=found, dropped_citations=made.dropped)

    def _answerable(self, question: str) -> tuple[str, bool]:
        """Return the reason for answering or not, and whether the question is answered."""
        if is_about_the_whole(self._context, question):
            return f"the question is about the whole ({closeness_to_whole(self._context, question):.2f})", True
        found, least = corpus_coverage(self._context, question), LEAST_SUPPORT
        return f"the documents support it by {found:.2f}, the least is {least}", found >= least

    def _map(self, vector: Vectors, units: Units) -> tuple[Ints, Floats]:
        """Return the places of the units that score above 0, best first, and their scores: 100 cosine times weight.

        A question about the whole corpus is similar to no particular report: then the weight (the rating of the report)
        decides.
        """
        vectors = self._context.index.vectors(units.table)
        cosines = vectors.scores(vector[np.newaxis], units.rows)[0].astype(np.float64)
        scores = (100 * units.weights * np.clip(cosines, 0, None)).round(4)
        order = np.argsort(-scores, kind="stable")
        places = order[scores[order] > 0]
        return places, scores[places]

    def _reduce(self, vector: Vectors, units: Sequence[Unit]) -> list[Statement]:
        """Return statements within `QUOTED_WORDS`: the nearest to the question of each unit first, then the others.

        Statements with equal text or spans are taken once, as passages overlap; the first one is taken at any length.
        """
        ranked: list[tuple[int, float, Statement]] = []
        for unit in units:
            cosines = (self._vectors_of(unit) @ vector).round(6).tolist()
            near = sorted(zip(cosines, unit.statements(), strict=True), key=lambda pair: -pair[0])
            ranked += [(rank, -cosine, statement) for rank, (cosine, statement) in enumerate(near) if cosine > 0]
        chosen: list[Statement] = []
        seen: set[object] = set()
        room = QUOTED_WORDS
        for *_, statement in sorted(ranked, key=lambda each: each[:2]):
            check()
            keys = {statement.text, *((span.document_id, span.start, span.end) for span in statement.spans)}
            if keys & seen:
                continue
            room -= len(words(statement.text))
            if room < 0 and chosen:
                break
            chosen.append(statement)
            seen |= keys
        return chosen

    def _vectors_of(self, unit: Unit) -> Vectors:
        """Return the vectors of the statements of a unit (n, dimension), cached: questions share most units."""
        embedder, vectors = self._context.embedder, _statement_vectors(self._context)
        if unit.id not in vectors:
            texts = [embedder.windows(statement.text)[0] for statement in unit.statements()]
            vectors[unit.id] = embedder.embed(texts) if texts else np.zeros((0, embedder.dimension), np.float32)
        return vectors[unit.id]


def _line(theme: Theme, citations: Citations) -> str:
    """Return a theme with its heading and sentences, each with its citation."""
    said = (citations.cite(statement.text, statement.span) for statement in theme.statements)
    heading = theme.heading if theme.heading.endswith((".", "?", "!")) else f"{theme.heading}."
    return f"- {heading}\n  {' '.join(line for line in said if line)}"


@per_index
def _statement_vectors(_context: Context) -> dict[str, Vectors]:
    """Return the cache of statement vectors by unit id."""
    return {}


_SEED = 7  # of the order in which reports are dealt out to the windows
_QUOTED_REPORTS = 5  # at most: they share the words that may be quoted


def open_level_search(name: str, context: Context, model: LanguageModel | None, level: Level | None = None) -> Answerer:
    """Return global search over the reports of one level, by default `global_search.level`."""
    return search_over(name, context, model, LevelReports(context, level or context.settings.global_search.level))


def open_dynamic_search(name: str, context: Context, model: LanguageModel | None) -> Answerer:
    """Return global search over the reports that a model finds relevant; without one, over those of a level."""
    if model is None:
        return open_level_search(name, context, None)
    return search_over(name, context, model, DynamicReports(context, model))


def open_passage_search(name: str, context: Context, model: LanguageModel | None) -> Answerer:
    """Return map-reduce over all passages (condition TS of Edge et al. 2024)."""
    return search_over(name, context, model, EveryPassage(context))


def search_over(name: str, context: Context, model: LanguageModel | None, selector: Selector) -> Answerer:
    """Return global search over what a selector selects, extractive without a model."""
    if model is None:
        return ExtractiveGlobalSearch(name, context, selector)
    return GlobalSearch(name, context, model, selector)
