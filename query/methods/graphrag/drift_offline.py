"""DRIFT without a language model: from reports to passages, with entity names instead of follow-up questions.

The reports nearest to the question lead to entities that the question does not name. Local search runs for the question
alone and together with each of these names; the passages of all searches are folded into one extractive answer.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
from conspectus.query.answer_writing.context_windows import ScoredUnit, evidence, filled, passage_unit
from conspectus.query.answer_writing.extractive import quote_evidence
from conspectus.query.answering import assembling
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.local import selection_trace
from conspectus.query.methods.graphrag.local_selection import LocalSelection
from conspectus.query.methods.graphrag.map_input import nearest_reports
from conspectus.query.question.bounds import MOST_CLOSELY, first_words
from conspectus.query.types import Answer, Say, Step
from conspectus.storage.cancellation import check

CONTEXT_TOKENS = 8000  # of reports, notes or quoted passages: the windows of small models hold so many
_SHARE = 0.6
"""The weight of a passage's score in a follow-up search, so that it can join the best passages but not replace them.
At 0.5 recall@5 of 50 HotpotQA questions was .860, at 0.7 .830, with the question alone .850."""


class ExtractiveDriftSearch:
    """DRIFT search without a language model."""

    def __init__(self, name: str, context: Context) -> None:
        self._name = name
        self._context = context

    async def answer(self, question: str, say: Say) -> Answer:
        """Quote up to `answer.sentences` sentences of the passages that fit into `CONTEXT_TOKENS`."""
        with assembling(question, self._name) as assembly:
            scored, trace = self._find(question)
            found = replace(evidence(self._context, scored), trace=trace)
            read = [passage.unit.n_tokens for passage in scored if passage.unit.table == "chunks"]
            assembly.over(len(read), sum(read))
            return quote_evidence(assembly, self._context, found, say)

    def _find(self, question: str) -> tuple[list[ScoredUnit], tuple[Step, ...]]:
        """Return the nearest reports and the best passages by their best score in any of the searches."""
        context = self._context
        if not context.chunks:
            return [], (Step("drift", "the index has no chunk"),)
        selection = LocalSelection(context, question)
        reports = nearest_reports(context, [question])
        names = self._names(question, selection, reports)
        scores: dict[int, float] = {}
        asked = first_words(question, MOST_CLOSELY)
        follow_ups = ((LocalSelection(context, f"{asked} {name}"), _SHARE) for name in names)
        for search, share in chain([(selection, 1.0)], follow_ups):
            check()
            for row, score in zip(search.chunks.rows.tolist(), search.chunks.scores.tolist(), strict=True):
                scores[row] = max(scores.get(row, 0.0), share * score)
        order = sorted(scores, key=lambda row: (-scores[row], row))
        window = filled((passage_unit(context, row) for row in order), CONTEXT_TOKENS)
        kept = [ScoredUnit(unit, scores[unit.row]) for unit in window.units] if window else []
        primer = Step("primer", f"{len(reports)} nearest reports lead to {', '.join(names) or 'nothing further'}")
        fold = Step("fold", f"{len(kept)} of {len(order)} passages that {1 + len(names)} local searches found")
        return [*reports, *kept], (*selection_trace(selection), primer, fold)

    def _names(self, question: str, selection: LocalSelection, reports: Sequence[ScoredUnit]) -> list[str]:
        """Return the ends of the relations nearest to the question, of those inside the reports' communities."""
        context, known = self._context, selection.knowledge
        rows = known.relations_inside([known.reports[report.unit.row] for report in reports])
        vector = context.embedder.embed_query(question)[np.newaxis]
        cosines = context.index.vectors("relations").scores(vector, rows)[0]
        ends = known.ends(rows[np.argsort(-cosines, kind="stable")]).ravel().tolist()
        named = set(selection.named.tolist())
        fresh = [row for row in dict.fromkeys(ends) if row not in named]
        return [known.entities[row].name for row in fresh[: context.settings.drift_search.follow_ups]]
