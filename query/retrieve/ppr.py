"""Passages by personalised PageRank over names and passages: evidence that takes several hops.

The road of HippoRAG (Gutierrez et al. 2024, section 2.3): link the question to nodes, let a walk spread from them,
read off the passages. What differs, each by measurement (DECISIONS.md): the graph has precise name edges beside
vague occurrence edges (pipelines/steps/graph.py), passages near in words and meaning seed the walk besides the
names, and the best passages are ranked again in linked pairs (pairs.py).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from query.context import Context
from query.linking import Linked, open_linker
from query.retrieve.pairs import Pairs, pair_parts
from query.terms import question_terms, telling_words
from query.types import Evidence, Step
from storage.graph.adjacency import Adjacency
from storage.graph.pagerank import PageRank, forward_push, power_iteration

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

_NAME_MASS = 1.0
_ENTITY_MASS = 0.5
_TEXT_MASS = 1.0
"""Shares of the personalisation: passages that the question names, entities in it, passages near to it."""

_FLOOR = 1e-6
"""Walk score of a passage that the walk did not reach."""
_TAIL = 0.003
"""Walk score that the passage nearest in words and meaning has at the least, so that it is in the pool."""
FORMULA = f"(walk + near + {_FLOOR:g}) * exp({{weight:g}} * (closeness + hop + max(joint, alone)))"
"""How a passage's score is made, in the terms of `Search` and pairs.py; `near` is the tail."""
_CANDIDATES = 100
"""Best passages by words, and by meaning, that are considered as seeds."""
_COSINE_WEIGHT = 2.0


@dataclass(frozen=True, slots=True)
class TextScores:
    """Passages near to the question: chunk rows, and a score of how near each is."""

    rows: Rows
    scores: Floats


@dataclass(frozen=True, slots=True)
class Search:
    """Everything that made one ranking: what it is told by, and explained from.

    The walk starts at `seeds` with `mass`. `pool` are the chunk rows that were ranked, in step with `prior` (the
    walk's score and the tail for text), `closeness` (cosines with the question), `pairs` and `scores`.
    """

    linked: Linked
    near: TextScores
    seeds: Rows
    mass: Floats
    walk: PageRank
    pool: Rows
    prior: Floats
    closeness: Floats
    pairs: Pairs
    scores: Floats

    def order(self) -> Rows:
        """Return the places in the pool, best first, ties by chunk id."""
        return np.lexsort((self.pool, -self.scores))


class PprRetriever:
    """Personalised PageRank, then pairs."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._settings = context.settings.ppr

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return the `k` best passages; their scores are only comparable within one question."""
        found = self.search(question, k)
        if isinstance(found, Step):
            return Evidence(trace=(found,))
        best = found.order()[:k]
        passages = tuple(self._context.passage(int(found.pool[i]), float(found.scores[i])) for i in best)
        return Evidence(passages, trace=self.trace(found))

    def search(self, question: str, k: int) -> Search | Step:
        """Return how the passages rank, at least `k` where there are so many, or the step that says why none does."""
        context = self._context
        n_chunks = context.index.manifest.rows["chunks"]
        if n_chunks == 0:
            return Step("ppr", "the index holds no chunk")
        vector = context.embedder.embed_query(question)[np.newaxis]
        linked = open_linker(context).link(question)
        near = text_scores(context, question, vector)
        graph = context.index.graph()
        seeds, mass = self._personalization(graph, linked, near, n_chunks)
        if not mass.sum() > 0:
            return Step("ppr", "the question names nothing here, and nothing is near to it")
        walk = self._walk(graph, seeds, mass)

        pool, prior = _pool(walk, near, n_chunks, max(k, self._settings.pool))
        closeness, pairs = self._pairs(question, vector, pool, prior, linked, n_chunks)
        # exp of log(walk) + weight * (closeness + pairs): the order of the sum, as a positive score (FORMULA)
        scores = (prior + _FLOOR) * np.exp(self._settings.pair_weight * (closeness + pairs.scores))
        return Search(linked, near, seeds, mass, walk, pool, prior, closeness, pairs, scores)

    def _personalization(
        self, graph: Adjacency, linked: Linked, near: TextScores, n_chunks: int
    ) -> tuple[Rows, Floats]:
        """Return the seeds and their mass: named passages, named entities, and passages near in text."""
        row_of = self._context.chunk_rows
        most_owners = int(self._context.index.manifest.settings["walk_graph"]["most_owners"])
        passages: dict[int, float] = {}
        for name in linked.names:
            if len(name.chunk_ids) <= most_owners:
                for id_ in name.chunk_ids:
                    row = row_of[id_]
                    passages[row] = max(passages.get(row, 0.0), 1 / np.sqrt(1 + name.mentioned_in))
        entity_nodes = np.array(linked.entity_rows, np.int64) + n_chunks
        degrees = np.diff(graph.indptr)[entity_nodes] if len(entity_nodes) else np.zeros(0)
        entity_nodes, degrees = entity_nodes[degrees > 0], degrees[degrees > 0]
        text_rows, margins = _margins(near, self._settings.text_seeds)
        nodes = [np.array(sorted(passages), np.int64), entity_nodes, text_rows]
        masses = [
            _share(_NAME_MASS, np.array([passages[row] for row in sorted(passages)])),
            _share(_ENTITY_MASS, 1 / np.sqrt(1 + degrees)),
            _share(_TEXT_MASS, margins),
        ]
        return np.concatenate(nodes), np.concatenate(masses)

    def _walk(self, graph: Adjacency, nodes: Rows, mass: Floats) -> PageRank:
        if self._settings.solver == "exact":
            personalization = np.bincount(nodes, weights=mass, minlength=graph.n_nodes)
            return power_iteration(graph, personalization, self._settings.damping)
        return forward_push(graph, nodes, mass, self._settings.damping, self._settings.epsilon)

    def _pairs(
        self,
        question: str,
        vector: npt.NDArray[np.float32],
        pool: Rows,
        walk: Floats,
        linked: Linked,
        n_chunks: int,
    ) -> tuple[Floats, Pairs]:
        """Return the pool's cosines with the question, and what it gains in pairs."""
        context = self._context
        terms = question_terms(context, question)
        vectors = context.chunk_vectors.mean_vectors(pool).astype(np.float64)
        closeness = context.chunk_vectors.scores(vector, pool)[0].astype(np.float64)
        pairs = pair_parts(
            walk,
            closeness,
            vectors @ vectors.T,
            _linked(context.index.graph(), pool, linked, n_chunks),
            terms.held_by(pool),
            terms.weights,
        )
        return closeness, pairs

    def trace(self, found: Search) -> tuple[Step, ...]:
        """Return the steps of a search in words."""
        linked, near, walk = found.linked, found.near, found.walk
        named = ", ".join(name.name for name in linked.names) or "no title"
        return (
            Step("link", f"the question names {named}, and {len(linked.entity_rows)} entities"),
            Step("seed", f"{min(len(near.rows), self._settings.text_seeds)} passages near in words and meaning"),
            Step("walk", f"{walk.solver}: {len(walk.nodes)} nodes reached, residual {walk.residual:.1e}"),
            Step("pairs", f"{len(found.pool)} passages ranked again with the passages they are linked with"),
        )


