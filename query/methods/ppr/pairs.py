"""Pair scores: the share of a question covered by two linked passages together but by neither alone.

A multi-hop question is answered by passages that need each other: one names the bridge entity, the other is about it.
Among the best passages of a walk, each is scored with the passages linked to it.
"""

from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.query.question.linking import Links
from conspectus.storage.arrays import Bools, Floats, Rows
from conspectus.storage.graph.adjacency import Adjacency


@dataclass(frozen=True, slots=True)
class PairScores:
    """The scores of n passages, alone and with the passages linked to them, each (n,).

    With cover(S) the share of the question's terms that the passages S contain:

        joint(b) = max over linked a of cover(a, b) fit(a, b)
        alone(b) = cover(b) closeness(b)
        titles(b) = max over joined a of cover(a, b)

    where fit(a, b) is the length of the question's projection on the plane of both passages' vectors: how well the two
    together match the question's meaning. `joint_with` and `titles_with` are the positions of the partners a,
    meaningless where the value is 0.
    """

    joint: Floats
    joint_with: Rows
    alone: Floats
    titles: Floats
    titles_with: Rows

    @property
    def together(self) -> Floats:
        """The score of each passage by itself or with its best partner, (n,)."""
        total: Floats = np.maximum(self.joint, self.alone)
        return total


def score_pairs(
    closeness: Floats, similarity: Floats, linked: Bools, joined: Bools, contained: Floats, weights: Floats
) -> PairScores:
    """Return the pair scores of n passages.

    Args:
        closeness: (n,) cosines with the question.
        similarity: (n, n) cosines among the passages.
        linked: (n, n) which share a name; symmetric, false on the diagonal.
        joined: (n, n) which are joined by a title, mentioned by one or common to both; likewise.
        contained: (n, t) 1 where a passage contains a term of the question, else 0.
        weights: (t,) the weights of the terms, which sum to 1.
    """
    cover = contained @ weights
    union = cover[:, np.newaxis] + cover[np.newaxis, :] - (contained * weights) @ contained.T
    joint = np.where(linked, union * _fit(closeness, similarity), 0.0)
    alone = cover * np.clip(closeness, 0, 1)
    joint_best, joint_with = _best(joint)
    titles_best, titles_with = _best(np.where(joined, union, 0.0))
    return PairScores(joint_best, joint_with, alone, titles_best, titles_with)


def linked_by_names(graph: Adjacency, rows: Rows, question: Links, n_chunks: int) -> Bools:
    """Return (n, n): which passages share a name edge, or a name that the question does not contain."""
    linked, sources, neighbours = _edges(graph, rows)
    names = (neighbours >= n_chunks) & ~np.isin(neighbours, np.array(question.entity_rows, np.int64) + n_chunks)
    _, name, passages = np.unique(neighbours[names], return_inverse=True, return_counts=True)
    shared = passages > 1  # the others link nothing
    contained = np.zeros((len(rows), int(shared.sum())), np.float32)
    column = np.cumsum(shared) - 1
    contained[sources[names][shared[name]], column[name[shared[name]]]] = 1
    linked |= contained @ contained.T > 0
    np.fill_diagonal(linked, False)
    return linked


def joined_by_titles(context: Context, graph: Adjacency, rows: Rows) -> Bools:
    """Return (n, n): which passages of different documents share a title, or mention the other's title."""
    joined, _, _ = _edges(graph, rows)
    chunks, title_of = context.chunks, context.titles
    ids = [chunks[row].document_id for row in rows]
    _, documents = np.unique(np.array(ids, np.str_), return_inverse=True)
    names, titles = np.unique(np.array([title_of[id_] for id_ in ids], np.str_), return_inverse=True)
    joined |= (titles[:, np.newaxis] == titles[np.newaxis, :]) & (names != "")[titles]
    joined &= documents[:, np.newaxis] != documents[np.newaxis, :]
    return joined


def _edges(graph: Adjacency, rows: Rows) -> tuple[Bools, Rows, Rows]:
    """Return (n, n) which of n nodes are joined by an edge, and all e edges from them: (e,) places and (e,) ends."""
    degrees, neighbours, _ = graph.edges_of(rows)
    place = np.full(graph.n_nodes, -1)
    place[rows] = np.arange(len(rows))
    sources, ends = np.repeat(np.arange(len(rows)), degrees), place[neighbours]
    joined = np.zeros((len(rows), len(rows)), np.bool_)
    joined[sources[ends >= 0], ends[ends >= 0]] = True
    return joined, sources, neighbours


def _best(values: Floats) -> tuple[Floats, Rows]:
    """Return the largest value of each row, at least 0, and its column."""
    if not values.size:
        return np.zeros(len(values)), np.zeros(len(values), np.int64)
    return np.maximum(values.max(axis=1), 0.0), values.argmax(axis=1)


def _fit(closeness: Floats, similarity: Floats) -> Floats:
    """Return (n, n) the length of a unit question's projection on the plane of every two passages' unit vectors.

    With cosines x, y to the question and g between the two, its square is (x² + y² - 2 x y g) / (1 - g²).
    """
    between = np.clip(similarity, -0.95, 0.95)  # nearly parallel passages span no stable plane
    squares = closeness**2
    numerator = squares[:, np.newaxis] + squares[np.newaxis, :] - 2 * np.outer(closeness, closeness) * between
    length: Floats = np.sqrt(np.clip(numerator / (1 - between**2), 0.0, 1.0))
    return length
