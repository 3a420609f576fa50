"""Numbered citations: each quotes the document's own text at its span."""

from collections.abc import Mapping

from conspectus.query.context import Context
from conspectus.query.types import Citation
from conspectus.storage.index import per_index
from conspectus.storage.locators import AREA, described, places_between, sections_at
from conspectus.storage.mapped import ById
from conspectus.storage.records import Document, Span


class Citations:
    """The citations of one answer, numbered from 1 in order of first use unless numbers are given."""

    def __init__(self, context: Context) -> None:
        self._documents = documents_by_id(context)
        self._made: dict[Span, Citation] = {}
        self.dropped = 0
        """Number of requested citations that do not resolve."""

    def cite(self, text: str, span: Span) -> str | None:
        """Return the text with the number of its citation; None (and count one more as dropped) if the span does not
        resolve.

        Equal spans share a number.
        """
        number = self.number(span)
        return f"{text} [{number}]" if number else None

    def number(self, span: Span, number: int | None = None) -> int | None:
        """Return the number of the citation of a span: the one given, or the next.

        Return None (and count one more as dropped) if the span does not resolve.
        """
        if span not in self._made:
            document = self._documents.get(span.document_id)
            if document is None or not 0 <= span.start < span.end <= document.n_chars:
                self.dropped += 1
                return None
            self._made[span] = Citation(
                number or len(self._made) + 1,
                document.id,
                document.title,
                document.uri,
                span.start,
                span.end,
                quote=document.text[span.start : span.end],
                place=described(document.places, span.start, span.end),
                pages=tuple(
                    item.label for item in places_between(document.places, span.start, span.end) if item.kind != AREA
                ),
                headings=sections_at(document.places, span.start),
            )
        return self._made[span].number

    def made(self) -> tuple[Citation, ...]:
        """Return the citations so far, in order of their numbers."""
        return tuple(self._made.values())


@per_index
def documents_by_id(context: Context) -> Mapping[str, Document]:
    """Return the documents of the index by id, each made when it is asked for."""
    return ById(context.index.ids(Document), context.index.each(Document))
