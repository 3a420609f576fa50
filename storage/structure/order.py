"""Links that follow the order of a text: from section to section, chunk to chunk, attachment to message."""

from collections.abc import Iterator
from itertools import pairwise

from conspectus.storage.records import Document
from conspectus.storage.structure.corpus import Corpus, FoundLink


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
