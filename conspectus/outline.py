"""The outline of documents as text and JSON: their nested headings and the numbers of links from and to them."""

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from conspectus.render.terminal import count, one_line
from conspectus.storage.errors import UsageError
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Link
from conspectus.storage.structure.outline import DocumentOutline, outline
from conspectus.storage.tables import rows_of_ids

_COUNTED = {
    "hyperlink": "hyperlinks",
    "reference": "references",
    "contents": "contents lines",
    "index": "index lines",
    "reply": "replies",
    "definition": "term uses",
}
"""The kinds of links that are counted, with their names; section and neighbour links occur in every text."""


@dataclass(frozen=True, slots=True)
class Outlined:
    """A document with its outline, and the number of links of each kind from it (`out`) and to it (`into`)."""

    document: DocumentOutline
    out: Mapping[str, int]
    into: Mapping[str, int]


def outlined(index: StoredIndex, name: str | None = None) -> list[Outlined]:
    """Return the documents of an index with their outlines, sorted by URI.

    Args:
        index: The index.
        name: Return only the document with this id, URI or title, or those in the folder or file with this URI.

    Raises:
        UsageError: There is no such document; the message suggests the nearest name.
    """
    every = found = outline(index)
    if name is not None:
        inside = (f"{name.rstrip('/')}/", f"{name}#")
        names = [(each, (each.document_id, each.uri, each.title)) for each in every]
        found = [each for each, called in names if name in called or each.uri.startswith(inside)]
    if name is not None and not found:
        known = [text for each in every for text in (each.uri, each.title, each.document_id)]
        nearest = difflib.get_close_matches(name, known, n=1)
        raise UsageError(f"no document is called {name!r}" + (f"; did you mean {nearest[0]!r}?" if nearest else ""))
    out, into = _counts(index)
    return [Outlined(each, out.get(each.document_id, {}), into.get(each.document_id, {})) for each in found]


def text(found: Sequence[Outlined], depth: int | None = None) -> str:
    """Return outlines as text, headings to the given depth; each document with its sections, then its links."""
    lines = []
    for each in found:
        document = each.document
        title = f"  {one_line(document.title)}" if document.title else ""
        lines += ["", f"{one_line(document.uri)}{title}  ({count(len(document.chunk_rows), 'passages')})"]
        lines += [
            f"{'  ' * (len(above) + 1)}{one_line(section.title)}"
            for above, section in document.walk()
            if depth is None or len(above) < depth
        ]
        for counts, verb in ((each.out, "leads to"), (each.into, "is led to by")):
            if counts:
                kinds = [count(counts[kind], noun) for kind, noun in _COUNTED.items() if kind in counts]
                lines.append(f"  {verb}: {', '.join(kinds)}")
    return "\n".join(lines[1:]) or "the index holds no document"


def json_of(found: Sequence[Outlined]) -> dict[str, Any]:
    """Return outlines in the form of `conspectus outline --json`."""
    return {
        "documents": [
            {**_plain(asdict(each.document)), "links_out": dict(each.out), "links_in": dict(each.into)}
            for each in found
        ]
    }


def _plain(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document or a section with the number of its passages instead of their rows."""
    told = {name: value for name, value in part.items() if name not in {"chunk_rows", "n_chars"}}
    return {**told, "passages": len(part["chunk_rows"]), "sections": [_plain(inner) for inner in part["sections"]]}


def _counts(index: StoredIndex) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """Return the number of links from and to each document, by its id and the kind of link."""
    links, chunks = index.arrow(Link, "kind", "source_id", "target_id"), index.arrow(Chunk, "id", "document_id")
    documents = np.array(chunks.column("document_id").to_pylist(), dtype=object)
    kinds = links.column("kind").to_pylist()
    counted = []
    for end in ("source_id", "target_id"):
        owners = documents[rows_of_ids(links.column(end), chunks.column("id"))]
        pairs = Counter(pair for pair in zip(owners.tolist(), kinds, strict=True) if pair[1] in _COUNTED)
        of_document: dict[str, dict[str, int]] = {}
        for (owner, kind), number in sorted(pairs.items()):
            of_document.setdefault(owner, {})[kind] = number
        counted.append(of_document)
    return counted[0], counted[1]
