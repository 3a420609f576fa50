"""The links between passages that follow from the documents' own structure.

A link leads from one chunk to another. Its kinds:

- *parent*: from a chunk to the beginning of the section that contains it, and from there to the enclosing section;
  from an attachment to its message.
- *next*: from a chunk to the one after it in its document.
- *hyperlink*: a hyperlink to a document of the index and, with #anchor, to the chunk that contains it.
- *reference*: "see section 3.2", "RFC 5322", `git-rebase(1)`, the name of a file. A section number is
  looked up among the numbered headings of the document, then of its folder: a manual is often a folder of pages. A page
  refers to the document itself. A title in quotation marks counts only after "see". References that match nothing, or
  more than one place, are ignored.
- *contents*, *index*: a line of a table of contents to its section, one of a back-of-book index to its pages
  (contents_lists.py).
- *reply*: a message to the one that it answers (mail_threads.py).
- *definition*: a chunk that uses a term to the section with the term as its heading (terms.py).

All of them follow only from the texts, headings, hyperlinks and metadata of the documents, so an updated index has
the same links as one built from scratch.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from posixpath import basename, splitext

import numpy as np
from conspectus.storage.arrays import Floats, Ints
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Document, Hyperlink, Link, LinkKind
from conspectus.storage.structure.contents_lists import lists, printed_pages
from conspectus.storage.structure.corpus import NUMBER, SECTION, Corpus, FoundLink, folder_of, numbered
from conspectus.storage.structure.mail_threads import replies
from conspectus.storage.structure.terms import definitions
from conspectus.storage.text.names import words
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


_PAGES = ("/index.html", "/index.htm", "/README.md", "/index.md", ".html", ".htm", ".md", ".rst", ".txt")
"""File name parts that an address may omit."""
_LONGEST_ANCHOR = 500
_AROUND = frozenset({"next", "previous", "up", "index", "glossary"})
"""Links that organise pages instead of being part of their text."""


def hyperlinks(corpus: Corpus) -> Iterator[FoundLink]:
    """Yield a link for each hyperlink that leads to a document of the index."""
    resolver = _Resolver(corpus)
    for document in corpus.every():
        for link in document.hyperlinks:
            target = resolver.chunk(document, link)
            if target is None or link.kind in _AROUND:
                continue
            kind: LinkKind = "contents" if link.kind == "contents" else "hyperlink"
            yield corpus.link(kind, document, link.start, link.end, target)


class _Resolver:
    """Resolves addresses. An address is only compared with names of documents, so it can lead nowhere else."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._anchors: dict[str, Mapping[str, int]] = {}

    @cached_property
    def _stems(self) -> Mapping[str, int]:
        """The only document with each file name without its suffix."""
        stems: defaultdict[str, list[int]] = defaultdict(list)
        for number, uri in self._corpus.uris.items():
            stems[splitext(basename(uri))[0]].append(number)
        return {stem: found[0] for stem, found in stems.items() if len(found) == 1}

    def chunk(self, source: Document, link: Hyperlink) -> Chunk | None:
        """Return the chunk that a hyperlink leads to; None if it leads to no document of the index."""
        document = self._document(link.target)
        if document is None:
            return None
        if not link.anchor:
            return None if document.id == source.id else self._corpus.chunks(document)[0]
        start = self._places(document).get(link.anchor[:_LONGEST_ANCHOR])
        if start is None and document.id == source.id:
            return None
        return self._corpus.chunk_at(document, start or 0)

    def _document(self, target: str) -> Document | None:
        target = target.rstrip("/")
        if found := self._corpus.at_uri(target):
            return found
        if not splitext(target)[1] and "://" not in target:
            named = (self._corpus.at_uri(f"{target}{ending}") for ending in _PAGES)
            if found := next(filter(None, named), None):
                return found
            number = self._stems.get(target)
            return None if number is None else self._corpus.document(number)
        return None

    def _places(self, document: Document) -> Mapping[str, int]:
        """Return the offset of each anchor of a document. A heading also has one made of its words (as in Markdown)."""
        if document.id not in self._anchors:
            found = {
                "-".join(word.key for word in words(span.place.label)): span.place.start
                for span in reversed(self._corpus.sections(document))
            }
            self._anchors[document.id] = found | {anchor.id: anchor.start for anchor in reversed(document.anchors)}
        return self._anchors[document.id]


