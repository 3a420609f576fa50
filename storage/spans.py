"""The span of the documents that a mention or a claim cites."""

from conspectus.storage.records import Chunk, Span


def span_in(chunk: Chunk, start: int | None = None, end: int | None = None) -> Span:
    """Return the span of a chunk that a record cites; without both offsets, the whole chunk.

    Args:
        chunk: the chunk that the record names.
        start: offset of the first character in the document; None (or negative, as in integer arrays) if unknown.
        end: offset after the last character in the document.

    >>> chunk = Chunk("c1", "d1", ordinal=0, start=100, end=200, text="...", n_tokens=20)
    >>> span_in(chunk, 110, 120)
    Span(document_id='d1', chunk_id='c1', start=110, end=120)
    >>> span_in(chunk)
    Span(document_id='d1', chunk_id='c1', start=100, end=200)
    """
    if start is None or end is None or start < 0:
        start, end = chunk.start, chunk.end
    return Span(chunk.document_id, chunk.id, start, end)
