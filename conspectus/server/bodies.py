"""The JSON bodies of requests and responses."""

from collections.abc import Sequence
from inspect import Parameter
from typing import Annotated, Any

from conspectus.operation_table import ASK, Operation
from conspectus.operations import Question
from conspectus.query.conversation.history import CitedSpan, Conversation, Turn
from conspectus.query.question.bounds import MOST_CHARACTERS
from conspectus.query.types import Check, Citation, CitedTriple, Passage, Step, Usage
from conspectus.query.types.subgraph import RetrievedSubgraph
from pydantic import BaseModel, ConfigDict, Field, create_model

LONGEST_ANSWER = 50_000
"""Maximum length of an earlier answer in a conversation, in characters."""
MOST_TURNS = 50

Where = Annotated[
    str | None,
    Field(max_length=2_000, description="only documents whose metadata match: year >= 2020 and lang = en"),
]
Access = Annotated[
    list[Annotated[str, Field(max_length=200)]] | None,
    Field(max_length=100, description="access tags; they can only restrict what the token sees"),
]
Date = Annotated[str, Field(max_length=40)]
AsOf = Annotated[Date | None, Field(description="as of a date: 2004")]
Between = Annotated[
    list[Date] | None, Field(min_length=2, max_length=2, description="only what held between two dates")
]
NARROWING: dict[str, Any] = {"where": Where, "access": Access, "as_of": AsOf, "between": Between}
"""What restricts a question to a part of the index."""
Width = Annotated[int, Field(ge=200, le=4_000)]
Drawing = Annotated[Width | None, Field(description="also draw the graph behind it, for so many pixels")]
Drawn = Annotated[list[Any] | None, Field(description="the drawing, as lists: tag, attributes, and what is inside")]
Stream = Annotated[bool, Field(description="answer as server-sent events")]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TurnGiven(_Request):
    """An earlier question and its answer. `citations` are the spans that it cited, `short` is its short answer.

    `standalone` is the question as it was understood.
    """

    question: Question
    answer: Annotated[str, Field(max_length=LONGEST_ANSWER)]
    citations: Annotated[list[CitedSpan], Field(max_length=100)] = []
    short: Annotated[str, Field(max_length=2_000)] = ""
    standalone: Annotated[str, Field(max_length=MOST_CHARACTERS)] = ""


DRAWN = frozenset({"ask", "explain"})
"""Questions whose results can be drawn."""
History = Annotated[list[TurnGiven], Field(max_length=MOST_TURNS, description="the conversation before, oldest first")]


def request_of(operation: Operation) -> type[BaseModel]:
    """Return the body of the request for an operation: its parameters, and what narrows the documents."""
    fields: dict[str, Any] = {
        name: (
            Annotated[each.annotation, Field(description=operation.helps().get(name))],
            ... if each.default is Parameter.empty else each.default,
        )
        for name, each in operation.parameters().items()
    }
    fields |= {name: (kind, None) for name, kind in NARROWING.items()}
    if operation.name in DRAWN:
        fields["drawing"] = (Drawing, None)
    if operation is ASK:
        fields |= {"history": (History, []), "stream": (Stream, False)}
    name = operation.name.capitalize()
    return create_model(name, __base__=_Request, __doc__=operation.about.partition("\n")[0], **fields)


class Answered(BaseModel):
    """An answer. `text` contains marks like [1], which are numbers of `citations` or `triples`."""

    index: str
    version: str
    question: str
    method: str
    text: str
    known: bool
    span: Annotated[str, Field(description="the short answer, if there is one")]
    notes: Annotated[list[str], Field(description="how the question was read, and what is in doubt")]
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
    nearest: Annotated[list[Passage], Field(description="the nearest passages, if nothing supports an answer")]
    walk: Annotated[
        dict[str, Any] | None, Field(description="the decisions and chains of a walk over the graph, if there was one")
    ] = None
    subgraph: Annotated[RetrievedSubgraph | None, Field(description="the subgraph that was read, if there was one")] = (
        None
    )
    drawing: Drawn = None


class _Ranking(BaseModel):
    index: str
    version: str
    question: str
    method: str
    trace: list[Step]


class RetrievedPassages(_Ranking):
    """Passages, best first."""

    passages: list[Passage]


class ExplainedPassages(_Ranking):
    """Why passages were found, in the form of `conspectus explain --json`."""

    formula: str
    passages: list[dict[str, Any]]


ANSWERS: dict[str, type[BaseModel]] = {
    "ask": Answered,
    "retrieve": RetrievedPassages,
    "explain": ExplainedPassages,
}
"""The body of the response to each question."""


def conversation(turns: Sequence[TurnGiven], narrowed: str) -> Conversation | None:
    """Return the conversation of a request, or None if it has no earlier turns.

    The client supplies the earlier turns, so they are treated as asked under the filter of this request.
    """
    if not turns:
        return None
    return Conversation(
        tuple(
            Turn(
                turn.question,
                turn.standalone or turn.question,
                turn.answer,
                "",
                tuple(turn.citations),
                narrowed=narrowed,
                short=turn.short,
            )
            for turn in turns
        )
    )
