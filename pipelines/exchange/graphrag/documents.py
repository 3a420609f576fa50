"""Map GraphRAG's documents and text units to our documents and chunks.

A unit is not always a substring of its document: metadata may precede it ("key: value" lines, `prepend_metadata`),
whitespace and letter forms may have changed, and a cut between tokens may have left part of a character (U+FFFD) at
either end.
"""

import hashlib
import json
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from conspectus.pipelines.build_report import IMPORT
from conspectus.pipelines.exchange.graphrag.schema import GraphRagDocument, Tables
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Document, Failure
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each

_METADATA = re.compile(r"[^\n:]{1,200}: ")
_MOST_LINES = 40
_MOST_CHARACTERS = 8_000
"""The maximum length of the metadata before a unit."""
_HALF_LETTERS = "\ufffd"
_UNSEEN = frozenset("\ufeff\xad\u200b\u2060")
_LONGEST_OVERLAP = 20_000
"""The maximum overlap of two consecutive units, in characters."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """The span of a unit, `text[start:end]`; `prepended` is the text before it that is not in the document."""

    start: int
    end: int
    prepended: str = ""


class AlignedText:
    """The text of a document, in which units are located."""

    def __init__(self, text: str) -> None:
        self._text = text

    def align(self, units: Sequence[str]) -> list[Aligned | None]:
        """Return the span of each unit, None for a unit that does not occur.

        Units are in text order: if a unit occurs several times, the search starts after the beginning of the
        previous unit, and falls back to the whole text.
        """
        found: list[Aligned | None] = []
        after = -1
        for unit in units:
            place = self._place(unit, after + 1)
            found.append(place)
            after = place.start if place else after
        return found

    def _place(self, unit: str, begin: int) -> Aligned | None:
        for prepended, body in _readings(unit):
            at = _find(self._text, body, begin)
            if at >= 0:
                return Aligned(at, at + len(body), prepended)
        for prepended, body in _readings(unit):
            span = self._folded.find(body, begin)
            if span:
                return Aligned(*span, prepended)
        return None

    @cached_property
    def _folded(self) -> "_Folded":
        return _Folded(self._text)


class _Folded:
    """A text without whitespace and with normalised letters, which maps each character to its offset in the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        parts = [_fold(sign) for sign in text]
        self._places = [place for place, part in enumerate(parts) for _ in part]
        self._letters = "".join(parts)

    def find(self, unit: str, begin: int) -> tuple[int, int] | None:
        wanted = "".join(map(_fold, unit.strip(_HALF_LETTERS)))
        if not wanted:
            return None
        at = _find(self._letters, wanted, bisect_left(self._places, begin))
        if at < 0:
            return None
        start, end = self._places[at], self._places[at + len(wanted) - 1] + 1
        while end < len(self._text) and unicodedata.combining(self._text[end]):
            end += 1
        return start, end


def _find(text: str, part: str, begin: int) -> int:
    at = text.find(part, begin)
    return at if at >= 0 else text.find(part)


def _fold(sign: str) -> str:
    if sign.isascii():
        return "" if sign.isspace() else sign
    return "" if sign.isspace() or sign in _UNSEEN else "".join(unicodedata.normalize("NFKD", sign).split())


def _readings(unit: str) -> Iterator[tuple[str, str]]:
    """Yield possible prepended text of a unit with the rest: first none, then more and more lines."""
    if unit.strip():
        yield "", unit
    if not _METADATA.match(unit):
        return
    at = 0
    for _ in range(_MOST_LINES):
        at = unit.find("\n", at) + 1
        if not at or at > _MOST_CHARACTERS:
            return
        if unit[at:].strip():
            yield unit[:at], unit[at:]


def joined(units: Sequence[str]) -> str:
    """Return the text that units were cut from, as far as they contain it: overlaps appear once."""
    bodies = _without_common_metadata(units)
    text = ""
    for body in bodies:
        shared = _overlap(text, body)
        text += body[shared:] if shared or not text else f"\n\n{body}"
    return text


def _without_common_metadata(units: Sequence[str]) -> list[str]:
    """Return units without the metadata lines that all of them share at the beginning."""
    if len(units) < 2 or not _METADATA.match(units[0]):
        return list(units)
    at = 0
    for prepended, _ in _readings(units[0]):
        if _METADATA.match(prepended) and all(unit.startswith(prepended) for unit in units):
            at = len(prepended)
    return [unit[at:] for unit in units]


def _overlap(before: str, after: str) -> int:
    """Return the length of the longest suffix of one text, within bounds, that is a prefix of the next."""
    tail = before[-_LONGEST_OVERLAP:]
    at = tail.find(after[:1]) if after else -1
    while at >= 0 and not after.startswith(tail[at:]):
        at = tail.find(after[0], at + 1)
    return len(tail) - at if at >= 0 else 0


CREATED = "creation_date"
"""The metadata key for GraphRAG's column of that name."""


@dataclass(frozen=True, slots=True)
class ImportedTexts:
    """Documents and chunks, sorted by id, and the rows that could not be used as they are.

    `unit_chunks` are the chunk ids of the rows of text_units, None for a row without text. In `chunks_of_unit` an id of
    a text unit has several chunks if documents share a text.
    """

    documents: list[Document]
    chunks: list[Chunk]
    unit_chunks: list[str | None]
    chunks_of_unit: Mapping[str, tuple[str, ...]]
    failures: list[Failure]


