"""G-Retriever with a trained soft prompt: a frozen model reads the subgraph as a graph token and as text.

The prompt comes from `conspectus train gretriever`. Such a model does not cite: an answer is supported by the edges at
the subgraph nodes that it names, and has no support if it names none.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.query.abstention import NO_ANSWER
from conspectus.query.context import Context
from conspectus.query.methods.gretriever.carry_over import with_kept
from conspectus.query.methods.gretriever.passages import passages_of
from conspectus.query.methods.gretriever.retrieval import retrieve_subgraph
from conspectus.query.methods.gretriever.soft.checkpoint import SEPARATOR, open_trained, read_made
from conspectus.query.methods.gretriever.soft.frozen_model import need, open_frozen
from conspectus.query.methods.gretriever.soft.graph_encodings import RememberedEncodings, encoded
from conspectus.query.types import Answer, Evidence, Say, Step, Usage
from conspectus.query.types.subgraph import NO_PRIZES, CarriedPrizes, RetrievedSubgraph
from conspectus.query.walk.provenance import numbers_of, open_grounds
from conspectus.storage.errors import SettingsError
from conspectus.storage.index import per_index
from conspectus.storage.settings import SoftPromptSettings
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.tokens import count_tokens

if TYPE_CHECKING:
    from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt


class SoftGRetriever:
    """Answers from the subgraph of a question with the trained prompt in `soft_prompt.folder`, loaded once per process.

    Raises:
        SettingsError: No folder is set, or the index has another encoder than the training.
        MissingPart: The folder, the frozen model or the extra is missing.
    """

    def __init__(self, name: str, context: Context) -> None:
        self._name = name
        self._context = context
        self._prompt = open_soft_prompt(context.settings.soft_prompt, context.embedder.name)
        self._encode = _encodings(context)

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the answer from the subgraph around the entities linked to the question."""
        return self._answered(question, None, NO_PRIZES, say)

    async def answer_about(self, question: str, topics: Sequence[str], say: Say) -> Answer:
        """Return the answer from the subgraph around the entities with these names."""
        return self._answered(question, topics, NO_PRIZES, say)

    async def answer_after(self, question: str, kept: CarriedPrizes, say: Say) -> Answer:
        """Return the answer to a follow-up question; prizes of earlier subgraphs are carried over."""
        return self._answered(question, None, kept, say)

    def _answered(self, question: str, topics: Sequence[str] | None, kept: CarriedPrizes, say: Say) -> Answer:
        from conspectus.query.methods.gretriever.soft.prompt import SoftInput

        began = time.perf_counter()
        found = retrieve_subgraph(self._context, question, topics, kept)
        graph = found.subgraph.text
        told = graph.to_text()
        written = ""
        if graph.nodes:
            written = self._prompt.write([SoftInput(encoded(graph, self._encode), told, question)])[0]
        made = read_written(self._context, found.subgraph, written)
        say(made.text)
        passages = passages_of(self._context, found.subgraph, question, self._context.settings.answer.passages)
        usage = Usage(seconds=time.perf_counter() - began, units=len(graph.nodes), context_tokens=count_tokens(told))
        return replace(
            made,
            question=question,
            method=self._name,
            evidence=Evidence(
                passages, trace=found.trace, subgraph=with_kept(self._context, found.subgraph, made.names)
            ),
            usage=usage,
            trace=(*found.trace, *made.trace),
        )


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


def open_soft_prompt(chosen: SoftPromptSettings, embedder: str) -> "SoftPrompt":
    """Return the trained prompt of the settings for graphs encoded by this embedder; errors as for SoftGRetriever."""
    if not chosen.folder:
        raise SettingsError("soft_prompt.folder names no trained prompt; `conspectus train gretriever` makes one")
    return _opened(str(Path(chosen.folder).resolve()), chosen.model, embedder)


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
