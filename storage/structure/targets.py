"""Links from hyperlinks: resolve addresses in a document to documents of the index."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from posixpath import basename, splitext

from conspectus.storage.records import Chunk, Document, Hyperlink, LinkKind
from conspectus.storage.structure.corpus import Corpus, FoundLink
from conspectus.storage.text.names import words

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
