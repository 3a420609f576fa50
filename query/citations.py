"""Numbered citations that resolve: every quote is the document's own text at its span."""

from query.context import Context
from query.types import Citation
from storage.records import Document, Span


class Citations:
    """The citations of one answer, numbered from 1 in the order they are first made."""

    def __init__(self, context: Context) -> None:
        self._documents = context.index.keep(
            "documents by id", lambda: {each.id: each for each in context.index.rows(Document)}
        )
        self._made: dict[Span, Citation] = {}
        self.dropped = 0
        """Citations that were asked for and do not resolve."""

    def cite(self, text: str, span: Span) -> str | None:
        """Return the text with the number of its citation; None (and one more dropped) where the span does not resolve.

        Equal spans share a number.
        """
        if span not in self._made:
            document = self._documents.get(span.document_id)
            if document is None or not 0 <= span.start < span.end <= document.n_chars:
                self.dropped += 1
                return None
            quote = document.text[span.start : span.end]
            self._made[span] = Citation(
                len(self._made) + 1, document.id, document.title, document.uri, span.start, span.end, quote
            )
        return f"{text} [{self._made[span].number}]"

    def made(self) -> tuple[Citation, ...]:
        """Return the citations made so far, by number."""
        return tuple(self._made.values())
