"""G-Retriever with a trained soft prompt: a frozen model reads the subgraph as a graph token and as text.

The prompt comes from `conspectus train gretriever`. Such a model does not cite: an answer is supported by the edges at
the subgraph nodes that it names, and has no support if it names none.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.query.answering import Assembly
from conspectus.query.context import Context
from conspectus.query.methods.gretriever.gretriever import GRetriever
from conspectus.query.methods.gretriever.retrieval import Retrieved
from conspectus.query.methods.gretriever.soft.checkpoint import SEPARATOR, open_trained, read_made
from conspectus.query.methods.gretriever.soft.frozen_model import need, open_frozen
from conspectus.query.methods.gretriever.soft.graph_encodings import RememberedEncodings, encoded
from conspectus.query.types import Answer, Evidence
from conspectus.query.types.subgraph import RetrievedSubgraph
from conspectus.query.walk.provenance import answer_by_triples
from conspectus.storage.errors import SettingsError
from conspectus.storage.index import per_index
from conspectus.storage.text.normalise import entity_key

if TYPE_CHECKING:
    from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt


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
