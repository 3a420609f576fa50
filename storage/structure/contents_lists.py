"""Links of tables of contents and back-of-book indexes: lines of a text that end in a page number.

A line "2.1 Opening a graph ... 5" leads to the section of that title. Printed page numbers and page positions in the
file differ by the front matter; the lines with a known section give the offset. With it a line "exit status ...
3, 44", which names no section, leads to its pages: there to the chunk that contains the words, else to the first.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from conspectus.storage.records import Chunk, Document
from conspectus.storage.structure.corpus import Corpus, FoundLink, numbered
from conspectus.storage.text.names import words
from conspectus.storage.text.normalise import entity_key

_LEADER = re.compile(r"(?:\.[^\S\n]?){3,200}+(?P<pages>\d{1,4}(?:,[^\S\n]?\d{1,4}){0,20})(?![\d.])")
"""Dots, and the page numbers after them."""
_TITLE_AND_PAGE = re.compile(r"\[(?P<title>[^\[\]\n]{3,100})\],?\s(?:page|Seite)\s(?P<page>\d{1,4})\b")
"""A reference as printed by Texinfo: "see Section 3.2 [Shell Commands], page 9"."""
PAGE = "page"
_FEWEST = 5
"""Fewest lines of a list."""
_LONGEST_LINE = 150


@dataclass(frozen=True, slots=True)
class _Entry:
    """A line of a list: its characters [start, end), its title and the page numbers printed after it."""

    start: int
    end: int
    title: str
    pages: tuple[int, ...]


def lists(corpus: Corpus) -> Iterator[FoundLink]:
    """Yield the links of the tables of contents and the indexes of each document."""
    for document in corpus.every():
        entries = _entries(document.text)
        if len(entries) >= _FEWEST:
            yield from _links(corpus, document, entries)


def _entries(text: str) -> list[_Entry]:
    found = []
    end = 0
    for match in _LEADER.finditer(text):
        start = max(end, text.rfind("\n", end, match.start()) + 1, match.start() - _LONGEST_LINE)
        title, end = text[start : match.start()].strip(" ,"), match.end()
        if words(title):
            pages = tuple(int(page) for page in match["pages"].split(","))
            found.append(_Entry(start, match.start(), title, pages))
    return found


def _links(corpus: Corpus, document: Document, entries: Sequence[_Entry]) -> Iterator[FoundLink]:
    titles = _titles(corpus, document, entries)
    pages = _page_starts(document)
    shift = _shift(entries, titles, pages) or 0
    for entry in entries:
        start = titles.get(entity_key(entry.title))
        if start is not None:
            yield corpus.link("contents", document, entry.start, entry.end, corpus.chunk_at(document, start))
            continue
        for printed in entry.pages:
            page = printed + shift - 1
            if 0 <= page < len(pages):
                end = pages[page + 1] if page + 1 < len(pages) else document.n_chars
                target = _chunk_with(corpus, document, entry.title, pages[page], end)
                yield corpus.link("index", document, entry.start, entry.end, target)


def printed_pages(corpus: Corpus, document: Document) -> Mapping[str, int]:
    """Return the first character of each page of a document, by its printed number.

    That is the label of the page, unless a table of contents, or references by title and page, give a better offset.
    """
    entries, pages = _entries(document.text), _page_starts(document)
    entries += [
        _Entry(match.start(), match.end(), match["title"], (int(match["page"]),))
        for match in _TITLE_AND_PAGE.finditer(document.text)
    ]
    shift = _shift(entries, _titles(corpus, document, entries), pages) if len(entries) >= _FEWEST else None
    if shift is None:
        return {place.label: place.start for place in reversed(document.places) if place.kind == PAGE}
    return {str(number - shift): start for number, start in enumerate(pages, start=1)}


def _page_starts(document: Document) -> list[int]:
    return [place.start for place in document.places if place.kind == PAGE]


def _shift(entries: Sequence[_Entry], titles: Mapping[str, int], pages: Sequence[int]) -> int | None:
    """Return the number of pages before the one with the printed number 1; None if the entries do not determine it."""
    shifts: Counter[int] = Counter()
    for entry in entries:
        start = titles.get(entity_key(entry.title))
        if start is not None and len(entry.pages) == 1:
            shifts[bisect_right(pages, start) - entry.pages[0]] += 1
    return shifts.most_common(1)[0][0] if shifts else None


def _titles(corpus: Corpus, document: Document, entries: Sequence[_Entry]) -> Mapping[str, int]:
    """Return the offset of each title of a document by its key: of its headings or, without headings, short lines."""
    sections = corpus.sections(document)
    found: dict[str, int] = {}
    for span in reversed(sections):
        found[entity_key(span.place.label)] = found[entity_key(numbered(span.place.label)[1])] = span.place.start
    if sections:
        keys = {entity_key(entry.title): entity_key(numbered(entry.title)[1]) for entry in entries}
        return found | {key: found[bare] for key, bare in keys.items() if bare in found}
    listed = {entry.start for entry in entries}
    at = 0
    for line in document.text.split("\n"):
        start, at = at, at + len(line) + 1
        if 0 < len(line) <= _LONGEST_LINE and start not in listed:
            found.setdefault(entity_key(line), start)
    return found


def _chunk_with(corpus: Corpus, document: Document, title: str, start: int, end: int) -> Chunk:
    """Return the chunk within [start, end) that contains the words of a title, else the first."""
    best, most = corpus.chunk_at(document, start), 0
    wanted = {word.key for word in words(title)}
    for chunk in corpus.chunks_within(document, start, end):
        on_page = document.text[max(chunk.start, start) : min(chunk.end, end)]
        shared = len(wanted & {word.key for word in words(on_page)})
        if shared > most:
            best, most = chunk, shared
    return best