def text_scores(context: Context, question: str, vector: npt.NDArray[np.float32]) -> TextScores:
    """Return the passages nearest in words or meaning, by 2 cosine + BM25 / best BM25.

    The cosine counts as it is: where even the best is low, meaning is lost and words decide.
    """
    words = context.bm25.scores(telling_words(question)).astype(np.float64)
    _, dense_rows = context.chunk_vectors.search(vector, _CANDIDATES)
    lexical_rows = np.argsort(-words, kind="stable")[:_CANDIDATES]
    rows = np.union1d(dense_rows[0], lexical_rows)
    meaning = context.chunk_vectors.scores(vector, rows)[0].astype(np.float64)
    scores = _COSINE_WEIGHT * meaning + words[rows] / max(words.max(), 1e-9)
    return TextScores(rows, np.maximum(scores, 0.0))


def _pool(walk: PageRank, near: TextScores, n_chunks: int, count: int) -> tuple[Rows, Floats]:
    """Return the `count` best chunks and their scores: the walk's, and a tail for those near to the question."""
    reached = walk.nodes < n_chunks
    rows = np.union1d(walk.nodes[reached], near.rows)
    prior = np.zeros(len(rows))
    prior[np.searchsorted(rows, walk.nodes[reached])] = walk.scores[reached]
    prior[np.searchsorted(rows, near.rows)] += _TAIL * (near.scores / near.scores.max(initial=1e-9)) ** 4
    best = np.argsort(-prior, kind="stable")[:count]  # rows ascend, so ties go by chunk id
    return rows[best], prior[best]


def _margins(near: TextScores, count: int) -> tuple[Rows, Floats]:
    """Return the `count` best rows and how far each is above the next: equal seeds would drown the names."""
    order = np.lexsort((near.rows, -near.scores))[: count + 1]
    best = near.scores[order]
    least = best[count] if len(best) > count else 0.0
    return near.rows[order[:count]], best[:count] - least


def _share(mass: float, values: Floats) -> Floats:
    """Scale values to sum to `mass`; all zeros stay."""
    total = values.sum()
    scaled: Floats = values * (mass / total) if total > 0 else values
    return scaled


def _linked(graph: Adjacency, pool: Rows, question: Linked, n_chunks: int) -> npt.NDArray[np.bool_]:
    """Return (n, n): which passages share a name edge, or a name that the question does not hold."""
    from scipy.sparse import csr_array

    degrees, neighbours, _ = graph.edges_of(pool)
    starts = np.concatenate([[0], np.cumsum(degrees)])
    asked = np.array(question.entity_rows, np.int64) + n_chunks
    counts = np.where(np.isin(neighbours, asked), 0.0, 1.0)
    holds = csr_array((counts, neighbours, starts), shape=(len(pool), graph.n_nodes))
    names = holds[:, n_chunks:]
    found: npt.NDArray[np.bool_] = ((holds[:, pool] + names @ names.T).toarray()) > 0
    np.fill_diagonal(found, False)
    return found
