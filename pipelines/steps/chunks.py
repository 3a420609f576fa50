"""Split documents into chunks: overlapping runs of whole sentences with a limited number of tokens.

Smaller chunks lose fewer entities (GraphRAG, arXiv 2404.16130, section 3.1.1: 600 tokens find nearly twice the
references that 2,400 do), and the overlap preserves the context of sentences around a cut.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Document
from conspectus.storage.settings import ChunkSettings
from conspectus.storage.spilled import few_as_list, in_blocks, sorted_rows
from conspectus.storage.tables import ROWS_AT_ONCE
from conspectus.storage.text.language import detect, language_of
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each, token_spans

_REACH = 40
"""Maximum characters of a chunk for each token: limits chunks of near-empty text (blanks, characters that no
tokenizer counts). Prose has four or five."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A unit that is not divided any further: a sentence, or a piece of one that is too long for a chunk."""

    start: int
    end: int
    tokens: int


def split_document(document: Document, settings: ChunkSettings) -> list[Chunk]:
    """Return the chunks of a document, in order.

    Each contains as many whole sentences as fit in `chunk_size` tokens (all-MiniLM-L6-v2's). Each but the first
    begins with the last sentences of the previous one: as many as fit in `chunk_overlap` tokens and leave room for a
    new one. A sentence longer than a chunk is cut, at nearby whitespace if there is any. Every character that is not
    whitespace is in a chunk, and `document.text[start:end] == text`. `n_tokens` is the sum over the sentences. Time and
    memory are linear in the length of the text.
    """
    units = _units(document.text, settings.chunk_size)
    chunks = []
    for ordinal, (first, last) in enumerate(_packed(units, settings)):
        start, end = units[first].start, units[last - 1].end
        chunks.append(
            Chunk(
                id=short_id(document.id, str(start), str(end)),
                document_id=document.id,
                ordinal=ordinal,
                start=start,
                end=end,
                text=document.text[start:end],
                n_tokens=sum(unit.tokens for unit in units[first:last]),
            )
        )
    return chunks


def split_documents(documents: Iterable[Document], settings: ChunkSettings) -> Sequence[Chunk]:
    """Return the chunks of all documents, sorted by id; many spill during a build."""
    chunks = (chunk for document in documents for chunk in split_document(document, settings))
    first = list(islice(chunks, ROWS_AT_ONCE))
    if len(first) < ROWS_AT_ONCE:
        return sorted(first, key=lambda chunk: chunk.id)
    return few_as_list(sorted_rows(Chunk, in_blocks(Chunk, chain(first, chunks))))


def _packed(units: Sequence[_Unit], settings: ChunkSettings) -> Iterator[tuple[int, int]]:
    """Yield the first and one past the last unit of each chunk.

    >>> units = [_Unit(at, at + 50, tokens=10) for at in range(0, 250, 50)]
    >>> list(_packed(units, ChunkSettings(chunk_size=30, chunk_overlap=10)))
    [(0, 3), (2, 5)]
    """
    reach = _REACH * settings.chunk_size
    first = last = 0
    while last < len(units):
        new, room = last, settings.chunk_size - sum(unit.tokens for unit in units[first:last])
        while last < len(units) and (
            last == new or (units[last].tokens <= room and units[last].end - units[first].start <= reach)
        ):
            room -= units[last].tokens
            last += 1
        yield first, last
        if last < len(units):
            room = min(settings.chunk_overlap, settings.chunk_size - units[last].tokens)
            # This ends after the old `first`: the unit at `last` did not fit in the chunk that began there.
            first = last
            while units[first - 1].tokens <= room and units[last].end - units[first - 1].start <= reach:
                first -= 1
                room -= units[first].tokens


def _units(text: str, chunk_size: int) -> list[_Unit]:
    spans = sentence_spans(text)
    units: list[_Unit] = []
    for (start, end), tokens in zip(spans, count_each(text[start:end] for start, end in spans), strict=True):
        if tokens <= chunk_size:
            units.append(_Unit(start, end, tokens))
        else:
            units.extend(_pieces(text[start:end], start, chunk_size))
    return units


def _pieces(sentence: str, offset: int, chunk_size: int) -> Iterator[_Unit]:
    """Yield the pieces of a sentence that is longer than a chunk; `offset` is its place in the text."""
    starts = [start for start, _ in token_spans(sentence)]
    first = begin = 0
    while first < len(starts):
        last = _cut(sentence, starts, first, chunk_size)
        limit = starts[last] if last < len(starts) else len(sentence)
        end = begin + len(sentence[begin:limit].rstrip())
        yield _Unit(offset + begin, offset + end, last - first)
        first, begin = last, limit


def _cut(sentence: str, starts: Sequence[int], first: int, chunk_size: int) -> int:
    """Return the end of a piece that begins with the token `first`: the token after it."""
    if len(starts) - first <= chunk_size:
        return len(starts)
    farthest = first + chunk_size
    for last in range(farthest, first + chunk_size // 2, -1):
        if sentence[starts[last] - 1].isspace():
            return last
    # A character can be several tokens (a Korean syllable is up to three).
    return bisect_left(starts, starts[farthest], first, farthest)


_LOOKED_AT = 600
"""Characters of a chunk from which its language is detected."""


def languages_of_chunks(documents: Sequence[Document], chunks: Sequence[Chunk]) -> list[str]:
    """Return the language of each chunk as an ISO 639-1 code, "" if unknown.

    If the documents are in one language, their chunks are too. Otherwise a page may be partly translated: a chunk has
    the language detected in it if the corpus has that language, or else that of its document.
    """
    of_document = {document.id: language_of(document.text, document.metadata) for document in documents}
    known = sorted({language for language in of_document.values() if language})
    if len(known) <= 1:
        return [of_document[chunk.document_id] for chunk in chunks]
    return [detect(chunk.text[:_LOOKED_AT], known) or of_document[chunk.document_id] for chunk in chunks]
