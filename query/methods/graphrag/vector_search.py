"""Naive vector search: the condition SS of GraphRAG (Edge et al. 2024, section 3.2)."""

from dataclasses import replace

from conspectus.prompts.language_model import LanguageModel
from conspectus.query.answer_writing.cited_answer import write
from conspectus.query.answer_writing.context_windows import ScoredUnit, evidence, filled
from conspectus.query.answer_writing.extractive import quote_evidence
from conspectus.query.answering import Assembly, ModelMethod, assembling
from conspectus.query.methods.graphrag.map_input import nearest_passages
from conspectus.query.types import Answer, Say

STEP = "passages"


class VectorSearch(ModelMethod):
    """Answers from the nearest passages that fit into one window.

    With a model it makes one call; without one, it quotes sentences of the passages.
    """

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the answer; it cites sentences of the passages."""
        with assembling(question, self._name) as assembly:
            scored, found = nearest_passages(self._context, question)
            if self._model is not None:
                assembly.add(found)
                return await self._written(assembly, self._model, scored, say)
            assembly.over(len(scored), sum(passage.unit.n_tokens for passage in scored))
            return quote_evidence(
                assembly, self._context, replace(evidence(self._context, scored), trace=(found,)), say
            )

    async def _written(self, assembly: Assembly, model: LanguageModel, scored: list[ScoredUnit], say: Say) -> Answer:
        context = self._context
        room = context.room(STEP, context.settings.global_search.context_tokens)
        window = filled([passage.unit for passage in scored], room)
        text, units, n_tokens = (window.text, window.units, window.n_tokens) if window else ("", (), 0)
        written = await write(
            context, model, assembly.question, text, units, say, prompt="query/graphrag/vector_answer", step=STEP
        )
        assembly.add(*written.steps)
        assembly.step("read", f"{len(scored)} passages read, {len(written.citations)} citations made")
        assembly.over(len(scored), n_tokens)
        return assembly.assemble(
            written.text,
            citations=written.citations,
            evidence=evidence(context, scored),
            dropped_citations=written.dropped,
        )
