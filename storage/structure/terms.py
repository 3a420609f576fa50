"""Links from passages that use a term to the section that explains it.

A heading that reads like a name ("Write-Ahead Logging") is a term: the section below it explains it. So is
a quoted term that a sentence defines ("“heap” means ..."), a term of a definition list, and a term at the place that
a back-of-book index gives for it. A term with more than a few such places ("Options", "Examples") is ignored. Titles
of documents are left out: they are names already (walk_graph.py).
"""

import re
from collections import defaultdict
from collections.abc import Iterator

from conspectus.storage.records import Document
from conspectus.storage.structure.corpus import Corpus, FoundLink, numbered
from conspectus.storage.text.names import NameMatcher, is_capitalised, is_other_word, is_worth_looking_for, words
from conspectus.storage.text.normalise import entity_key

EXPLAINED = frozenset({"index", "definition"})
"""Kinds of hyperlinks that mark the place where a term is explained: index entries and definitions."""
_MOST_WORDS = 6
"""Most words of a heading that is a term; a longer one is a sentence or a question."""
_SHORTEST = 4
"""Fewest letters of a one-word term."""
_MOST_SECTIONS = 2
_MOST_USES = 50
"""A term in more passages than this is the subject of the documents, and joins unrelated passages."""
_NUMBER = 20
"""Characters of the number before a heading: the heading itself is not a use of the term."""
_DEFINED = re.compile(
    r"[“„«\"`](?P<term>[^\n“”„«»\"`]{3,60})[”“»\"`]\s"
    r"(?:means|is defined as|refers to|bezeichnet|bedeutet|désigne|significa)\b"
)


def definitions(corpus: Corpus) -> Iterator[FoundLink]:
    """Yield a link from each chunk that uses a term to the sections that explain the term."""
    explained: defaultdict[str, dict[str, tuple[Document, int]]] = defaultdict(dict)
    surfaces: defaultdict[str, set[str]] = defaultdict(set)
    for document in corpus.every():
        for surface, start in _terms(corpus, document):
            key = entity_key(surface)
            if key not in corpus.title_keys:
                explained[key].setdefault(corpus.chunk_at(document, start).id, (document, start))
                surfaces[key].add(" ".join(surface.split()))
    terms = {min(surfaces[key]): key for key, those in explained.items() if len(those) <= _MOST_SECTIONS}
    if not terms:
        return
    matcher = NameMatcher(terms)
    uses: defaultdict[str, dict[str, tuple[Document, int, int]]] = defaultdict(dict)
    for document in corpus.every():
        for match in matcher.find(document.text):
            surface = document.text[match.start : match.end]
            is_heading = any(
                document.id == owner.id and 0 <= match.start - start <= _NUMBER
                for owner, start in explained[match.value].values()
            )
            if not is_heading and not is_other_word(surface, is_capitalised(surfaces[match.value])):
                chunk = corpus.chunk_of(document, match.start, match.end)
                uses[match.value].setdefault(chunk.id, (document, match.start, match.end))
    for key, places in uses.items():
        if len(places) <= _MOST_USES:
            for document, start, end in places.values():
                for target in explained[key].values():
                    yield corpus.link("definition", document, start, end, corpus.chunk_at(*target))


def _terms(corpus: Corpus, document: Document) -> Iterator[tuple[str, int]]:
    """Yield the terms that a document explains, and their offsets."""
    for span in corpus.sections(document):
        surface = numbered(span.place.label)[1].strip(" .:")
        if (
            len(words(surface)) <= _MOST_WORDS
            and is_worth_looking_for(surface, _SHORTEST)
            and not surface.endswith("?")
        ):
            yield surface, span.place.start
    for link in document.hyperlinks:
        surface = document.text[link.start : link.end]
        told = link.kind in EXPLAINED and link.target == document.uri and len(words(surface)) <= _MOST_WORDS
        if told and is_worth_looking_for(surface, _SHORTEST):
            yield surface, link.start
    for match in _DEFINED.finditer(document.text):
        if is_worth_looking_for(match["term"], _SHORTEST):
            yield match["term"], match.start()
