"""Passages for a subgraph: ranked by titles equal to nodes, names in the question, and similarity to it."""

from collections import defaultdict

from conspectus.query.context import Context
from conspectus.query.types import Passage
from conspectus.query.types.subgraph import RetrievedSubgraph
from conspectus.query.walk.passages import chunks_named_in, has_documents, open_entity_chunks, rank_passages

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
