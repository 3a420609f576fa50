"""Triple retrieval baseline for G-Retriever: the nearest triples by cosine within a token budget.

The whole graph is searched, each triple by itself; He et al. 2024, section 5.3, discuss what this misses.
"""

import numpy as np
from conspectus.query.answering import Assembly, ModelMethod, assembling
from conspectus.query.context import Context, IndexRetriever
from conspectus.query.methods.gretriever.answer import passages_of, read_subgraph
from conspectus.query.methods.gretriever.textualise import edge_text, node_text, subgraph_of
from conspectus.query.types import Answer, Evidence, Step
from conspectus.query.types.subgraph import RetrievedSubgraph
from conspectus.query.walk.graph import KnowledgeGraph, open_graph, predicate_vectors, sentence, spoken
from conspectus.query.walk.provenance import answer_by_triples
from conspectus.storage.arrays import Floats, Ints, Vectors
from conspectus.storage.index import per_index
from conspectus.storage.text.tokens import count_tokens

_CANDIDATES = 64
"""Triples without a stored vector that are embedded for one question: some 0.2 seconds."""
_ROWS = 10_000
"""Triples whose vectors are summed in one batch."""
_AT_ONCE = 256
"""Maximum triples with stored vectors that are ranked, more than a usual budget allows."""


class TriplesRetriever(IndexRetriever):
    """Finds the nearest triples, and the passages that state them."""

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return up to `k` passages and the triples as a graph, which may be disconnected."""
        found = nearest_triples(self._context, question)
        step = Step("triples", f"{len(found.relations)} nearest of {found.searched[1]} triples")
        return Evidence(passages_of(self._context, found, question, k), trace=(step,), subgraph=found)


class TriplesBaseline(ModelMethod):
    """Answers from the nearest triples: by a model, or without one by the far end of the nearest triple."""

    async def answer(self, question: str) -> Answer:
        """Return the model's answer; without a model, the target of the nearest triple, or its source if that is asked
        for.

        With a model it makes one call, as `gretriever` does.
        """
        with assembling(question, self._name) as assembly:
            evidence = await TriplesRetriever(self._context).retrieve(question, self._context.settings.answer.passages)
            assembly.add(*evidence.trace)
            found = evidence.subgraph
            if found is None or not found.relations:
                return assembly.no_answer(evidence)
            lines = [triple_line(open_graph(self._context), row) for row in found.relations]
            assembly.over(len(lines), sum(map(count_tokens, lines)))
            if self._model is None:
                made = self._nearest(assembly, found.relations[0], evidence)
            else:
                made = await read_subgraph(assembly, self._context, found, self._model, evidence)
            return made

    def _nearest(self, assembly: Assembly, row: int, evidence: Evidence) -> Answer:
        graph = open_graph(self._context)
        source, target = graph.names[graph.sources[row]], graph.names[graph.targets[row]]
        name = source if spoken(target).casefold() in assembly.question.casefold() else target
        return answer_by_triples(assembly, self._context, spoken(name), [row], names=(name,), evidence=evidence)


def nearest_triples(context: Context, question: str) -> RetrievedSubgraph:
    """Return the nearest triples within `gretriever.context_tokens`; their prizes are cosines.

    Triples without a stored vector (of an imported graph) are first ranked by the sum of the vectors of their ends and
    predicate; the `_CANDIDATES` best are then embedded as sentences.
    """
    graph = open_graph(context)
    vector = context.embedder.embed_query(question)
    rows, cosines = _with_vectors(context, vector)
    other_rows, other_cosines = _without_vectors(context, graph, vector)
    rows, cosines = np.concatenate([rows, other_rows]), np.concatenate([cosines, other_cosines])
    order = np.lexsort((rows, -np.round(cosines, 6)))
    left = context.room("subgraph", context.settings.gretriever.context_tokens)
    kept: list[int] = []
    for place in order.tolist():
        left -= count_tokens(triple_line(graph, int(rows[place])))
        if left < 0:
            break
        kept.append(place)
    chosen = {int(rows[item]): float(cosines[item]) for item in kept}
    nodes = dict.fromkeys(int(end) for row in chosen for end in (graph.sources[row], graph.targets[row]))
    return subgraph_of(graph, list(nodes), list(chosen), {}, chosen, (graph.n_entities, len(graph.sources)))


def triple_line(graph: KnowledgeGraph, relation: int) -> str:
    """Return a triple as one line."""
    source, target = (node_text(graph, item) for item in (graph.sources[relation], graph.targets[relation]))
    return f"{source},{edge_text(graph, relation)},{target}"


def _with_vectors(context: Context, vector: Vectors) -> tuple[Ints, Floats]:
    stored = context.index.vectors("relations")
    if not stored.n_found:
        return np.empty(0, np.int64), np.empty(0)
    cosines, rows = stored.search(vector[np.newaxis], _AT_ONCE)
    return np.asarray(rows[0], np.int64), np.asarray(cosines[0], np.float64)


def _without_vectors(context: Context, graph: KnowledgeGraph, vector: Vectors) -> tuple[Ints, Floats]:
    stored = context.index.vectors("relations")
    vectorless = np.setdiff1d(np.arange(len(graph.sources)), np.asarray(stored.table_rows))
    if not len(vectorless):
        return np.empty(0, np.int64), np.empty(0)
    entities = _entity_vectors(context)
    near = entities @ vector
    summed = near[graph.sources] + (predicate_vectors(context) @ vector)[graph.stated] + near[graph.targets]
    by_parts = (summed / _lengths(context))[vectorless]
    rows = vectorless[np.lexsort((vectorless, -np.round(by_parts, 6)))[:_CANDIDATES]]
    texts = [sentence(graph, int(row)) for row in rows]
    embedder = context.embedder
    first = [embedder.windows(text)[0] for text in texts]  # a description may exceed the model's input
    return rows, np.asarray(embedder.embed(first) @ vector, np.float64)


@per_index
def _entity_vectors(context: Context) -> Vectors:
    """Return the stored vectors of all entities (n, d), zeros for those without one."""
    return context.index.vectors("entities").mean_vectors(np.arange(open_graph(context).n_entities, dtype=np.int64))


@per_index
def _lengths(context: Context) -> Floats:
    """Return the length of the sum of the vectors of each triple's parts, at least 1."""
    graph, entities, predicates = open_graph(context), _entity_vectors(context), predicate_vectors(context)
    lengths = np.empty(len(graph.sources))
    for start in range(0, len(lengths), _ROWS):
        rows = slice(start, start + _ROWS)
        parts = entities[graph.sources[rows]] + predicates[graph.stated[rows]] + entities[graph.targets[rows]]
        lengths[rows] = np.linalg.norm(parts, axis=1)
    return np.maximum(lengths, 1.0)
