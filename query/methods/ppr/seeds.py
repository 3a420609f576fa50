"""Where a walk starts: the passages and names that a question names, and the passages near to it."""

from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.question.linking import Links
from conspectus.query.question.question import Question
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.pagerank import PageRank, personalized_pagerank
from conspectus.storage.settings import PprSettings

_NAME_MASS = 1.0
_ENTITY_MASS = 0.5
_TEXT_MASS = 1.0
"""Shares of the personalisation: passages that the question names, entities in it, passages near to it."""

_CANDIDATES = 100
"""Best passages by words, and by meaning, that are considered as seeds."""
_COSINE_WEIGHT = 2.0


@dataclass(frozen=True, slots=True)
class TextScores:
    """Passages near to the question: chunk rows, ascending, and a score of how near each is."""

    rows: Rows
    scores: Floats


def text_scores(context: Context, question: Question) -> TextScores:
    """Return the passages nearest in words or meaning, by 2 cosine + BM25 / best BM25.

    The cosine counts as it is: where even the best is low, meaning is lost and words decide.
    """
    words, vector = question.bm25_scores, question.vector[np.newaxis]
    _, dense_rows = context.chunk_vectors.search(vector, _CANDIDATES)
    lexical_rows = np.argsort(-words, kind="stable")[:_CANDIDATES]
    rows = np.union1d(dense_rows[0], lexical_rows)
    meaning = context.chunk_vectors.scores(vector, rows)[0].astype(np.float64)
    scores = _COSINE_WEIGHT * meaning + words[rows]
    return TextScores(rows, np.maximum(scores, 0.0))


def personalization(
    context: Context, graph: Adjacency, linked: Links, near: TextScores, text_seeds: int
) -> tuple[Rows, Floats]:
    """Return the seeds and their mass: named passages, named entities, and passages near in text."""
    row_of, n_chunks = context.chunk_rows, len(context.chunks)
    most_owners = int(context.index.manifest.settings["walk_graph"]["most_owners"])
    passages: dict[int, float] = {}
    for name in linked.names:
        if len(name.chunk_ids) <= most_owners:
            for id_ in name.chunk_ids:
                row = row_of[id_]
                passages[row] = max(passages.get(row, 0.0), 1 / np.sqrt(1 + name.mentioned_in))
    entity_nodes = np.array(linked.entity_rows, np.int64) + n_chunks
    degrees = np.diff(graph.indptr)[entity_nodes] if len(entity_nodes) else np.zeros(0)
    entity_nodes, degrees = entity_nodes[degrees > 0], degrees[degrees > 0]
    text_rows, above = margins(near.rows, near.scores, text_seeds)
    nodes = [np.array(sorted(passages), np.int64), entity_nodes, text_rows]
    masses = [
        share(_NAME_MASS, np.array([passages[row] for row in sorted(passages)])),
        share(_ENTITY_MASS, 1 / np.sqrt(1 + degrees)),
        share(_TEXT_MASS, above),
    ]
    return np.concatenate(nodes), np.concatenate(masses)


def walk_from(graph: Adjacency, nodes: Rows, mass: Floats, settings: PprSettings) -> PageRank:
    """Return the walk from seeds with their mass, by the solver of the settings."""
    exact = settings.solver == "exact"
    return personalized_pagerank(graph, nodes, mass, settings.damping, epsilon=settings.epsilon, exact=exact)


def margins(rows: Rows, scores: Floats, count: int) -> tuple[Rows, Floats]:
    """Return the `count` best rows and how far each is above the next: equal seeds would drown the names."""
    order = np.lexsort((rows, -scores))[: count + 1]
    best = scores[order]
    least = best[count] if len(best) > count else 0.0
    return rows[order[:count]], best[:count] - least


def share(mass: float, values: Floats) -> Floats:
    """Scale values to sum to `mass`; all zeros stay."""
    total = values.sum()
    scaled: Floats = values * (mass / total) if total > 0 else values
    return scaled
