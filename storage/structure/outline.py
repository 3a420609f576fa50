"""The outline of documents: their headings, nested, with the chunks of every section."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.locators import APART, HEADING
from conspectus.storage.records import Chunk, Document, Place

_DEEPEST = 16
"""Most levels of nested sections; deeper ones become siblings of the deepest. HTML has 6 levels."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document: the text below a heading, or on a slide or a sheet.

    Attributes:
        kind: heading, slide or sheet.
        label: The heading, the number of the slide, the name of the sheet.
        level: The level of the heading, from 1; 0 for slides and sheets.
        start: Its first character in the document's text.
        end: One past its last; nested sections are part of it.
        chunk_rows: Rows of its chunks in the table of chunks, in text order.
        sections: The sections directly inside it.
    """

    kind: str
    label: str
    level: int
    start: int
    end: int
    chunk_rows: tuple[int, ...]
    sections: tuple["Section", ...]

    @property
    def title(self) -> str:
        """The section's name for a reader: "Budget", or "slide 3"."""
        return f"slide {self.label}" if self.kind == "slide" else self.label


@dataclass(frozen=True, slots=True)
class DocumentOutline:
    """The sections of one document. `chunk_rows` are the rows of all its chunks, in text order."""

    document_id: str
    title: str
    uri: str
    n_chars: int
    chunk_rows: tuple[int, ...]
    sections: tuple[Section, ...]

    def walk(self) -> Iterator[tuple[tuple[Section, ...], Section]]:
        """Yield every section in text order, with its enclosing sections, the outermost first."""
        waiting: list[tuple[tuple[Section, ...], Section]] = [((), each) for each in reversed(self.sections)]
        while waiting:
            above, section = waiting.pop()
            yield above, section
            waiting += [((*above, section), each) for each in reversed(section.sections)]


@dataclass(frozen=True, slots=True)
class SectionSpan:
    """A section by numbers: its place, its end, and the position of the enclosing section (or None)."""

    place: Place
    end: int
    parent: int | None


def section_spans(places: Sequence[Place], n_chars: int) -> list[SectionSpan]:
    """Return the sections of a document in text order.

    A heading ends at the next heading of its level or above, and at the next slide or sheet.

    >>> two = (Place(0, "heading", "Pumps", 1), Place(40, "heading", "Care", 2), Place(90, "heading", "Valves", 1))
    >>> [(span.place.label, span.end, span.parent) for span in section_spans(two, 120)]
    [('Pumps', 90, None), ('Care', 90, 0), ('Valves', 120, None)]
    """
    found: list[tuple[Place, int | None]] = []
    ends: dict[int, int] = {}
    open_: list[int] = []
    for place in places:
        if place.kind != HEADING and place.kind not in APART:
            continue
        while open_ and (place.kind in APART or found[open_[-1]][0].level >= place.level):
            ends[open_.pop()] = place.start
        if len(open_) == _DEEPEST:
            ends[open_.pop()] = place.start
        found.append((place, open_[-1] if open_ else None))
        open_.append(len(found) - 1)
    return [SectionSpan(place, ends.get(number, n_chars), parent) for number, (place, parent) in enumerate(found)]


@per_index
def outline(index: StoredIndex) -> list[DocumentOutline]:
    """Return the outlines of all documents, in the order of their uris. The texts are not read.

    Example:
        >>> [section.title for section in outline(Index.open("docs.index"))[0].sections]  # doctest: +SKIP
        ['Introduction', 'Configuration']
    """
    documents = index.arrow(Document, "id", "title", "uri", "n_chars", "places")
    chunks = index.arrow(Chunk, "document_id", "start").to_pydict()
    starts: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for row, (document_id, start) in enumerate(zip(chunks["document_id"], chunks["start"], strict=True)):
        starts[document_id].append((start, row))
    made = []
    for row in documents.to_pylist():
        places = [Place(**place) for place in row["places"]]
        own = sorted(starts[row["id"]])
        sections = _nested(section_spans(places, row["n_chars"]), own)
        rows = tuple(number for _, number in own)
        made.append(DocumentOutline(row["id"], row["title"], row["uri"], row["n_chars"], rows, sections))
    return sorted(made, key=lambda document: (document.uri, document.document_id))


def sections_of(places: Sequence[Place], n_chars: int) -> tuple[Section, ...]:
    """Return the sections of one document, nested, without their chunks.

    >>> pump = sections_of((Place(0, "heading", "Pumps", 1), Place(40, "heading", "Care", 2)), 120)[0]
    >>> pump.title, [inner.title for inner in pump.sections]
    ('Pumps', ['Care'])
    """
    return _nested(section_spans(places, n_chars), ())


def chunks_between(starts: Sequence[int], start: int, end: int) -> tuple[int, int]:
    """Return the first and one past the last of a document's chunks that contain characters [start, end).

    If two chunks contain `start`, the later one counts: it contains more of what follows.

    >>> chunks_between([0, 80, 160], 80, 120), chunks_between([0, 80, 160], 90, 200)
    ((1, 2), (1, 3))
    """
    first = max(bisect_right(starts, start) - 1, 0)
    return first, max(bisect_left(starts, end), first + 1)


def _nested(spans: Sequence[SectionSpan], chunks: Sequence[tuple[int, int]]) -> tuple[Section, ...]:
    starts = [start for start, _ in chunks]
    within: defaultdict[int | None, list[Section]] = defaultdict(list)
    for number in range(len(spans) - 1, -1, -1):  # nested sections come after their section
        span, place = spans[number], spans[number].place
        first, last = chunks_between(starts, place.start, span.end) if chunks else (0, 0)
        rows = tuple(row for _, row in chunks[first:last])
        inner = tuple(reversed(within.pop(number, [])))
        section = Section(place.kind, place.label, place.level, place.start, span.end, rows, inner)
        within[span.parent].append(section)
    return tuple(reversed(within[None]))
