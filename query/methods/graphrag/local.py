"""Local search: an answer about particular things, from all that the index knows of them.

GraphRAG's way: the question is mapped to entities, and what is known of these (reports on their communities, relations,
claims, text) fills one window, from which one call answers.
"""

from dataclasses import replace

from conspectus.prompts.model import LanguageModel
from conspectus.query.answering import assembling
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.local_context import LocalContext, local_context, selection_trace
from conspectus.query.methods.graphrag.local_selection import LocalSelection
from conspectus.query.reader.cited_answer import write
from conspectus.query.reader.extractive import quote_evidence
from conspectus.query.reader.material import evidence
from conspectus.query.types import Answer, Evidence, Say, ScoredReport, Step

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
