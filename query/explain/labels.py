"""Labels for explanations: names of graph nodes and edges, and the reasons for seeds."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from conspectus.query.context import Context
from conspectus.query.explain.types import PathHop, PathNode
from conspectus.query.methods.ppr.ppr import PprRanking
from conspectus.query.question.linking import open_linker
from conspectus.query.question.question import open_question
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.ppr_paths import MassPath, edge_weight
from conspectus.storage.graph.walk_graph import MOST_OWNERS
from conspectus.storage.index import per_index
from conspectus.storage.locators import described
from conspectus.storage.records import Chunk, Entity, Link
from conspectus.storage.tables import records_of
from conspectus.storage.text.names import words

_LONGEST = 60
"""Most characters of text shown instead of a missing title."""
_MOST_NAMES = 3
"""Most names, and most words, in the label of one edge or seed."""


_FORWARD = {
    "reply": "replies to",
    "reference": "refers, as {text}, to",
    "hyperlink": "links, as {text}, to",
    "definition": "uses {text}, which is explained in",
    "index": "lists {text} in an index with",
    "contents": "lists {text} in a table of contents with",
    "parent": "lies in the section that begins in",
    "next": "goes on in",
}
_BACKWARD = {
    "reply": "is answered by",
    "reference": "is referred to, as {text}, in",
    "hyperlink": "is linked from {text} in",
    "definition": "explains {text}, which is used in",
    "index": "is listed, as {text}, in the index in",
    "contents": "is listed, as {text}, in the table of contents in",
    "parent": "begins the section of",
    "next": "goes on from",
}
"""The label of each kind of link, from its source and from its target, the most specific first."""


class Naming:
    """Labels for the graph of one index; see storage/graph/walk_graph.py for its nodes and edges."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._n_chunks = len(context.chunks)

    def node(self, number: int) -> PathNode:
        """Return a node by its number: the chunks come first, then the entities."""
        if number < self._n_chunks:
            chunk = self._context.chunks[number]
            return PathNode("passage", chunk.id, self._passage(chunk))
        entity = self._context.index.each(Entity)[number - self._n_chunks]
        return PathNode("entity", entity.id, entity.name)

    def edge(self, source: int, end: int) -> str:
        """Return the label of an edge, as a verb from the first node to the second."""
        from_passage, to_passage = source < self._n_chunks, end < self._n_chunks
        if from_passage != to_passage:
            return "mentions" if from_passage else "is mentioned in"
        if not from_passage:
            return "is linked with"
        if named := self._names_of(source, end):
            return f"names {_listed(named)}"
        if named := self._names_of(end, source):
            return f"is named {_listed(named)} in"
        for link, verbs in ((self._link(source, end), _FORWARD), (self._link(end, source), _BACKWARD)):
            if link:
                return verbs[link.kind].format(text=_quoted(link.text))
        return "is linked with"

    def why(self, seed: int, question: str, found: PprRanking) -> str:
        """Return why the walk begins at a seed."""
        if seed >= self._n_chunks:
            return f"the question names {_quoted(self.node(seed).name)}"
        id_ = self._context.chunks[seed].id
        names = [name.name for name in found.question.links.names if id_ in name.chunk_ids]
        if names:
            return f"the question names {_listed(names)}"
        return f"near to the question: {self._nearness(seed, question)}"

    def _nearness(self, row: int, question: str) -> str:
        vector = open_question(self._context, question).vector[np.newaxis]
        cosine = float(self._context.chunk_vectors.scores(vector, np.array([row]))[0][0])
        shared = self.shared_words(row, question)
        return f"cosine {cosine:.2f}" + (f", shares {_listed(shared)}" if shared else "")

    def shared_words(self, row: int, question: str) -> list[str]:
        """Return the question's content words in a chunk or its title, rarest first."""
        chunk = self._context.chunks[row]
        held = {word.key for word in words(f"{self._context.titles[chunk.document_id]} {chunk.text}")}
        shared = dict.fromkeys(
            word for word in open_question(self._context, question).content_words.split() if word in held
        )
        return sorted(shared, key=lambda word: (-self._context.bm25.inverse_document_frequency(word), word))

    def _link(self, source: int, target: int) -> Link | None:
        """Return the structural link from one chunk to another; if there are several kinds, the most specific."""
        from pyarrow import compute

        index = self._context.index
        found = index.once((Naming, Link), lambda: index.arrow(Link))
        ids = self._context.chunks[source].id, self._context.chunks[target].id
        wanted = compute.and_(
            compute.equal(found.column("source_id"), ids[0]), compute.equal(found.column("target_id"), ids[1])
        )
        links = [link for link in records_of(found.filter(wanted), Link) if link.kind in _FORWARD]
        return min(links, key=lambda link: (list(_FORWARD).index(link.kind), link.id), default=None)

    def _names_of(self, holder: int, owner: int) -> list[str]:
        """Return the names in one chunk's text that refer to another chunk."""
        id_ = self._context.chunks[owner].id
        held = open_linker(self._context.index).titles_in(self._context.chunks[holder].text)
        few = [item for item in dict.fromkeys(held) if len(item.chunk_ids) <= MOST_OWNERS]
        return [item.name for item in few if id_ in item.chunk_ids]

    def _passage(self, chunk: Chunk) -> str:
        title = self._context.titles[chunk.document_id].strip()
        if not title:
            text = " ".join(chunk.text.split())
            title = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        if _chunks_of_documents(self._context)[chunk.document_id] == 1:
            return title
        place = described(self._context.places_of(chunk.document_id), chunk.start, chunk.end)
        if len(_chunks_of_documents(self._context)) == 1:  # a single title distinguishes nothing
            return place or f"passage {chunk.ordinal + 1}"
        return f"{title}, {place}" if place else f"{title}, passage {chunk.ordinal + 1}"


@per_index
def _chunks_of_documents(context: Context) -> Counter[str]:
    return Counter(chunk.document_id for chunk in context.chunks)


def hops_of(
    path: MassPath, graph: Adjacency, node: Callable[[int], PathNode], edge: Callable[[int, int], str]
) -> list[PathHop]:
    """Return the hops of a path, given the labels of a graph's nodes and edges."""
    hops = [PathHop(node(path.nodes[0]), "", 1.0)]
    for source, end in pairwise(path.nodes):
        passed = edge_weight(graph, source, end) / float(graph.strength[source])
        hops.append(PathHop(node(end), edge(source, end), passed))
    return hops


def _listed(names: list[str]) -> str:
    shown = ", ".join(_quoted(name) for name in names[:_MOST_NAMES])
    return shown + (f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else "")


def _quoted(name: str) -> str:
    return f'"{name}"'
