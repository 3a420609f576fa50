"""Look-ups for the link finders: documents by address, chunks by position, sections by number and title."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from posixpath import dirname

from conspectus.storage.records import Chunk, Document, LinkKind
from conspectus.storage.structure.outline import SectionSpan, chunks_between, section_spans

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
    """Documents and their chunks, in the order of the table of documents."""

    def __init__(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> None:
        of_document: defaultdict[str, list[Chunk]] = defaultdict(list)
        for chunk in chunks:
            of_document[chunk.document_id].append(chunk)
        self._chunks = {id_: sorted(own, key=lambda chunk: chunk.start) for id_, own in of_document.items()}
        self._starts = {id_: [chunk.start for chunk in own] for id_, own in self._chunks.items()}
        self.documents = [document for document in documents if document.id in self._chunks]

    def chunks(self, document: Document) -> Sequence[Chunk]:
        """Return the chunks of a document, in text order."""
        return self._chunks[document.id]

    def chunk_at(self, document: Document, start: int) -> Chunk:
        """Return the chunk at a character; if two overlap there, the later one, which contains more of what follows."""
        return self._chunks[document.id][max(bisect_right(self._starts[document.id], start) - 1, 0)]

    def chunks_within(self, document: Document, start: int, end: int) -> Sequence[Chunk]:
        """Return the chunks that overlap characters [start, end), in text order."""
        first, last = chunks_between(self._starts[document.id], start, end)
        return self._chunks[document.id][first:last]

    def chunk_of(self, document: Document, start: int, end: int) -> Chunk:
        """Return the first chunk that contains characters [start, end), or else their beginning."""
        own = self._chunks[document.id]
        last = max(bisect_right(self._starts[document.id], start) - 1, 0)
        first = last
        while first and own[first - 1].end >= end:  # chunks overlap only their neighbours
            first -= 1
        return own[first]

    @cached_property
    def sections(self) -> Mapping[str, Sequence[SectionSpan]]:
        """The sections of each document, by its id."""
        return {document.id: section_spans(document.places, document.n_chars) for document in self.documents}

    @cached_property
    def by_uri(self) -> Mapping[str, Document]:
        """Every document by its uri."""
        return {document.uri: document for document in reversed(self.documents)}

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
