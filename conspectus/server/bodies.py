"""The JSON bodies of requests and responses."""

from collections.abc import Sequence
from typing import Annotated, Any

from conspectus.query.conversation.history import CitedSpan, Conversation, Turn
from conspectus.query.menu import DEFAULT_METHOD, DEFAULT_RETRIEVER
from conspectus.query.question.bounds import MOST_CHARACTERS
from conspectus.query.types import Answer, Check, Citation, CitedTriple, Passage, Step, Usage
from conspectus.query.types.subgraph import RetrievedSubgraph
from pydantic import BaseModel, ConfigDict, Field

LONGEST_ANSWER = 50_000
"""Maximum length of an earlier answer in a conversation, in characters."""
MOST_TURNS = 50
MOST_PASSAGES = 100

Question = Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS, description="the question")]
MethodName = Annotated[str, Field(max_length=60, description="a name of /v1/methods")]
Where = Annotated[
    str | None,
    Field(max_length=2_000, description="only documents whose metadata match: year >= 2020 and lang = en"),
]
Access = Annotated[
    list[Annotated[str, Field(max_length=200)]] | None,
    Field(max_length=100, description="access tags; they can only restrict what the token sees"),
]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TurnGiven(_Request):
    """An earlier question and its answer. `citations` are the spans that the answer cited."""

    question: Question
    answer: Annotated[str, Field(max_length=LONGEST_ANSWER)]
    citations: Annotated[list[CitedSpan], Field(max_length=100)] = []


class Ask(_Request):
    """A question, and how to answer it."""

    question: Question
    method: MethodName = DEFAULT_METHOD
    where: Where = None
    access: Access = None
    history: Annotated[
        list[TurnGiven], Field(max_length=MOST_TURNS, description="the conversation before, oldest first")
    ] = []
    topics: Annotated[
        list[Annotated[str, Field(max_length=500)]],
        Field(max_length=20, description="names of entities that a walk starts from"),
    ] = []
    stream: Annotated[bool, Field(description="answer as server-sent events")] = False


class Retrieve(_Request):
    """A question, and how many passages to find for it."""

    question: Question
    method: MethodName = DEFAULT_RETRIEVER
    k: Annotated[int, Field(ge=1, le=MOST_PASSAGES, description="the number of passages")] = 5
    where: Where = None
    access: Access = None


class Explain(Retrieve):
    """A ranking to explain: all of it, the passage of one rank, or one chunk."""

    passage: Annotated[int | None, Field(ge=1, le=MOST_PASSAGES)] = None
    chunk: Annotated[str | None, Field(max_length=200)] = None
    paths: Annotated[int, Field(ge=1, le=50, description="maximum number of paths for a passage")] = 5


class Answered(BaseModel):
    """An answer. `text` contains marks like [1], which are numbers of `citations` or `triples`."""

    index: str
    version: str
    question: str
    method: str
    text: str
    known: bool
    span: str
    citations: list[Citation]
    triples: list[CitedTriple]
    names: list[str]
    checks: list[Check]
    unsupported: int
    dropped_citations: int
    standalone: str
    narrowed: str
    usage: Usage
    trace: list[Step]
    walk: Annotated[
        dict[str, Any] | None, Field(description="the decisions and chains of a walk over the graph, if there was one")
    ] = None
    subgraph: Annotated[RetrievedSubgraph | None, Field(description="the subgraph that was read, if there was one")] = (
        None
    )


class RetrievedPassages(BaseModel):
    """Passages, best first."""

    index: str
    version: str
    question: str
    method: str
    passages: list[Passage]
    trace: list[Step]


class ExplainedPassages(BaseModel):
    """Why passages were found, in the form of `conspectus explain --json`."""

    index: str
    version: str
    question: str
    method: str
    formula: str
    passages: list[dict[str, Any]]
    trace: list[Step]


def answered(index: str, version: str, answer: Answer, walk: dict[str, Any] | None = None) -> Answered:
    """Return an answer as a response body."""
    return Answered(
        index=index,
        version=version,
        question=answer.question,
        method=answer.method,
        text=answer.text,
        known=answer.known,
        span=answer.span,
        citations=list(answer.citations),
        triples=list(answer.triples),
        names=list(answer.names),
        checks=list(answer.checks),
        unsupported=answer.unsupported,
        dropped_citations=answer.dropped_citations,
        standalone=answer.standalone,
        narrowed=answer.narrowed,
        usage=answer.usage,
        trace=list(answer.trace),
        walk=walk,
        subgraph=answer.evidence.subgraph,
    )


def conversation(turns: Sequence[TurnGiven], narrowed: str) -> Conversation | None:
    """Return the conversation of a request, or None if it has no earlier turns.

    The client supplies the earlier turns, so they are treated as asked under the filter of this request.
    """
    if not turns:
        return None
    return Conversation(
        tuple(
            Turn(turn.question, turn.question, turn.answer, "", tuple(turn.citations), narrowed=narrowed)
            for turn in turns
        )
    )
