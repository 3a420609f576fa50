"""The links between passages that follow from the documents' own structure.

A link leads from one chunk to another. Its kinds:

- *parent*: from a chunk to the beginning of the section that contains it, and from there to the enclosing section;
  from an attachment to its message.
- *next*: from a chunk to the one after it in its document.
- *hyperlink*: a hyperlink to a document of the index and, with #anchor, to the chunk that contains it (targets.py).
- *reference*: "see section 3.2", "RFC 5322", `git-rebase(1)`, the name of a file (references.py).
- *contents*, *index*: a line of a table of contents to its section, one of a back-of-book index to its pages
  (contents_lists.py).
- *reply*: a message to the one that it answers (mail_threads.py).
- *definition*: a chunk that uses a term to the section with the term as its heading (terms.py).

All of them follow only from the texts, headings, hyperlinks and metadata of the documents, so an updated index has
the same links as one built from scratch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from conspectus.storage.arrays import Floats, Ints
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Document, Link
from conspectus.storage.structure.contents_lists import lists
from conspectus.storage.structure.corpus import Corpus, FoundLink
from conspectus.storage.structure.mail_threads import replies
from conspectus.storage.structure.order import attachments, followers, parents
from conspectus.storage.structure.references import references
from conspectus.storage.structure.targets import hyperlinks
from conspectus.storage.structure.terms import definitions

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
