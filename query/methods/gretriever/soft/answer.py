"""G-Retriever with a trained soft prompt: a frozen model reads the subgraph as a graph token and as text.

The prompt comes from `conspectus train gretriever`. Such a model does not cite: an answer is supported by the edges at
the subgraph nodes that it names, and has no support if it names none.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.query.abstention import NO_ANSWER
from conspectus.query.answering import TopicMethod, assembling
from conspectus.query.context import Context
from conspectus.query.methods.gretriever.carry_over import with_kept
from conspectus.query.methods.gretriever.passages import passages_of
from conspectus.query.methods.gretriever.retrieval import retrieve_subgraph
from conspectus.query.methods.gretriever.soft.checkpoint import SEPARATOR, open_trained, read_made
from conspectus.query.methods.gretriever.soft.frozen_model import need, open_frozen
from conspectus.query.methods.gretriever.soft.graph_encodings import RememberedEncodings, encoded
from conspectus.query.types import Answer, Evidence, Say, Step
from conspectus.query.types.subgraph import NO_PRIZES, CarriedPrizes, RetrievedSubgraph
from conspectus.query.walk.provenance import numbers_of, open_grounds
from conspectus.storage.errors import SettingsError
from conspectus.storage.index import per_index
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.tokens import count_tokens

if TYPE_CHECKING:
    from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt


class SoftGRetriever(TopicMethod):
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

    async def answer_after(self, question: str, kept: CarriedPrizes, say: Say) -> Answer:
        """Return the answer to a follow-up question; prizes of earlier subgraphs are carried over."""
        return await self._answer(question, None, say, kept)

    async def _answer(
        self, question: str, given: Sequence[str] | None, say: Say, kept: CarriedPrizes = NO_PRIZES
    ) -> Answer:
        from conspectus.query.methods.gretriever.soft.prompt import SoftInput

        with assembling(question, self._name) as assembly:
            found = retrieve_subgraph(self._context, question, given, kept)
            assembly.add(*found.trace)
            graph = found.subgraph.text
            told = graph.to_text()
            asked = SoftInput(encoded(graph, self._encode), told, question)
            made = read_written(self._context, found.subgraph, self._prompt.write([asked])[0] if graph.nodes else "")
            say(made.text)
            passages = passages_of(self._context, found.subgraph, question, self._context.settings.answer.passages)
            assembly.over(len(graph.nodes), count_tokens(told))
            subgraph = with_kept(self._context, found.subgraph, made.names)
            return assembly.adopt(made, Evidence(passages, trace=found.trace, subgraph=subgraph))


def read_written(context: Context, subgraph: RetrievedSubgraph, written: str) -> Answer:
    """Return a model's text as an answer supported by the edges at the nodes that it names; "" gives NO_ANSWER."""
    names = tuple(dict.fromkeys(part.strip() for part in written.split(SEPARATOR) if part.strip()))
    if not names:
        return Answer("", "", NO_ANSWER, trace=(Step("answer", "the trained model writes nothing"),))
    numbers = {entity_key(text): number for number, text in enumerate(subgraph.text.nodes)}
    nodes = {numbers[key] for name in names if (key := entity_key(name)) in numbers}
    rows = [
        row
        for edge, row in zip(subgraph.text.edges, subgraph.relations, strict=True)
        if edge.source in nodes or edge.target in nodes
    ]
    known = [subgraph.text.nodes[numbers[key]] if (key := entity_key(name)) in numbers else name for name in names]
    grounds = open_grounds(context)
    return Answer(
        "",
        "",
        f"{', '.join(known)} {numbers_of(len(rows))}".strip(),
        citations=grounds.citations(rows),
        trace=(Step("answer", f"the trained model writes {written!r}; {len(nodes)} of its names are nodes"),),
        names=tuple(known),
        triples=grounds.triples(rows),
    )


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
