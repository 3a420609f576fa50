"""The answer of G-Retriever from a subgraph, read by a language model.

One call reads the subgraph, and its citations are checked against the subgraph. The variants are
those of He et al. 2024, table 4 (inference only): plain, "let's think step by step" (Kojima et al. 2022), "let's
construct a graph first" (CoT-BAG: Wang et al. 2023), and the question alone.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.abstention import is_unknown, uncited
from conspectus.query.answer_writing.own_words import told_anew
from conspectus.query.answering import Assembly
from conspectus.query.citations.marks import UNVERIFIED
from conspectus.query.context import Context
from conspectus.query.types import Answer, Evidence, Passage
from conspectus.query.types.subgraph import CitedParts, RetrievedSubgraph
from conspectus.query.types.textual_graph import TextualGraph
from conspectus.query.walk.graph import names_as_written, open_graph
from conspectus.query.walk.passages import chunks_named_in, has_documents, open_entity_chunks, rank_passages
from conspectus.query.walk.provenance import answer_by_triples, open_grounds
from conspectus.query.walk.verdicts import SpokenAnswer, mention
from conspectus.storage.errors import BadAnswer
from pydantic import BaseModel, Field


def cited_parts(graph: TextualGraph, nodes: Sequence[int], edges: Sequence[int]) -> CitedParts:
    """Return the valid cited numbers. Nodes and edges are numbered from 0, as in the tables.

    >>> str(cited_parts(TextualGraph(("a",), ()), [0, 7], []))
    '1 of 2 cited nodes and 0 of 0 cited edges are valid; fully valid: no'
    """
    some_nodes, some_edges = tuple(dict.fromkeys(nodes)), tuple(dict.fromkeys(edges))
    return CitedParts(
        tuple(node for node in some_nodes if 0 <= node < len(graph.nodes)),
        tuple(edge for edge in some_edges if 0 <= edge < len(graph.edges)),
        len(some_nodes),
        len(some_edges),
    )


STEP = "subgraph"
_MAX_TOKENS = 512
"""Maximum tokens of a reply: an answer with its facts, or some steps of reasoning before it."""


class OwnReply(SpokenAnswer):
    """A model's reply from its own knowledge: its answer or "Unknown", and the answer entities."""

    answer: str
    names: list[str] = Field([])


class SubgraphReply(OwnReply):
    """A model's reply from a subgraph: also the cited node and edge numbers."""

    nodes: list[int] = Field([])
    edges: list[int] = Field([])


class _Thoughts(BaseModel):
    thoughts: str = ""


class ReasonedReply(SubgraphReply, _Thoughts):
    """A reply that begins with the model's reasoning: fields of the last base come first."""


FORMS: dict[str, type[OwnReply]] = {
    "zero_shot": SubgraphReply,
    "zero_cot": ReasonedReply,
    "cot_bag": ReasonedReply,
    "question_only": OwnReply,
}
"""The form of the reply to each prompt of G-Retriever's table 3."""


async def read_subgraph(
    assembly: Assembly, context: Context, subgraph: RetrievedSubgraph, model: LanguageModel, evidence: Evidence
) -> Answer:
    """Return the model's answer from a subgraph; an empty subgraph gives no answer without a call.

    Numbers without a node or edge are dropped and counted in `dropped_citations`; the last step of the trace reports
    the counts. `gretriever.prompt` selects the prompt; `question_only` omits the subgraph.
    """
    chosen, question = context.settings.gretriever, assembly.question
    alone = chosen.prompt == "question_only"
    if not subgraph.nodes and not alone:
        return _nothing(assembly, "the graph has nothing near to the question", evidence)
    given = {} if alone else {"graph": numbered_text(subgraph.text)}
    prompt = messages(f"query/gretriever/{chosen.prompt}", question=question, **given)
    sources = () if alone else open_grounds(context).sources(subgraph.relations)
    request = Request(prompt, STEP, max_tokens=_MAX_TOKENS, sources=sources)
    try:
        said = await ask_for(model, request, FORMS[chosen.prompt])
    except BadAnswer as error:
        return _nothing(assembly, f"the reply cannot be used ({error.reason})", evidence)
    text = told_anew(said.answer, prompt, question).strip()
    if is_unknown(text):
        return _nothing(assembly, "the model does not know", evidence)
    if not isinstance(said, SubgraphReply):  # there is nothing to cite
        assembly.step("answer", "from no graph")
        return assembly.assemble(f"{text} {UNVERIFIED}", names=_distinct(said.names), evidence=evidence)
    parts = cited_parts(subgraph.text, said.nodes, said.edges)
    edges = _edges(subgraph, parts) or _edges_naming(subgraph, said.names or [text])
    rows = [subgraph.relations[edge] for edge in edges]
    names = names_as_written(open_graph(context), said.names, subgraph.nodes)
    assembly.step("answer", f"{parts}{uncited(rows)}")
    answer = answer_by_triples(assembly, context, text, rows, names=names, evidence=evidence, unproved=UNVERIFIED)
    return replace(answer, dropped_citations=parts.dropped, cited_parts=parts)


def numbered_text(graph: TextualGraph) -> str:
    """Return the tables of a graph, with numbered edges, so that nodes and edges can be cited.

    >>> print(numbered_text(TextualGraph(("a",), ())), end="")
    node_id,node_attr
    0,a
    <BLANKLINE>
    edge_id,src,edge_attr,dst
    """
    nodes, edges = graph.tables()
    head, *rows = edges.rows
    return f"{nodes}\n{replace(edges, rows=(('edge_id', *head), *((str(i), *row) for i, row in enumerate(rows))))}"


def _nothing(assembly: Assembly, why: str, evidence: Evidence) -> Answer:
    assembly.step("answer", why)
    return assembly.no_answer(evidence)


def _edges(subgraph: RetrievedSubgraph, parts: CitedParts) -> tuple[int, ...]:
    """Return the cited edges; if only nodes are cited, the edges between them."""
    if parts.edges:
        return parts.edges
    held = set(parts.nodes)
    return tuple(place for place, edge in enumerate(subgraph.text.edges) if edge.source in held and edge.target in held)


def _edges_naming(subgraph: RetrievedSubgraph, names: Sequence[str]) -> tuple[int, ...]:
    """Return the edge with the highest prize at a node named in an answer, for an answer that cites nothing."""
    named = {place for place, node in enumerate(subgraph.text.nodes) if mention(" ".join(names), [node])}
    edges = [place for place, edge in enumerate(subgraph.text.edges) if {edge.source, edge.target} & named]
    return tuple(sorted(edges, key=lambda place: -subgraph.edge_prizes[place])[:1])


def _distinct(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


_NAMED = 0.2
"""Bonus of a passage that mentions an entity named in the question."""
_TITLED = 0.15
"""Bonus of a passage whose title is the name of a node.

Both were chosen by recall@2 and @5 on AdvHotpot and MuSiQue, without HotpotQA. A bonus for stating an edge did not
help.
"""


def passages_of(context: Context, found: RetrievedSubgraph, question: str, k: int) -> tuple[Passage, ...]:
    """Return the k best passages, ties by row; none if the index contains only a graph."""
    if not has_documents(context):
        return ()
    chunks = open_entity_chunks(context)
    bonus: dict[int, float] = defaultdict(float)
    for row in chunks_named_in(context, question):
        bonus[row] += _NAMED
    for row in {row for node in found.nodes for row in chunks.titled(node)}:
        bonus[row] += _TITLED
    return rank_passages(context, question, bonus, k)
