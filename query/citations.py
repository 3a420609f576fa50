"""Numbered citations that resolve: every quote is the document's own text at its span."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from query.context import Context
from query.types import Citation
from storage.records import Document, Span


@dataclass(frozen=True, slots=True)
class Cited:
    """Sentences with the citations they rest on; `dropped` counts spans that did not resolve."""

    lines: tuple[str, ...]
    citations: tuple[Citation, ...]
    dropped: int


def cite(context: Context, quotes: Sequence[tuple[str, Span]]) -> Cited:
    """Number each (text, span): equal spans share a number; a text whose span does not resolve is left out."""
    documents = context.index.keep("documents by id", lambda: {each.id: each for each in context.index.rows(Document)})
    numbers: dict[Span, Citation] = {}
    lines = []
    dropped = 0
    for text, span in quotes:
        found = numbers.get(span) or _resolve(documents, span)
        if found is None:
            dropped += 1
            continue
        citation = numbers.setdefault(span, replace(found, number=len(numbers) + 1) if not found.number else found)
        lines.append(f"{text} [{citation.number}]")
    return Cited(tuple(lines), tuple(numbers.values()), dropped)


def _resolve(documents: dict[str, Document], span: Span) -> Citation | None:
    document = documents.get(span.document_id)
    if document is None or not 0 <= span.start < span.end <= document.n_chars:
        return None
    quote = document.text[span.start : span.end]
    return Citation(0, document.id, document.title, document.uri, span.start, span.end, quote)
