"""The answer of G-Retriever from a subgraph, read by a language model.

There is one call over the subgraph, and what it cites is checked against the subgraph. The variants are
those of He et al. 2024, table 4 (inference only): plain, "let's think step by step" (Kojima et al. 2022), "let's
construct a graph first" (CoT-BAG: Wang et al. 2023), and the question alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from conspectus.prompts.model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.structured import ask_for
from conspectus.query.abstention import NO_ANSWER, is_unknown, uncited
from conspectus.query.citations.marks import UNVERIFIED
from conspectus.query.context import Context
from conspectus.query.types import Answer, Step
from conspectus.query.types.subgraph import RetrievedSubgraph
from conspectus.query.types.textual_graph import TextualGraph
from conspectus.query.walk.graph import open_graph, spoken
from conspectus.query.walk.provenance import numbers_of, open_grounds
from conspectus.query.walk.replies import answer_in_words, mention
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class CitedParts:
    """The valid cited node and edge numbers, each once, and how many of each were cited.

    `nodes_cited` and `edges_cited` count distinct numbers, valid or not.
    """

    nodes: tuple[int, ...]
    edges: tuple[int, ...]
    nodes_cited: int
    edges_cited: int

    @property
    def dropped(self) -> int:
        """How many numbers are of no node or edge."""
        return self.nodes_cited + self.edges_cited - len(self.nodes) - len(self.edges)

    @property
    def fully_valid(self) -> bool:
        """Whether there are citations and all of them are valid."""
        return bool(self.nodes or self.edges) and not self.dropped

    def __str__(self) -> str:
        return (
            f"{len(self.nodes)} of {self.nodes_cited} cited nodes and {len(self.edges)} of {self.edges_cited} cited "
            f"edges are valid; fully valid: {'yes' if self.fully_valid else 'no'}"
        )


def cited_parts(graph: TextualGraph, nodes: Sequence[int], edges: Sequence[int]) -> CitedParts:
    """Return the valid ones of the cited numbers. Nodes and edges are numbered from 0, as in the tables.

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
"""Tokens of a reply: an answer with its facts, or some steps of reasoning before it."""


class OwnReply(BaseModel):
    """A model's reply from its own knowledge: its answer or "Unknown", and the names that answer."""

    answer: str
    names: list[str] = []

    @classmethod
    def in_words(cls, reply: str) -> "Self | None":
        """Read an answer in prose."""
        said = answer_in_words(reply)
        return cls(answer=said[0]) if said else None


class SubgraphReply(OwnReply):
    """A model's reply from a subgraph: also the cited node and edge numbers."""

    nodes: list[int] = []
    edges: list[int] = []


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


async def read_subgraph(context: Context, subgraph: RetrievedSubgraph, question: str, model: LanguageModel) -> Answer:
    """Return the model's answer from a subgraph; an empty subgraph gives NO_ANSWER without a call.

    Numbers of no node or edge are dropped and counted in `dropped_citations`; the last step of the trace reports the
    counts. `gretriever.prompt` selects the prompt; `question_only` omits the subgraph.
    """
    chosen = context.settings.gretriever
    alone = chosen.prompt == "question_only"
    if not subgraph.nodes and not alone:
        return Answer("", "", NO_ANSWER, trace=(Step("answer", "the graph has nothing near to the question"),))
    given = {} if alone else {"graph": numbered_text(subgraph.text)}
    prompt = messages(f"query/gretriever_{chosen.prompt}", question=question, **given)
    grounds = open_grounds(context)
    sources = () if alone else grounds.sources(subgraph.relations)
    request = Request(prompt, STEP, max_tokens=_MAX_TOKENS, sources=sources)
    try:
        said = await ask_for(model, request, FORMS[chosen.prompt])
    except BadAnswer as error:
        return _nothing(f"the reply cannot be used ({error.reason})")
    except ModelError as error:
        return _nothing(f"no reply ({error})")
    if is_unknown(said.answer):
        return _nothing("the model does not know")
    if not isinstance(said, SubgraphReply):  # there is nothing that could be cited
        return Answer(
            "",
            "",
            f"{said.answer.strip()} {UNVERIFIED}",
            names=_distinct(said.names),
            trace=(Step("answer", "from no graph"),),
        )
    return _checked(context, subgraph, said)


def numbered_text(graph: TextualGraph) -> str:
    """Return the tables of a graph, that of the edges with their numbers, so that both can be cited.

    >>> print(numbered_text(TextualGraph(("a",), ())), end="")
    node_id,node_attr
    0,a
    <BLANKLINE>
    edge_id,src,edge_attr,dst
    """
    nodes, edges = graph.tables()
    head, *rows = edges.rows
    return f"{nodes}\n{replace(edges, rows=(('edge_id', *head), *((str(i), *row) for i, row in enumerate(rows))))}"


def _nothing(why: str) -> Answer:
    return Answer("", "", NO_ANSWER, trace=(Step("answer", why),))


def _checked(context: Context, subgraph: RetrievedSubgraph, said: SubgraphReply) -> Answer:
    """Return the answer with its valid citations, edges as numbered triples."""
    graph = open_graph(context)
    parts = cited_parts(subgraph.text, said.nodes, said.edges)
    edges = _edges(subgraph, parts) or _edges_naming(subgraph, said.names or [said.answer])
    rows = [subgraph.relations[edge] for edge in edges]
    grounds = open_grounds(context)
    written = {
        entity_key(name): graph.names[row] for name, row in zip(subgraph.text.nodes, subgraph.nodes, strict=True)
    }
    names = _distinct([written.get(entity_key(spoken(name)), name) for name in said.names])
    return Answer(
        "",
        "",
        f"{said.answer.strip()} {numbers_of(len(rows)) or UNVERIFIED}",
        citations=grounds.citations(rows),
        trace=(Step("answer", f"{parts}{uncited(rows)}"),),
        dropped_citations=parts.dropped,
        names=names,
        triples=grounds.triples(rows),
    )


def _edges(subgraph: RetrievedSubgraph, parts: CitedParts) -> tuple[int, ...]:
    """Return the cited edges; where only nodes are cited, the edges between these."""
    if parts.edges:
        return parts.edges
    held = set(parts.nodes)
    return tuple(place for place, edge in enumerate(subgraph.text.edges) if edge.source in held and edge.target in held)


def _edges_naming(subgraph: RetrievedSubgraph, names: Sequence[str]) -> tuple[int, ...]:
    """Return the edge of highest prize at a node that an answer names, for an answer that cites nothing."""
    named = {place for place, node in enumerate(subgraph.text.nodes) if mention(" ".join(names), [node])}
    edges = [place for place, edge in enumerate(subgraph.text.edges) if {edge.source, edge.target} & named]
    return tuple(sorted(edges, key=lambda place: -subgraph.edge_prizes[place])[:1])


def _distinct(names: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
