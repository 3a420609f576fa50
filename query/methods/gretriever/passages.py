"""Passages by a subgraph: those that bear the names of its nodes, those the question names, and those near to it."""

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.tog.evidence import has_documents, open_chunks
from conspectus.query.question.question import open_question
from conspectus.query.types import Passage
from conspectus.query.types.subgraph import RetrievedSubgraph

_NAMED = 0.2
"""What it is worth that a passage stands under a name that the question holds, beside the cosine with the question."""
_TITLED = 0.15
"""The same of a name of a node. Both chosen for recall@2 and @5 on AdvHotpot and MuSiQue, not on HotpotQA; that a
passage states an edge was worth nothing more there."""
_POOL = 20


def passages_of(context: Context, found: RetrievedSubgraph, question: str, k: int) -> tuple[Passage, ...]:
    """Return the k best passages, ties by their row; none where the index holds a graph alone."""
    if not has_documents(context):
        return ()
    known = context.chunk_rows
    named = {
        known[each] for name in open_question(context, question).links.names for each in name.chunk_ids if each in known
    }
    chunks = open_chunks(context)
    titled = {row for node in found.nodes for row in chunks.titled(node)}
    vector = context.embedder.embed_query(question)[np.newaxis]
    _, near = context.chunk_vectors.search(vector, _POOL + k)
    pool = np.array(sorted({*near[0].tolist(), *named, *titled}), np.int64)
    cosines = context.chunk_vectors.scores(vector, pool)[0]
    scores = {
        row: float(cosine) + _NAMED * (row in named) + _TITLED * (row in titled)
        for row, cosine in zip(pool.tolist(), cosines.tolist(), strict=True)
    }
    ranked = sorted(scores, key=lambda row: (-scores[row], row))[:k]
    return tuple(context.passage(row, scores[row]) for row in ranked)