def imported_texts(tables: Tables) -> ImportedTexts:
    """Return the documents of the tables, and their text units as spans of the documents.

    A text unit that does not occur in its document becomes a separate document, so that a citation quotes the unit.
    The text units of a document without a row, or without text, are joined into a document. Both are failures.
    """
    builder = _TextBuilder(tables)
    for document_id, row in builder.rows.items():
        builder.add(document_id, row)
    for document_id in sorted(builder.units_of_document):
        builder.add(document_id, None)
    chunks_of_unit: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for unit, chunk_id in zip(tables.text_units, builder.unit_chunks, strict=True):
        if chunk_id is not None:
            chunks_of_unit[unit.id or ""][chunk_id] = None
    return ImportedTexts(
        sorted_by_id(builder.documents.values()),
        _numbered(builder.chunks.values()),
        builder.unit_chunks,
        {unit_id: tuple(chunk_ids) for unit_id, chunk_ids in chunks_of_unit.items()},
        builder.failures,
    )


class _TextBuilder:
    """Collects documents, chunks and failures. A text unit is identified by its position in the table."""

    def __init__(self, tables: Tables) -> None:
        self.documents: dict[str, Document] = {}
        self.chunks: dict[str, Chunk] = {}
        self.failures: list[Failure] = []
        self.unit_chunks: list[str | None] = [None] * len(tables.text_units)
        self.units_of_document: defaultdict[str, list[int]] = defaultdict(list)
        self._unit_ids = [unit.id or "" for unit in tables.text_units]
        self._unit_texts = [clean(unit.text or "") for unit in tables.text_units]
        for place, unit in enumerate(tables.text_units):
            self.units_of_document[clean(unit.document_id or "")].append(place)
        self.rows: dict[str, GraphRagDocument] = {}
        for row in tables.documents:
            document_id = clean(row.id or "")
            if self.rows.setdefault(document_id, row) is not row:
                self._fail(f"document {document_id}", "this id occurs twice", "the first row is used")

    def add(self, document_id: str, row: GraphRagDocument | None) -> None:
        """Add a document, that of text units only if it has no row, and its text units as chunks."""
        places = self.units_of_document.pop(document_id, [])
        texts = [self._unit_texts[place] for place in places]
        if row is None and not any(map(str.strip, texts)):
            for place in places:
                self._fail(f"text_unit {self._unit_ids[place]}", "a text unit without text", "")
            return
        title, text = (clean(row.title or ""), clean(row.text or "")) if row else ("", "")
        if not text and places:
            text = joined(texts)
            reason = f"a document without {'text' if row else 'a row'}"
            self._fail(f"document {document_id}", reason, "its text is joined from its text units")
        new_id = document_id if row else self._unused(document_id or short_id("document", *texts))
        document = self.documents[new_id] = _document(new_id, title, text, metadata_of(row) if row else {})
        for place, span in zip(places, AlignedText(text).align(texts), strict=True):
            self.unit_chunks[place] = self._chunk(document, span) if span else self._document_of_unit(document, place)

    def _document_of_unit(self, document: Document, place: int) -> str | None:
        """Make a text unit that does not occur in its document a separate document; return its chunk id."""
        item, text = f"text_unit {self._unit_ids[place]}", self._unit_texts[place]
        if not text.strip():
            self._fail(item, "a text unit without text", "")
            return None
        self._fail(item, "it does not occur in its document", "it is a document of its own")
        new_id = self._unused(f"{document.id}#{short_id(self._unit_ids[place], text)}")
        self.documents[new_id] = _document(new_id, document.title, text, document.metadata)
        return self._chunk(self.documents[new_id], Aligned(0, len(text)))

    def _chunk(self, document: Document, span: Aligned) -> str:
        text = document.text[span.start : span.end]
        chunk_id = short_id(document.id, str(span.start), str(span.end))
        # Tokens are counted by sentence, as for the chunks that we split.
        n_tokens = sum(count_each(text[start:end] for start, end in sentence_spans(text)))
        chunk = Chunk(chunk_id, document.id, 0, span.start, span.end, text, n_tokens)
        return self.chunks.setdefault(chunk_id, chunk).id

    def _unused(self, document_id: str) -> str:
        while document_id in self.documents or document_id in self.rows:
            document_id += "'"
        return document_id

    def _fail(self, item: str, reason: str, detail: str) -> None:
        self.failures.append(Failure(IMPORT, item, reason, detail))


def metadata_of(row: GraphRagDocument) -> dict[str, str]:
    """Return the cells of a document's row other than its text, as texts."""
    metadata = {
        clean(key): clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for key, value in (row.raw_data or {}).items()
        if value is not None and (value != row.text or value == "")
    }
    return {**metadata, **({CREATED: clean(row.creation_date)} if row.creation_date else {})}


def _document(document_id: str, title: str, text: str, metadata: Mapping[str, str]) -> Document:
    sha256 = hashlib.sha256(text.encode("utf-8")).hexdigest()
    return Document(document_id, title, title or document_id, text, metadata, len(text), sha256)


def _numbered(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return the chunks sorted by id, numbered within their documents in text order."""
    ordered = sorted(chunks, key=lambda chunk: (chunk.document_id, chunk.start, chunk.end))
    documents = (list(several) for _, several in groupby(ordered, key=lambda chunk: chunk.document_id))
    return sorted_by_id(replace(chunk, ordinal=place) for several in documents for place, chunk in enumerate(several))
