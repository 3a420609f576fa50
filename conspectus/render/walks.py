"""The walk or the subgraph behind an answer: drawn, as text and as plain values."""

from typing import TYPE_CHECKING, Any, Literal

from conspectus.query.types import Answer
from conspectus.query.walk.graph import open_graph
from conspectus.render.answers import walk_json, walk_text
from conspectus.render.subgraph_svg import subgraph_html, subgraph_svg
from conspectus.render.walk_svg import walk_svg
from conspectus.storage.errors import UsageError

if TYPE_CHECKING:
    from conspectus.query.context import Context
    from conspectus.query.types.trace import WalkTrace


def draw(answer: Answer, context: "Context", form: Literal["svg", "html"]) -> str:
    """Return a drawing of the walk or the subgraph behind an answer.

    Args:
        answer: The answer.
        context: What the answer was made over.
        form: "svg", or "html" for a subgraph in a page of its own.

    Raises:
        UsageError: The method made neither a walk nor a subgraph, or a walk is wanted as HTML.
    """
    subgraph = answer.evidence.subgraph
    if subgraph is not None:
        return (subgraph_html if form == "html" else subgraph_svg)(
            subgraph, answer.question, answer.method, answer.names
        )
    if form == "html":
        raise UsageError("a walk is drawn as SVG only; HTML is for a subgraph")
    return walk_svg(_walk_of(answer), open_graph(context), answer.question, answer.method, answer.names)


def text_of(answer: Answer, context: "Context") -> str:
    """Return the walk behind an answer as text, one decision a line; UsageError where there is none."""
    return walk_text(_walk_of(answer), open_graph(context))


def json_of(answer: Answer, context: "Context") -> dict[str, Any]:
    """Return the walk behind an answer as plain values; UsageError where there is none."""
    return walk_json(_walk_of(answer), open_graph(context))


def _walk_of(answer: Answer) -> "WalkTrace":
    if answer.evidence.walk is None:
        raise UsageError(f"method {answer.method!r} does not walk over the graph; tog2 and fasttog do")
    return answer.evidence.walk
