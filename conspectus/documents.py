"""Documents, passages and metadata keys, as rows."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.context import Context
from conspectus.query.filter.expressions import values_of
from conspectus.rows import DocumentRow, DocumentText, KeyRow, Order, PassageRow
from conspectus.storage.errors import NotThere, UsageError
from conspectus.storage.index import per_index
from conspectus.storage.locators import described, sections_at
from conspectus.storage.made_rows import RowsFrom
from conspectus.storage.records import Document

LONGEST_TEXT = 100_000
"""Maximum number of characters of a document that one request returns."""
_MOST_KEYS, _MOST_VALUES = 50, 12
_LONGEST_VALUE = 80
"""Maximum length of a value that is offered for a filter."""


def document_rows(context: Context, title: str, sort: Order) -> Sequence[DocumentRow]:
    """Return the documents whose title, URI and id together contain each word of a text, ties by id."""
    index, wanted = context.index, title.casefold().split()
    told = index.arrow(Document, "id", "title", "uri", "n_chars", "metadata").to_pylist()
    names = ("\n".join(each[key] for key in ("id", "title", "uri")).casefold() for each in told)
    rows = [row for row, name in enumerate(names) if all(word in name for word in wanted)]
    keys: dict[Order, Callable[[int], Any]] = {
        "title": lambda row: numbers_apart(told[row]["title"] or told[row]["uri"]),
        "date": lambda row: dict(told[row]["metadata"]).get("date", ""),
        "size": lambda row: told[row]["n_chars"],
    }
    if sort != "id":
        rows.sort(key=keys[sort], reverse=sort != "title")
    documents = index.each(Document)
    return RowsFrom(rows, lambda row: _row(documents[row]))


def numbers_apart(text: str) -> list[tuple[int, str]]:
    """Return what orders a title as people do.

    >>> sorted(["Part 10", "part 2"], key=numbers_apart)
    ['part 2', 'Part 10']
    """
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", text.casefold())]


def document_text(context: Context, name: str, start: int, end: int | None) -> DocumentText:
    """Return characters of a document, cut to its length: see `operations.document`.

    Raises NotThere if there is no such document, UsageError if it has no such characters.
    """
    found = documents_by_id(context).get(name) or _named(context, name)
    end = min(found.n_chars if end is None else end, found.n_chars, start + LONGEST_TEXT)
    if start > end:
        raise UsageError(f"characters {start} to {end} do not exist; the document has {found.n_chars}")
    return DocumentText(
        **asdict(_row(found)),
        version=context.index.manifest.version,
        start=start,
        end=end,
        text=found.text[start:end],
        place=described(found.places, start, end) if end > start else "",
        headings=list(sections_at(found.places, start)),
    )


def passage_rows(context: Context, ids: Sequence[str]) -> list[PassageRow]:
    """Return the chunks with these ids; unknown ids are skipped."""
    found = []
    for id_ in filter(context.chunk_rows.__contains__, ids):
        chunk = context.chunks[context.chunk_rows[id_]]
        document = documents_by_id(context)[chunk.document_id]
        place = described(document.places, chunk.start, chunk.end)
        found.append(
            PassageRow(chunk.id, document.id, document.title, chunk.start, chunk.end, text=chunk.text, place=place)
        )
    return found


@per_index
def key_rows(context: Context) -> list[KeyRow]:
    """Return the keys of the documents' metadata, most frequent first, each with its most frequent values."""
    values: defaultdict[str, Counter[str]] = defaultdict(Counter)
    documents: Counter[str] = Counter()
    for document in documents_by_id(context).values():
        for key, text in document.metadata.items():
            documents[key] += 1
            values[key].update(value for value in values_of(text) if 0 < len(value) <= _LONGEST_VALUE)
    best = sorted(documents, key=lambda key: (-documents[key], key))[:_MOST_KEYS]
    return [KeyRow(key, documents[key], [value for value, _ in values[key].most_common(_MOST_VALUES)]) for key in best]


def _named(context: Context, name: str) -> Document:
    index, wanted = context.index, name.casefold()
    for column in ("uri", "title"):
        for row, told in enumerate(index.arrow(Document, column).column(column).to_pylist()):
            if told.casefold() == wanted:
                return index.each(Document)[row]
    raise NotThere("no document has that id, title or uri; `documents` lists them, and searches for words of a title")


def _row(found: Document) -> DocumentRow:
    return DocumentRow(found.id, found.title, found.uri, found.n_chars, dict(found.metadata))
