"""Which passages are linked: by a name that both hold, or by a title."""

import numpy as np
from conspectus.query.context import Context
from conspectus.query.question.linking import Links as QuestionLinks
from conspectus.storage.arrays import Bools, Rows
from conspectus.storage.graph.adjacency import Adjacency


def linked_by_names(graph: Adjacency, pool: Rows, question: QuestionLinks, n_chunks: int) -> Bools:
    """Return (n, n): which passages share a name edge, or a name that the question does not hold."""
    from scipy.sparse import csr_array

    degrees, neighbours, _ = graph.edges_of(pool)
    starts = np.concatenate([[0], np.cumsum(degrees)])
    asked = np.array(question.entity_rows, np.int64) + n_chunks
    counts = np.where(np.isin(neighbours, asked), 0.0, 1.0)
    holds = csr_array((counts, neighbours, starts), shape=(len(pool), graph.n_nodes))
    names = holds[:, n_chunks:]
    found: Bools = ((holds[:, pool] + names @ names.T).toarray()) > 0
    np.fill_diagonal(found, False)
    return found


def joined_by_titles(context: Context, graph: Adjacency, pool: Rows) -> Bools:
    """Return (n, n): of which passages of different documents one holds the other's title, or both bear the same."""
    degrees, neighbours, _ = graph.edges_of(pool)
    place = np.full(graph.n_nodes, -1)
    place[pool] = np.arange(len(pool))
    sources, ends = np.repeat(np.arange(len(pool)), degrees), place[neighbours]
    found = np.zeros((len(pool), len(pool)), np.bool_)
    found[sources[ends >= 0], ends[ends >= 0]] = True
    documents = np.array([context.chunks[row].document_id for row in pool], dtype=np.str_)
    titles = np.array([context.titles[each] for each in documents.tolist()], dtype=np.str_)
    found |= (titles[:, np.newaxis] == titles[np.newaxis, :]) & (titles != "")
    found &= documents[:, np.newaxis] != documents[np.newaxis, :]
    return found
