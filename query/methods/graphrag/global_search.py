"""Global search with a language model: the map-reduce of GraphRAG (Edge et al. 2024, section 3.1.6).

Reports (or passages, for the condition TS) are shuffled and packed into windows; a model takes scored notes of each
in parallel; the notes of score zero are dropped, and those that help most fill the window of the final answer.
"""

from conspectus.prompts.model import LanguageModel
from conspectus.query.answering import assembling
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.dynamic import ClosenessRater, DynamicReports, ModelRater
from conspectus.query.methods.graphrag.global_offline import ExtractiveGlobalSearch
from conspectus.query.methods.graphrag.map_input import EveryPassage, LevelReports, Selector
from conspectus.query.methods.graphrag.map_step import Material, Notes, material_of, take_notes
from conspectus.query.reader.cited_answer import Written, write
from conspectus.query.reader.material import evidence
from conspectus.query.reader.packing import Window, pack, shuffled
from conspectus.query.types import Answer, Answerer, Say, Step
from conspectus.storage.community_level import Level


class GlobalSearch:
    """Answers with a model over what a selector selects."""

    def __init__(self, name: str, context: Context, model: LanguageModel, selector: Selector) -> None:
        self._name = name
        self._context = context
        self._model = model
        self._selector = selector
        self._settings = context.settings.global_search

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the model's answer; what it cites are sentences of the documents.

        A call that fails leaves out its window and is counted in the trace; ModelError where all do.
        """
        limit = self._settings.context_tokens
        with assembling(question, self._name) as assembly:
            selected = await self._selector.select(question)
            windows = pack(shuffled(selected.units, self._settings.seed), limit)
            notes = await take_notes(self._context, self._model, question, windows)
            material = material_of(notes.notes, limit)
            written = await write(self._context, self._model, question, material.text, material.units, say)
            assembly.add(*selected.trace, _mapped(windows, notes), _reduced(notes, material, written))
            assembly.over(len(selected.units), sum(window.n_tokens for window in windows))
            return assembly.assemble(
                written.text,
                citations=written.citations,
                evidence=evidence(self._context, material.scored()),
                dropped_citations=notes.dropped + written.dropped,
            )


def _mapped(windows: list[Window], notes: Notes) -> Step:
    told = [
        f"{len(windows)} windows of {sum(each.n_tokens for each in windows)} tokens in all",
        f"{len(notes.notes)} notes",
        f"{notes.unhelpful} of score zero",
    ]
    if notes.baseless:
        told.append(f"{notes.baseless} that named no report of their window")
    if notes.cut_off:
        told.append(f"{notes.cut_off} replies cut off")
    if notes.failures:
        told.append(f"{len(notes.failures)} calls failed: {notes.failures[0]}")
    return Step("map", ", ".join(told))


def _reduced(notes: Notes, material: Material, written: Written) -> Step:
    if not material.notes:
        return Step("reduce", "nothing helps to answer")
    return Step(
        "reduce",
        f"{len(material.notes)} of {len(notes.notes)} notes on {len(material.units)} reports or passages, "
        f"{material.n_tokens} tokens; {len(written.citations)} citations made",
    )


def open_level_search(name: str, context: Context, model: LanguageModel | None, level: Level | None = None) -> Answerer:
    """Return global search over the reports of one level, by default `global_search.level`."""
    return _search(name, context, model, LevelReports(context, level or context.settings.global_search.level))


def open_dynamic_search(name: str, context: Context, model: LanguageModel | None) -> Answerer:
    """Return global search over the reports that dynamic community selection finds relevant."""
    rater = ModelRater(context, model) if model else ClosenessRater(context)
    return _search(name, context, model, DynamicReports(context, rater))


def open_passage_search(name: str, context: Context, model: LanguageModel | None) -> Answerer:
    """Return the map-reduce over all passages, the condition TS."""
    return _search(name, context, model, EveryPassage(context))


def _search(name: str, context: Context, model: LanguageModel | None, selector: Selector) -> Answerer:
    if model is None:
        return ExtractiveGlobalSearch(name, context, selector)
    return GlobalSearch(name, context, model, selector)
