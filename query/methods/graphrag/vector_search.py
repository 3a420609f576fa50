"""Naive vector search with a language model: the condition SS of GraphRAG (Edge et al. 2024, section 3.2)."""

from conspectus.prompts.model import LanguageModel
from conspectus.query.answering import assembling
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.map_input import NearestPassages
from conspectus.query.reader.cited_answer import write
from conspectus.query.reader.material import evidence
from conspectus.query.reader.packing import filled
from conspectus.query.types import Answer, Say


class VectorSearch:
    """Answers from the nearest passages that one window holds, by the prompt of the map-reduce's last step."""

    def __init__(self, name: str, context: Context, model: LanguageModel) -> None:
        self._name = name
        self._context = context
        self._model = model
        self._nearest = NearestPassages(context)

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the model's answer; what it cites are sentences of the passages."""
        context = self._context
        with assembling(question, self._name) as assembly:
            scored, found = self._nearest.nearest(question)
            window = filled([passage.unit for passage in scored], context.settings.global_search.context_tokens)
            text, units, n_tokens = (window.text, window.units, window.n_tokens) if window else ("", (), 0)
            written = await write(context, self._model, question, text, units, say)
            assembly.add(found)
            assembly.step("read", f"{len(scored)} passages read, {len(written.citations)} citations made")
            assembly.over(len(scored), n_tokens)
            return assembly.assemble(
                written.text,
                citations=written.citations,
                evidence=evidence(context, scored),
                dropped_citations=written.dropped,
            )
