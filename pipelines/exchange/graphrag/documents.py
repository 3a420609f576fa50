"""GraphRAG's documents and text units as documents and chunks of ours."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from conspectus.pipelines.build_report import IMPORT
from conspectus.pipelines.exchange.graphrag.align import Aligned, Text, joined
from conspectus.pipelines.exchange.graphrag.schema import DocumentRow, Tables, TextUnitRow
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Document, Failure
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each

CREATED = "creation_date"
"""The metadata that GraphRAG's column of that name becomes."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Documents and chunks, sorted by id; `unit_chunks[i]` is the chunk of text unit i, None where it has no text.

    `prepended[i]` is what stood before its words and is not of the document; `document_ids[i]` is the document that
    row i of GraphRAG's documents became, "" for one that could not be taken.
    """

    documents: list[Document]
    chunks: list[Chunk]
    unit_chunks: list[str | None]
    prepended: list[str]
    document_ids: list[str]
    failures: list[Failure]

    def chunks_of_id(self, units: Sequence[TextUnitRow]) -> dict[str, tuple[str, ...]]:
        """Return the chunks that each id of a text unit stands for: a text of two documents has one id."""
        found: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for unit, chunk in zip(units, self.unit_chunks, strict=True):
            if chunk is not None:
                found[unit.id or ""][chunk] = None
        return {id_: tuple(chunks) for id_, chunks in found.items()}


def texts_of(tables: Tables) -> Texts:
    """Return the documents of the tables, and their text units as the places of the documents where they stand.

    A unit that stands nowhere in its document becomes a document of its own, so that what cites it cites its words;
    so do those of a document that there is no row of, joined. Both are listed.
    """
    return _Reading(tables).texts()


class _Reading:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._failures: list[Failure] = []
        self._documents: dict[str, Document] = {}
        self._chunks: dict[str, Chunk] = {}
        self._units = [clean(each.text or "") for each in tables.text_units]
        self._unit_chunks: list[str | None] = [None] * len(self._units)
        self._prepended = [""] * len(self._units)
        self._of_document: defaultdict[str, list[int]] = defaultdict(list)
        for place, unit in enumerate(tables.text_units):
            self._of_document[clean(unit.document_id or "")].append(place)

    def texts(self) -> Texts:
        ids = [self._add(row) for row in self._tables.documents]
        known = set(ids) - {""}
        for id_, places in sorted(self._of_document.items()):
            if id_ in known:
                self._place(id_, places)
            elif any(self._units[each].strip() for each in places):
                self._fail(f"document {id_}", "named by text units, and in no row", "its text is joined from theirs")
                own = self._free(id_ or short_id("document", *(self._units[each] for each in places)))
                self._documents[own] = _document(own, "", joined([self._units[each] for each in places]), {})
                self._place(own, places)
            else:
                self._failures += (
                    Failure(IMPORT, f"text_unit {self._tables.text_units[each].id}", "a text unit without text")
                    for each in places
                )
        return Texts(
            sorted_by_id(self._documents.values()),
            _numbered(self._chunks.values()),
            self._unit_chunks,
            self._prepended,
            ids,
            self._failures,
        )

    def _add(self, row: DocumentRow) -> str:
        id_ = clean(row.id or "")
        if id_ in self._documents:
            self._fail(f"document {id_}", "this id stands twice", "the first row counts")
            return ""
        text = clean(row.text or "")
        if not text:
            places = self._of_document.get(id_, [])
            text = joined([self._units[each] for each in places])
            if places:
                self._fail(f"document {id_}", "a document without text", "it is joined from its text units")
        self._documents[id_] = _document(id_, clean(row.title or ""), text, metadata_of(row))
        return id_

    def _place(self, id_: str, places: Sequence[int]) -> None:
        document = self._documents[id_]
        found = Text(document.text).align([self._units[each] for each in places])
        for place, aligned in zip(places, found, strict=True):
            if aligned is None:
                self._alone(document, place)
            else:
                self._prepended[place] = aligned.prepended
                self._unit_chunks[place] = self._chunk(document, aligned)

    def _alone(self, document: Document, place: int) -> None:
        unit = self._tables.text_units[place]
        name, text = f"text_unit {unit.id}", self._units[place]
        if not text.strip():
            self._fail(name, "a text unit without text", "")
            return
        self._fail(name, "it stands nowhere in its document", "it is a document of its own")
        id_ = self._free(f"{document.id}#{short_id(unit.id or '', text)}")
        own = _document(id_, document.title, text, document.metadata)
        self._documents[id_] = own
        self._unit_chunks[place] = self._chunk(own, Aligned(0, len(text)))

    def _chunk(self, document: Document, at: Aligned) -> str:
        text = document.text[at.start : at.end]
        chunk = Chunk(
            short_id(document.id, str(at.start), str(at.end)), document.id, 0, at.start, at.end, text, n_tokens(text)
        )
        return self._chunks.setdefault(chunk.id, chunk).id

    def _free(self, id_: str) -> str:
        while id_ in self._documents:
            id_ += "'"
        return id_

    def _fail(self, item: str, reason: str, detail: str) -> None:
        self._failures.append(Failure(IMPORT, item, reason, detail))


def metadata_of(row: DocumentRow) -> dict[str, str]:
    """Return what a document's row says beside its text, as texts."""
    found = {
        clean(key): clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for key, value in (row.raw_data or {}).items()
        if value is not None and value != row.text
    }
    return {**found, **({CREATED: clean(row.creation_date)} if row.creation_date else {})}


def n_tokens(text: str) -> int:
    """Return the tokens of a chunk: the sum over its sentences, as where we divide a document ourselves."""
    return sum(count_each(text[start:end] for start, end in sentence_spans(text)))


def _document(id_: str, title: str, text: str, metadata: Mapping[str, str]) -> Document:
    sha256 = hashlib.sha256(text.encode("utf-8")).hexdigest()
    return Document(id_, title, title or id_, text, metadata, len(text), sha256)


def _numbered(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return the chunks sorted by id, numbered within their documents in text order."""
    numbered: list[Chunk] = []
    before = ("", -1)
    for each in sorted(chunks, key=lambda chunk: (chunk.document_id, chunk.start, chunk.end)):
        before = (each.document_id, before[1] + 1 if before[0] == each.document_id else 0)
        numbered.append(replace(each, ordinal=before[1]))
    return sorted_by_id(numbered)
