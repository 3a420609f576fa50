"""Links that references in the text make: "see section 3.2", "Abschnitt 3.2", "RFC 5322", `git-rebase(1)`, "plan.xlsx".

A section number is looked up among the numbered headings of the document, then of its folder: a manual is often
a folder of pages. A page refers to the document itself. A title in quotation marks counts only after "see". References
that match nothing, or more than one place, are ignored.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from posixpath import basename, splitext

from conspectus.storage.records import Chunk, Document
from conspectus.storage.structure.contents_lists import printed_pages
from conspectus.storage.structure.corpus import NUMBER, SECTION, Corpus, FoundLink, folder_of, numbered
from conspectus.storage.text.normalise import entity_key

_REFERENCE = re.compile(
    rf"""(?<![\w.-])(?=[\w§])(?:
        (?=(?i:[scakz§]))(?P<section>(?i:{SECTION}))\s?(?P<number>{NUMBER})(?![\w-]|\.\d)
      | (?=(?i:[ps]))(?P<page>(?i:pages?|p\.|pp\.|seiten?|s\.|p[aá]ginas?|pagina|p[aá]g\.))\s?(?P<at>\d{{1,4}})
        (?![\w-]|[.,]\d)
      | (?=(?i:[svc]))(?P<see>(?i:see|siehe|s\.|voir|v[eé]ase|vedi|cf\.|vgl\.))\s(?:\w+\s){{0,3}}?
        [“„«‘"»](?P<title>[^\n“”„«»"]{{3,150}})[”“»’"«]
      | (?P<rfc>RFC)[\s-]?(?P<document>\d{{1,5}})\b
      | (?P<manual>[A-Za-z][\w.+:-]{{0,60}}+)\((?P<volume>[1-9][a-z]{{0,3}})\)
      | (?=\w++[.+-])(?P<file>[\w][\w.+-]{{0,100}}\.[A-Za-z][A-Za-z0-9]{{0,5}})(?![\w/])
    )""",
    re.X,
)
"""A look at what comes next, before each alternative, finds the same in half the time."""
_ELSEWHERE = re.compile(r"\s(?:of|in)\s(?:the\s)?(?:RFC|ISO|POSIX|IEEE|ANSI|GPL|(?:GNU|MIT|BSD|Apache)\s)")
"""Follows the section number of another work."""


def references(corpus: Corpus) -> Iterator[FoundLink]:
    """Yield a link for each reference in the text of a document."""
    targets = _Targets(corpus)
    for document in corpus.every():
        for match in _REFERENCE.finditer(document.text):
            target = targets.of(document, match)
            if target is not None:
                yield corpus.link("reference", document, match.start(), match.end(), target)


class _Targets:
    """Looks up the targets of references. Each table is made when the first reference needs it."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._pages: dict[str, Mapping[str, int]] = {}

    def of(self, document: Document, match: "re.Match[str]") -> Chunk | None:
        """Return the chunk that a reference leads to; None if it is unknown."""
        if match["section"]:
            if _ELSEWHERE.match(document.text, match.end()):
                return None
            return self._section(document, match["number"], self._numbers)
        if match["page"]:
            return self._page(document, match["at"])
        if match["see"]:
            return self._section(document, entity_key(match["title"].rstrip(".,")), self._titles)
        if match["rfc"]:
            return self._first(f"rfc{int(match['document'])}")
        if match["manual"]:
            name = match["manual"].casefold()
            return self._first(f"{name}.{match['volume']}", name)
        return self._first(match["file"].casefold())

    def _first(self, *names: str) -> Chunk | None:
        """Return the first chunk of the file with the first of some names that is known."""
        number = next((self._files[name] for name in names if name in self._files), None)
        return None if number is None else self._corpus.chunks(self._corpus.document(number))[0]

    def _section(self, document: Document, key: str, table: "Mapping[tuple[str, str], _Place]") -> Chunk | None:
        found = table.get((document.id, key)) or table.get((f"folder {folder_of(document)}", key))
        return self._corpus.chunk_at(*found) if found else None

    def _page(self, document: Document, label: str) -> Chunk | None:
        if document.id not in self._pages:
            self._pages[document.id] = printed_pages(self._corpus, document)
        start = self._pages[document.id].get(label)
        return None if start is None else self._corpus.chunk_at(document, start)

    @cached_property
    def _numbers(self) -> "Mapping[tuple[str, str], _Place]":
        return self._unique(lambda label: numbered(label)[0])

    @cached_property
    def _titles(self) -> "Mapping[tuple[str, str], _Place]":
        return self._unique(lambda label: entity_key(numbered(label)[1]))

    def _unique(self, key: Callable[[str], str]) -> "Mapping[tuple[str, str], _Place]":
        """Return the only section with a key, by document and key, and by folder and key."""
        found: defaultdict[tuple[str, str], list[_Place]] = defaultdict(list)
        for document in self._corpus.every():
            for span in self._corpus.sections(document):
                if named := key(span.place.label):
                    found[document.id, named].append((document, span.place.start))
                    found[f"folder {folder_of(document)}", named].append((document, span.place.start))
        return {name: places[0] for name, places in found.items() if len(places) == 1}

    @cached_property
    def _files(self) -> Mapping[str, int]:
        """The only document with each file name, with and without its suffix; rfc and number for RFCs."""
        found: defaultdict[str, set[int]] = defaultdict(set)
        for number, uri in self._corpus.uris.items():
            name = basename(uri.partition("#")[0]).casefold()
            names = {name, splitext(name)[0]} if "#" not in uri else set()
            if named := re.match(r"rfc[\s_-]?0*(\d{1,5})\b", splitext(name)[0]) or re.match(
                r"rfc[\s_-]?0*(\d{1,5})\b", self._corpus.titles[number].casefold()
            ):
                names.add(f"rfc{named[1]}")
            for each in names:
                found[each].add(number)
        return {name: next(iter(those)) for name, those in found.items() if len(those) == 1}


_Place = tuple[Document, int]
