"""A view of an index as of a date: sentences and statements that are later, or had ended by then, are not in it.

A sentence belongs to the dates that it states, or else to the date of its document; without either it remains. Blanks
take the place of hidden sentences, so every offset stays. What such a passage says besides is kept, but not what a
model wrote about it. The ranking may still know hidden sentences of a passage by their vectors, never by their words.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import TypeVar

import numpy as np
import pyarrow as pa
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.filter.bitmaps import is_in, with_column
from conspectus.query.filter.rows import replaced
from conspectus.query.filter.view import view_of
from conspectus.storage.errors import UsageError
from conspectus.storage.hashing import short_id
from conspectus.storage.index import DESCRIPTIONS, StoredIndex, per_index
from conspectus.storage.joins import mentions_of_chunks
from conspectus.storage.locators import HEADING
from conspectus.storage.mapped import TableRows
from conspectus.storage.memory_index import MemoryIndex, Parts, Rows
from conspectus.storage.records import Chunk, Claim, DatedFact, Document, Entity, Link, Mention, Name, Relation
from conspectus.storage.searched_texts import SearchedTexts
from conspectus.storage.spilled import documents_of_chunks
from conspectus.storage.tables import TABLES, arrow_of, taken
from conspectus.storage.text.bm25 import Bm25
from conspectus.storage.text.dates import Dated, date_of_document, dates_in, read_date
from conspectus.storage.text.language import language_of
from conspectus.storage.text.sentences import sentence_spans
from pyarrow import compute

Record = TypeVar("Record")
_Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Window:
    """The days that a view is about; `moments`: what happened before them remains, unless it lasted and ended."""

    first: str
    last: str
    moments: bool

    def hides(self, dates: Sequence[Dated]) -> bool:
        """Return whether a text with these dates is hidden: one is later, one lasted and ended, or all are over."""
        over = [each for each in dates if (each.last or "9999") < self.first and not (self.moments and each.is_moment)]
        is_later = any((each.first or "") > self.last for each in dates)
        return is_later or any(not each.is_moment for each in over) or 0 < len(over) == len(dates)


def window_of(as_of: str | None, between: Sequence[str] | None) -> Window:
    """Return the window of a view. Raises UsageError if it is not one date or two, in their order."""
    given = [as_of] if as_of is not None else [*(between or ())]
    dates = [each for text in given if (each := read_date(text.strip())) and each.first and each.last]
    if (as_of is None) == (between is None) or len(given) != len(dates) or len(dates) != (1 if between is None else 2):
        raise UsageError("give one date, or two between which facts hold, like 2004, 2004-05 or 2004-05-31")
    first, last = dates[0].first or "", dates[-1].last or ""
    if first > last:
        raise UsageError(f"{given[1]} is before {given[0]}")
    return Window(first, last, moments=between is None)


def view_in(index: StoredIndex, window: Window, embedder: Embedder, *, graph: bool) -> StoredIndex:
    """Return the view of an index in a window of time."""
    spans: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for document_id, start, end, dates in _dated_sentences(index):
        if window.hides(dates):
            spans[document_id].append((start, end))
    for each in spans.values():
        each.sort()
    parts = _redacted(index, spans, window)
    names = ("chunks", "entities", "relations", "predicates", "reports", DESCRIPTIONS)
    vectors = {name: partial(index.vectors, name) for name in names if index.has_vectors(name)}

    def lexical() -> Bm25:
        documents, chunks = redacted.rows(Document), redacted.rows(Chunk)
        languages = {document.id: language_of(document.text, document.metadata) for document in documents}
        texts = SearchedTexts(chunks, documents, documents_of_chunks(documents, chunks))
        return Bm25.of(texts, [languages[chunk.document_id] for chunk in chunks])

    redacted = MemoryIndex(index.root, index.manifest, Parts(parts, vectors, index.graph, lexical))
    kept = {chunk.document_id for chunk in redacted.each(Chunk) if chunk.text.strip()}
    titles = (id_ for id_, title in index.by_id(Document, "title").items() if window.hides(dates_in(title)))
    return view_of(redacted, kept.difference(titles), embedder, graph=graph, always=True)


@per_index
def _dated_sentences(index: StoredIndex) -> list[tuple[str, int, int, list[Dated]]]:
    """Return document, characters and dates of each sentence that has any, or whose document has."""
    of_document = {document.id: date_of_document(document) for document in index.rows(Document)}
    made = []
    for chunk in index.each(Chunk):
        found, default = dates_in(chunk.text), of_document[chunk.document_id]
        for start, end in sentence_spans(chunk.text) if found or default else ():
            dates = [each for each in found if start <= each.start < end] or ([default] if default else [])
            if dates:
                made.append((chunk.document_id, chunk.start + start, chunk.start + end, dates))
    return made


def _redacted(index: StoredIndex, spans: Mapping[str, _Spans], window: Window) -> dict[type, Rows]:
    """Return the tables without the hidden sentences (`spans`, by document) and facts.

    A hidden mention refers to no chunk, so that what it mentions is no longer intact, and a hidden relation of a graph
    refers to a chunk that does not exist.
    """
    clean = [_blanked(index.each(Document)[index.ids(Document)[id_]], spans[id_]) for id_ in spans]
    texts = {document.id: document.text for document in clean}
    chunks, rows = index.rows(Chunk), index.ids(Chunk)
    changed = {
        chunk.id: replace(chunk, text=texts[chunk.document_id][chunk.start : chunk.end])
        for chunk in chunks
        if _overlap(spans.get(chunk.document_id, ()), chunk.start, chunk.end)
    }

    def is_hidden(chunk_id: str, start: int | None, end: int | None) -> bool:
        """Return whether a place is hidden; one that is not known is, if anything of its chunk is."""
        if start is None or end is None or chunk_id not in changed:
            return chunk_id in changed
        return _overlap(spans[changed[chunk_id].document_id], start, end)

    def tells(link: Link) -> bool:
        is_of_text = link.start is not None and is_hidden(link.source_id, link.start, link.end)
        return is_of_text or window.hides(dates_in(link.text))

    facts = index.rows(DatedFact)
    hidden = {
        fact.id for fact in facts if fact.precision and window.hides([Dated(fact.first, fact.last, fact.precision)])
    }
    of_graph = {fact.relation_id for fact in facts if fact.relation_id and not fact.chunk_id and fact.id in hidden}
    relations, entities = index.ids(Relation), index.arrow(Entity, "frequency", "name").to_pydict()
    alone = [row for row, frequency in enumerate(entities["frequency"]) if not frequency] if of_graph else []
    later = [row for row in alone if (date := read_date(entities["name"][row])) and window.hides([date])]
    claims = {each for each in index.rows(Claim) if each.id in hidden or is_hidden(each.chunk_id, each.start, each.end)}
    claimed = sorted({id_ for each in claims for id_ in (each.subject_id, each.object_id) if id_})
    title_of = index.by_id(Document, "title")
    untitled = {id_ for id_, chunk in changed.items() if not title_of[chunk.document_id].strip()}
    parts: dict[type, Rows] = {record: partial(index.each, record) for record in TABLES.values()}
    parts |= {
        Document: lambda: _with(index, Document, clean),
        Chunk: lambda: _with(index, Chunk, changed.values()),
        Mention: lambda: _mentions(index, [rows[id_] for id_ in changed], is_hidden, claimed),
        Relation: lambda: _with(
            index, Relation, [_restated(index.each(Relation)[relations[id_]], hidden) for id_ in of_graph]
        ),
        Entity: lambda: _with(index, Entity, [replace(index.each(Entity)[row], frequency=1) for row in later]),
        Claim: lambda: [each for each in index.rows(Claim) if each not in claims],
        DatedFact: lambda: [fact for fact in facts if fact.id not in hidden],
        Link: lambda: [link for link in index.rows(Link) if not tells(link)],
        Name: lambda: [
            replace(name, chunk_ids=tuple(id_ for id_ in name.chunk_ids if id_ not in untitled))
            for name in index.rows(Name)
        ],
    }
    return parts


def _with(index: StoredIndex, record: type[Record], changed: Iterable[Record]) -> TableRows[Record]:
    """Return a table with some of its rows replaced by others of the same ids."""
    table, rows = index.arrow(record), sorted(changed, key=attrgetter("id"))
    which = is_in(table["id"], map(attrgetter("id"), rows))
    return TableRows(replaced(table, which, arrow_of(record, rows)), record)


def _mentions(
    index: StoredIndex, chunks: Sequence[int], is_hidden: Callable[..., bool], claimed: Sequence[str]
) -> TableRows[Mention]:
    """Return the mentions; in changed chunks without a model's descriptions, which may tell what is hidden."""
    table = index.arrow(Mention)
    rows = np.sort(mentions_of_chunks(index).of_each(np.array(chunks, np.int64))[1])
    here = taken(table, rows)
    places = zip(*here.select(["chunk_id", "start", "end"]).to_pydict().values(), strict=True)
    hides = np.zeros(len(table), np.bool_)
    hides[rows] = [is_hidden(*place) for place in places]
    told = np.zeros(len(table), np.bool_)
    told[rows] = compute.not_equal(here["description"], "").to_numpy()
    lost = [Mention("", "", id_, None, None, None, "chunk", "", "") for id_ in claimed]
    more = with_column(table.filter(told), "chunk_id", pa.repeat("", int(told.sum())))
    table = with_column(table, "chunk_id", compute.if_else(hides, "", table["chunk_id"]))
    table = with_column(table, "description", compute.if_else(told, "", table["description"]))
    return TableRows(pa.concat_tables([table, more, arrow_of(Mention, lost)]), Mention)


def _restated(relation: Relation, hidden: AbstractSet[str]) -> Relation:
    """Return a relation of a graph without its hidden statements."""
    kept = [each for each in relation.qualifiers if short_id("dated", relation.id, str(each.statement)) not in hidden]
    return replace(relation, qualifiers=tuple(kept), chunk_ids=relation.chunk_ids or (() if kept else ("",)))


def _blanked(document: Document, spans: _Spans) -> Document:
    """Return a document with blanks in the place of some characters, and without headings and links there."""
    text = list(document.text)
    for start, end in spans:
        text[start:end] = " " * (end - start)
    return replace(
        document,
        text="".join(text),
        places=tuple(each for each in document.places if each.kind != HEADING or not text[each.start].isspace()),
        hyperlinks=tuple(each for each in document.hyperlinks if not _overlap(spans, each.start, each.end)),
    )


def _overlap(spans: _Spans, start: int, end: int) -> bool:
    """Return whether characters are in one of some spans, which are sorted and apart."""
    place = bisect_left(spans, (end,)) - 1
    return place >= 0 and start < spans[place][1]
