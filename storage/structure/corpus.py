"""Look-ups for the link finders: documents by address, chunks by position, sections by number and title."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from posixpath import dirname

from conspectus.storage.records import Chunk, Document, LinkKind
from conspectus.storage.spilled import values_of
from conspectus.storage.structure.outline import SectionSpan, chunks_between, section_spans
from conspectus.storage.text.normalise import entity_key

_LONGEST_TEXT = 200
SECTION = r"""sections?|sect?\.|chapters?|chap\.|appendix|appendices|annex|clause|abschnitte?s?|abschn\.|kapiteln?|kap\.
    |anhang|ziffer|chapitres?|annexe|secci[oó]n|cap[ií]tulos?|ap[eé]ndice|anexo|sezione|capitolo|§{1,2}"""
"""Words before the number of a section, as a verbose pattern."""
NUMBER = r"\d{1,3}(?:\.\d{1,3}){0,6}|[A-Z](?:\.\d{1,3}){0,6}"
_NUMBERED = re.compile(rf"(?:(?i:{SECTION})\s+)?(?P<number>{NUMBER})(?:[.:)]+\s*|\s+|$)(?P<title>.*)", re.X | re.S)


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link that was found; see `conspectus.storage.records.Link`."""

    kind: LinkKind
    source: Chunk
    target: Chunk
    text: str
    start: int | None = None
    end: int | None = None


class Corpus:
    """The documents that have chunks, in the order of their table.

    Documents and chunks are read when a link needs them: most short documents are in none.

    Args:
        documents: the documents.
        chunks: their chunks.
    """

    def __init__(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> None:
        self._rows: defaultdict[str, list[int]] = defaultdict(list)
        self._starts_of_rows: list[int] = values_of(chunks, "start")
        for row, owner in enumerate(values_of(chunks, "document_id")):
            self._rows[owner].append(row)
        self._in_order: dict[str, tuple[list[int], list[int]]] = {}
        self._documents = documents
        self._all_chunks = chunks
        self._ids: list[str] = values_of(documents, "id")
        self._numbers = [number for number, id_ in enumerate(self._ids) if id_ in self._rows]
        self._chunks: dict[str, list[Chunk]] = {}
        self._sections: dict[str, Sequence[SectionSpan]] = {}

    def document(self, number: int) -> Document:
        """Return a document by its row."""
        return self._documents[number]

    @cached_property
    def uris(self) -> Mapping[int, str]:
        """The address of each document, by its row."""
        uris = values_of(self._documents, "uri")
        return {number: uris[number] for number in self._numbers}

    @cached_property
    def titles(self) -> Mapping[int, str]:
        """The title of each document, by its row."""
        titles = values_of(self._documents, "title")
        return {number: titles[number] for number in self._numbers}

    @cached_property
    def title_keys(self) -> frozenset[str]:
        """The keys of the titles of all documents."""
        return frozenset(map(entity_key, self.titles.values()))

    def every(self) -> Iterator[Document]:
        """Yield all documents."""
        return (document for document in self._documents if document.id in self._rows)

    def chunks(self, document: Document) -> Sequence[Chunk]:
        """Return the chunks of a document, in text order."""
        if document.id not in self._chunks:
            self._chunks[document.id] = [self._all_chunks[row] for row in self._ordered(document)[0]]
        return self._chunks[document.id]

    def _ordered(self, document: Document) -> tuple[list[int], list[int]]:
        """Return the rows of the chunks of a document in text order, and where each begins."""
        if document.id not in self._in_order:
            rows = sorted(self._rows[document.id], key=self._starts_of_rows.__getitem__)
            self._in_order[document.id] = rows, [self._starts_of_rows[row] for row in rows]
        return self._in_order[document.id]

    def several_chunks(self) -> Iterator[Sequence[Chunk]]:
        """Yield the chunks of each document that has more than one, in text order."""
        for number in self._numbers:
            if len(self._rows[self._ids[number]]) > 1:
                yield self.chunks(self.document(number))

    def chunk_at(self, document: Document, start: int) -> Chunk:
        """Return the chunk at a character; if two overlap there, the later one, which contains more of what follows."""
        return self.chunks(document)[max(bisect_right(self._ordered(document)[1], start) - 1, 0)]

    def chunks_within(self, document: Document, start: int, end: int) -> Sequence[Chunk]:
        """Return the chunks that overlap characters [start, end), in text order."""
        first, last = chunks_between(self._ordered(document)[1], start, end)
        return self.chunks(document)[first:last]

    def chunk_of(self, document: Document, start: int, end: int) -> Chunk:
        """Return the first chunk that contains characters [start, end), or else their beginning."""
        own = self.chunks(document)
        last = max(bisect_right(self._ordered(document)[1], start) - 1, 0)
        first = last
        while first and own[first - 1].end >= end:  # chunks overlap only their neighbours
            first -= 1
        return own[first]

    def sections(self, document: Document) -> Sequence[SectionSpan]:
        """Return the sections of a document."""
        if not document.places:
            return ()
        if document.id not in self._sections:
            self._sections[document.id] = section_spans(document.places, document.n_chars)
        return self._sections[document.id]

    def at_uri(self, uri: str) -> Document | None:
        """Return the first document of an address; None if there is none."""
        number = self._by_uri.get(uri)
        return None if number is None else self.document(number)

    @cached_property
    def _by_uri(self) -> Mapping[str, int]:
        return {uri: number for number, uri in reversed([*self.uris.items()])}

    def link(self, kind: LinkKind, document: Document, start: int, end: int, target: Chunk) -> FoundLink:
        """Return a link from characters [start, end) of a document."""
        text = " ".join(document.text[start : min(end, start + _LONGEST_TEXT)].split())
        return FoundLink(kind, self.chunk_of(document, start, end), target, text, start, end)


def folder_of(document: Document) -> str:
    """Return the folder of a document; "" at the top."""
    return dirname(document.uri)


def numbered(label: str) -> tuple[str, str]:
    """Return the number and the title of a heading; the number is "" if it has none.

    >>> numbered("9.2. Night watch"), numbered("Kapitel 4. Vorräte"), numbered("Appendix A"), numbered("A tale")
    (('9.2', 'Night watch'), ('4', 'Vorräte'), ('A', ''), ('', 'A tale'))
    """
    found = _NUMBERED.match(label)
    if not found or (found["number"].isalpha() and found.start("number") == 0 and label[1:2] not in ".:)"):
        return "", label
    return found["number"], found["title"].strip()
