"""The personalization vector: passages and entities named in the question, and passages near to it in text."""

from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.question.linking import Links
from conspectus.query.question.question import Question
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.walk_graph import MOST_OWNERS
from conspectus.storage.vectors.exact import best

_NAME_MASS = 1.0
_ENTITY_MASS = 0.5
_TEXT_MASS = 1.0
"""Mass of the passages whose titles the question names, of its entities, and of the passages near to it."""
TEXT_SEEDS = 5  # passages that seed the walk: it must start from what is near, not from everything
_CANDIDATES = 100
"""Number of best passages by words, and by meaning, considered as seeds."""
COSINE_WEIGHT = 2.0


@dataclass(frozen=True, slots=True)
class TextScores:
    """Passages near to the question: chunk rows (n,), ascending, and a nearness score (n,)."""

    rows: Rows
    scores: Floats


def text_scores(context: Context, question: Question) -> TextScores:
    """Return the passages nearest in words or meaning, by 2 cosine + BM25 / best BM25.

    The cosine is not scaled: if even the best is low, the embedding does not capture the question and words decide.
    """
    words, vector = question.bm25_scores, question.vector[np.newaxis]
    _, dense_rows = context.chunk_vectors.search(vector, _CANDIDATES)
    _, lexical_rows = best(words, np.arange(len(words)), _CANDIDATES)
    rows = np.union1d(dense_rows[0], lexical_rows)
    cosines = context.chunk_vectors.scores(vector, rows)[0].astype(np.float64)
    scores = COSINE_WEIGHT * cosines + words[rows]
    return TextScores(rows, np.maximum(scores, 0.0))


def personalization(context: Context, links: Links, near: TextScores) -> tuple[Rows, Floats]:
    """Return the seeds of the walk and their mass.

    Args:
        context: The index.
        links: The names in the question. A title counts less the more passages mention it, an entity the more edges it
            has; a title of more than `MOST_OWNERS` passages does not count.
        near: Passages near in text.

    Returns:
        (nodes (s,), mass (s,)): graph nodes (chunk rows, and entity rows after all chunks), and the mass of each.
    """
    graph, row_of, n_chunks = context.index.graph(), context.chunk_rows, len(context.chunks)
    passages: dict[int, float] = {}
    for name in links.names:
        if len(name.chunk_ids) <= MOST_OWNERS:
            for id_ in name.chunk_ids:
                row = row_of[id_]
                passages[row] = max(passages.get(row, 0.0), 1 / np.sqrt(1 + name.mentioned_in))
    entities = np.array(links.entity_rows, np.int64) + n_chunks
    degrees = np.diff(graph.indptr)[entities] if len(entities) else np.zeros(0)
    entities, degrees = entities[degrees > 0], degrees[degrees > 0]
    text_rows, above = margins(near.rows, near.scores, TEXT_SEEDS)
    nodes = [np.array(sorted(passages), np.int64), entities, text_rows]
    masses = [
        share(_NAME_MASS, np.array([passages[row] for row in sorted(passages)])),
        share(_ENTITY_MASS, 1 / np.sqrt(1 + degrees)),
        share(_TEXT_MASS, above),
    ]
    return np.concatenate(nodes), np.concatenate(masses)


def margins(rows: Rows, scores: Floats, count: int) -> tuple[Rows, Floats]:
    """Return the `count` best rows and the margin of each over the next one after them.

    Seeds of equal mass would drown out the names.
    """
    order = np.lexsort((rows, -scores))[: count + 1]
    highest = scores[order]
    least = highest[count] if len(highest) > count else 0.0
    return rows[order[:count]], highest[:count] - least


def share(mass: float, values: Floats) -> Floats:
    """Scale values to sum to `mass`; if all are 0 they stay 0.

    >>> share(1.0, np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    total = values.sum()
    scaled: Floats = values * (mass / total) if total > 0 else values
    return scaled