def parents(corpus: Corpus) -> Iterator[FoundLink]:
    """Yield the links from each chunk to the start of its section, and on to that of the enclosing section."""
    for document in corpus.every():
        sections = corpus.sections(document)
        if not sections:
            continue
        chunks = corpus.chunks(document)
        begins = [corpus.chunk_at(document, section.place.start) for section in sections]
        for section, begin in zip(sections, begins, strict=True):
            around = section.parent
            if around is None:
                yield FoundLink("parent", begin, chunks[0], document.title)
            else:
                yield FoundLink("parent", begin, begins[around], sections[around].place.label)
        inner: list[int] = []
        at = 0
        for chunk in chunks:
            while at < len(sections) and sections[at].place.start <= chunk.start:
                inner.append(at)
                at += 1
            while inner and sections[inner[-1]].end <= chunk.start:
                inner.pop()
            if inner:
                yield FoundLink("parent", chunk, begins[inner[-1]], sections[inner[-1]].place.label)


def attachments(corpus: Corpus) -> Iterator[FoundLink]:
    """Yield a link from a part of a message or document to the containing text ("note.eml/budget.xlsx")."""
    for number, uri in corpus.uris.items():
        around = _around(uri, corpus)
        if around is not None:
            attached = corpus.document(number)
            yield FoundLink("parent", corpus.chunks(attached)[0], corpus.chunks(around)[0], around.title)


def followers(corpus: Corpus) -> Iterator[FoundLink]:
    """Yield a link from each chunk to the one after it."""
    for chunks in corpus.several_chunks():
        for one, other in pairwise(chunks):
            yield FoundLink("next", one, other, "")


def _around(uri: str, corpus: Corpus) -> Document | None:
    """Return the containing document. A message of a mailbox is box.mbox#3, its attachments are box.mbox/3/name."""
    parts = uri.split("/")
    for last in range(len(parts) - 1, 0, -1):
        head = "/".join(parts[:last])
        found = corpus.at_uri(head) or corpus.at_uri(f"{'/'.join(parts[: last - 1])}#{parts[last - 1]}")
        if found is not None:
            return found
    return None


_FINDERS: tuple[Callable[[Corpus], Iterator[FoundLink]], ...] = (
    parents,
    attachments,
    followers,
    hyperlinks,
    references,
    lists,
    replies,
    definitions,
)

WEIGHTS = {"parent": 0.1, "hyperlink": 0.3, "reference": 0.3, "contents": 0.1, "index": 0.1, "reply": 0.1}
"""Weight of each kind of link that is walked, where a link to a title weighs 1; docs/structure.md has their effect."""


def find_links(documents: Sequence[Document], chunks: Sequence[Chunk]) -> list[Link]:
    """Return the links of all documents, sorted by id.

    Time and memory are proportional to the texts and the links found.

    Args:
        documents: the documents.
        chunks: their chunks.
    """
    corpus = Corpus(documents, chunks)
    made: dict[str, Link] = {}
    for find in _FINDERS:
        for found in find(corpus):
            if found.source.id != found.target.id:
                link = _link(found)
                made.setdefault(link.id, link)
    return [made[id_] for id_ in sorted(made)]


def _link(found: FoundLink) -> Link:
    source, target = found.source.id, found.target.id
    id_ = short_id("link", found.kind, source, target, str(found.start), str(found.end), found.text)
    return Link(id_, found.kind, source, target, found.text, found.start, found.end)


def link_edges(links: Sequence[Link], row_of: Mapping[str, int]) -> tuple[Ints, Ints, Floats]:
    """Return the edges that links add to the graph of passages: (sources (e,), targets (e,), weights (e,)).

    Two chunks joined several times by one kind of link are joined once. An edge weighs w / sqrt(n), where w is the
    weight of its kind and n the number of edges of this kind at the end that has more: a page linked from everywhere,
    and a table of contents that links to everything, say little about each.

    Args:
        links: The links.
        row_of: The row of each chunk, by id.
    """
    kinds = sorted({link.kind for link in links})
    number = {kind: at for at, kind in enumerate(kinds)}
    ends = np.array(
        [(number[link.kind], row_of[link.source_id], row_of[link.target_id]) for link in links], np.int64
    ).reshape(-1, 3)
    kind, sources, targets = np.unique(ends, axis=0).T
    n_chunks = len(row_of)
    # A chunk has a separate count for each kind.
    counts = np.bincount(np.concatenate([kind * n_chunks + sources, kind * n_chunks + targets]))
    busiest = np.maximum(counts[kind * n_chunks + sources], counts[kind * n_chunks + targets])
    weights = np.array([WEIGHTS.get(each, 0.0) for each in kinds], np.float64)[kind] / np.sqrt(busiest)
    return sources, targets, weights
