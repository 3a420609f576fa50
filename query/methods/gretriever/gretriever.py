"""G-Retriever over an index: subgraph retrieval, the passages that mention it, and an answer.

He et al. 2024, "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering".
Without a language model the question is read as a query of the graph (`query/graph_question`); the subgraph is shown.
"""

from collections.abc import Sequence
from dataclasses import replace

from conspectus.prompts.language_model import LanguageModel
from conspectus.query.answering import Assembly, TopicMethod, assembling
from conspectus.query.context import Context, IndexRetriever
from conspectus.query.graph_question.answer import answer_of
from conspectus.query.graph_question.reader import read_graph_question
from conspectus.query.methods.gretriever.answer import passages_of, read_subgraph
from conspectus.query.methods.gretriever.retrieval import Retrieved, retrieve_subgraph, with_kept
from conspectus.query.types import Answer, Answerer, Evidence
from conspectus.query.types.subgraph import NO_PRIZES, CarriedPrizes
from conspectus.storage.text.tokens import count_tokens


class GRetrieverRetriever(IndexRetriever):
    """Finds the subgraph of a question, and the passages that mention it."""

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return up to `k` passages and the retrieved subgraph (He et al. 2024, sections 5.1 to 5.3)."""
        return _evidence(self._context, retrieve_subgraph(self._context, question), question, k)


class GRetriever(TopicMethod):
    """Answers from the subgraph of a question; with or without a language model."""

    async def answer_after(self, question: str, kept: CarriedPrizes) -> Answer:
        """Return the answer to a follow-up question; the subgraphs of earlier turns contribute decayed prizes."""
        return await self._answer(question, None, kept)

    async def _answer(self, question: str, given: Sequence[str] | None, kept: CarriedPrizes = NO_PRIZES) -> Answer:
        with assembling(question, self._name) as assembly:
            found = retrieve_subgraph(self._context, question, given, kept)
            evidence = _evidence(self._context, found, question, self._context.settings.answer.passages)
            assembly.add(*found.trace)
            assembly.over(len(found.subgraph.nodes), count_tokens(found.subgraph.text.to_text()))
            answer = await self._read(assembly, found, evidence, None if given is None else found.topics)
            subgraph = with_kept(self._context, found.subgraph, answer.names)
            return replace(answer, evidence=replace(answer.evidence, subgraph=subgraph))

    async def _read(
        self, assembly: Assembly, found: Retrieved, evidence: Evidence, topics: tuple[int, ...] | None
    ) -> Answer:
        """Return the answer from a subgraph; `topics` are those that were given."""
        if self._model is None:
            reading = read_graph_question(self._context, assembly.question, topics)
            return answer_of(assembly, self._context, reading, evidence)
        return await read_subgraph(assembly, self._context, found.subgraph, self._model, evidence)


def _evidence(context: Context, found: Retrieved, question: str, k: int) -> Evidence:
    passages = passages_of(context, found.subgraph, question, k)
    return Evidence(passages, trace=found.trace, subgraph=found.subgraph)


def open_gretriever(name: str, context: Context, model: LanguageModel | None) -> Answerer:
    """Return the answerer: with the trained prompt of the settings, a language model, or neither."""
    if not context.settings.soft_prompt.folder:
        return GRetriever(name, context, model)
    from conspectus.query.methods.gretriever.soft.answer import SoftGRetriever

    return SoftGRetriever(f"{name.removesuffix(':offline')}:soft", context)
