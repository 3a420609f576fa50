"""Types of the query layer: evidence, answers, traces, and the protocols that methods implement.

answer          passages, evidence, citations, usage and the answer itself
protocols       Retriever and Answerer, and optional capabilities of methods
trace           the decisions of a walk over the graph
subgraph        the subgraph of a question, and what a conversation carries over from it
textual_graph   a graph whose nodes and edges are texts
"""

from conspectus.query.types.answer import (
    Answer,
    Check,
    Citation,
    CitedTriple,
    Evidence,
    Passage,
    ScoredReport,
    Step,
    Topics,
    Usage,
)
from conspectus.query.types.protocols import (
    Answerer,
    FollowUpAnswerer,
    Retriever,
    TopicAnswerer,
)

__all__ = [
    "Answer",
    "Answerer",
    "Check",
    "Citation",
    "CitedTriple",
    "Evidence",
    "FollowUpAnswerer",
    "Passage",
    "Retriever",
    "ScoredReport",
    "Step",
    "TopicAnswerer",
    "Topics",
    "Usage",
]
