"""G-Retriever over an index: subgraph retrieval, the passages that mention it, and an answer.

He et al. 2024, "G-Retriever: Retrieval-Augmented Generation for Textual Graph Understanding and Question Answering".
Without a language model the question is read as a query of the graph (`query/graph_question`); the subgraph is shown.

With a soft prompt of `conspectus train gretriever`, a frozen model reads the subgraph as a graph token and as text.
Such a model does not cite: an answer is supported by the edges at the subgraph nodes that it names, and has no support
if it names none.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.prompts.language_model import LanguageModel
from conspectus.query.answering import Assembly, TopicMethod, assembling
from conspectus.query.context import Context, IndexRetriever
from conspectus.query.graph_question.answer import answer_of
from conspectus.query.graph_question.reader import read_graph_question
from conspectus.query.methods.gretriever.answer import passages_of, read_subgraph
from conspectus.query.methods.gretriever.retrieval import Retrieved, retrieve_subgraph, with_kept
from conspectus.query.methods.gretriever.soft.checkpoint import SEPARATOR, open_trained, read_made
from conspectus.query.methods.gretriever.soft.frozen_model import need, open_frozen
from conspectus.query.methods.gretriever.soft.graph_encodings import RememberedEncodings, encoded
from conspectus.query.types import Answer, Answerer, Evidence
from conspectus.query.types.subgraph import NO_PRIZES, CarriedPrizes, RetrievedSubgraph
from conspectus.query.walk.provenance import answer_by_triples
from conspectus.storage.errors import SettingsError
from conspectus.storage.index import per_index
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.tokens import count_tokens

if TYPE_CHECKING:
    from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt


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
    return SoftGRetriever(f"{name.removesuffix(':offline')}:soft", context)


class SoftGRetriever(GRetriever):
    """Answers from the subgraph of a question with the trained prompt in `soft_prompt.folder`, loaded once per process.

    Raises:
        SettingsError: The index has another encoder than the training.
        MissingPart: The folder, the frozen model or the extra is missing.
    """

    def __init__(self, name: str, context: Context) -> None:
        super().__init__(name, context, None)
        chosen = context.settings.soft_prompt
        self._prompt = _opened(str(Path(chosen.folder).resolve()), chosen.model, context.embedder.name)
        self._encode = _encodings(context)

    async def _read(
        self, assembly: Assembly, found: Retrieved, evidence: Evidence, _topics: tuple[int, ...] | None
    ) -> Answer:
        from conspectus.query.methods.gretriever.soft.prompt import SoftInput

        graph = found.subgraph.text
        asked = SoftInput(encoded(graph, self._encode), graph.to_text(), assembly.question)
        written = self._prompt.write([asked])[0] if graph.nodes else ""
        return read_written(assembly, self._context, found.subgraph, written, evidence)


def read_written(
    assembly: Assembly, context: Context, subgraph: RetrievedSubgraph, written: str, evidence: Evidence | None = None
) -> Answer:
    """Return a model's text as an answer supported by the edges at the nodes that it names; "" gives no answer."""
    names = tuple(dict.fromkeys(part.strip() for part in written.split(SEPARATOR) if part.strip()))
    if not names:
        assembly.step("answer", "the trained model writes nothing")
        return assembly.no_answer(evidence)
    numbers = {entity_key(text): number for number, text in enumerate(subgraph.text.nodes)}
    nodes = {numbers[key] for name in names if (key := entity_key(name)) in numbers}
    rows = [
        row
        for edge, row in zip(subgraph.text.edges, subgraph.relations, strict=True)
        if edge.source in nodes or edge.target in nodes
    ]
    known = tuple(subgraph.text.nodes[numbers[key]] if (key := entity_key(name)) in numbers else name for name in names)
    assembly.step("answer", f"the trained model writes {written!r}; {len(nodes)} of its names are nodes")
    return answer_by_triples(assembly, context, ", ".join(known), rows, names=known, evidence=evidence)


@cache
def _opened(folder: str, model: str, embedder: str) -> "SoftPrompt":
    made = read_made(Path(folder))
    need("torch_geometric", *(["peft"] if made.shape.lora else []))
    if made.embedder != embedder:
        raise SettingsError(f"{folder} was trained with the encoder {made.embedder}, but the index has {embedder}")
    return open_trained(Path(folder), open_frozen(model or made.model), made)


@per_index
def _encodings(context: Context) -> RememberedEncodings:
    return RememberedEncodings(context.embedder)
