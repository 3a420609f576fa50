"""OpenTelemetry spans, if its API is installed and a listener exists. They contain no texts of questions or documents.

Names and attributes follow the semantic conventions for generative AI (`gen_ai.*`); ours begin with `conspectus.`
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

Value = str | int | float | bool


class Attributes:
    """The attributes of a span; without a listener, setting one does nothing."""

    def __init__(self, span: "Span | None") -> None:
        self._span = span

    def set(self, **attributes: Value) -> None:
        """Set attributes; `gen_ai__usage__input_tokens` is `gen_ai.usage.input_tokens`."""
        if self._span is not None:
            self._span.set_attributes(dotted(attributes))


def dotted(attributes: dict[str, Value]) -> dict[str, Value]:
    """Return attributes with the names used in the protocol.

    >>> dotted({"gen_ai__request__model": "m"})
    {'gen_ai.request.model': 'm'}
    """
    return {name.replace("__", "."): value for name, value in attributes.items()}


@cache
def _tracer() -> "Tracer | None":
    """Return the tracer, None without the API. One made before a listener exists uses it as soon as it does.

    Made once: making one looks into the environment, which took 2 % of the processor time of indexing with a model.
    """
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("conspectus")


@contextmanager
def span(name: str, *, calls_out: bool = False, **attributes: Value) -> Iterator[Attributes]:
    """Open a span around the block. An error is recorded only by its class: a message may quote the question.

    Args:
        name: The name, of few different ones: an operation and what it is on.
        calls_out: Whether it is a call to another server.
        attributes: See `Attributes.set`.
    """
    tracer = _tracer()
    if tracer is None:
        yield Attributes(None)
        return
    from opentelemetry import trace

    kind = trace.SpanKind.CLIENT if calls_out else trace.SpanKind.INTERNAL
    with tracer.start_as_current_span(
        name, kind=kind, attributes=dotted(attributes), record_exception=False, set_status_on_exception=False
    ) as made:
        try:
            yield Attributes(made)
        except BaseException as error:
            made.set_attribute("error.type", type(error).__name__)
            made.set_status(trace.StatusCode.ERROR)
            raise
