"""Index verification: checksums, ids, references, spans and row counts."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, get_args

from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.index import StoredIndex
from conspectus.storage.locators import HEADING
from conspectus.storage.manifest import MANIFEST, damaged_files
from conspectus.storage.publishing import version_name
from conspectus.storage.records import (
    Chunk,
    Claim,
    Community,
    DatedFact,
    Document,
    Entity,
    Link,
    LinkKind,
    Mention,
    Merge,
    Name,
    Origin,
    Relation,
    Report,
    Span,
    Synonym,
)
from conspectus.storage.tables import TABLES


@dataclass(frozen=True, slots=True)
class Problem:
    """A failed check and its location."""

    where: str
    what: str


def verify(index: StoredIndex) -> list[Problem]:
    """Return every problem found; empty for a valid index.

    An index is valid if each file has its checksum and there are no other files; the version's name matches its
    content; every table has its schema and the manifest's row count, is sorted by id and has no duplicate ids; every
    referenced id exists; every span is inside its document and has the recorded text; the places of a document are
    sorted and inside its text; each level of the hierarchy partitions the entities; vectors, lexical index and graph
    have one row for each row of their tables.
    """
    damaged = [
        Problem(name, "missing or not what its checksum says") for name in damaged_files(index.root, index.manifest)
    ]
    if version_name(index.manifest.settings, index.manifest.files) != index.manifest.version:
        damaged.append(Problem(MANIFEST, "settings or checksums are not those that the version is named after"))
    known = {*index.manifest.files, MANIFEST}
    strangers = [
        Problem(path.relative_to(index.folder).as_posix(), "not named in the manifest")
        for path in sorted(index.folder.rglob("*"))
        if path.is_file() and path.relative_to(index.folder).as_posix() not in known
    ]
    if damaged:
        return damaged + strangers  # damaged files are not parsed
    problems = strangers
    for check in (_tables, _references, _spans, _places, _communities, _arrays):
        try:
            problems += check(index)
        except IndexCorrupt as error:
            problems.append(Problem(check.__name__.strip("_"), str(error)))
    return problems


def _tables(index: StoredIndex) -> Iterator[Problem]:
    for name, record in TABLES.items():
        rows: list[Any] = index.rows(record)
        if len(rows) != index.manifest.rows.get(name, 0):
            yield Problem(name, f"{len(rows)} rows; the manifest counts {index.manifest.rows.get(name, 0)}")
        ids = [row.id for row in rows if hasattr(row, "id")]
        if any(first >= second for first, second in pairwise(ids)):
            yield Problem(name, "ids are not sorted, or one stands twice")


_REFERENCES: tuple[tuple[type, type, tuple[str, ...]], ...] = (
    (Chunk, Document, ("document_id",)),
    (Link, Chunk, ("source_id", "target_id")),
    (Mention, Chunk, ("chunk_id",)),
    (Mention, Entity, ("entity_id",)),
    (Mention, Relation, ("relation_id",)),
    (Relation, Entity, ("source_id", "target_id")),
    (Relation, Chunk, ("chunk_ids",)),
    (Name, Chunk, ("chunk_ids",)),
    (Claim, Entity, ("subject_id", "object_id")),
    (Claim, Chunk, ("chunk_id",)),
    (DatedFact, Relation, ("relation_id",)),
    (DatedFact, Claim, ("claim_id",)),
    (DatedFact, Chunk, ("chunk_id",)),
    (Synonym, Entity, ("source_id", "target_id")),
    (Community, Community, ("parent_id", "same_as")),
    (Community, Entity, ("entity_ids",)),
    (Community, Relation, ("relation_ids",)),
    (Community, Chunk, ("chunk_ids",)),
    (Report, Community, ("community_id",)),
)
"""The columns of each table with ids of rows of another one, or lists of them."""


def _references(index: StoredIndex) -> Iterator[Problem]:
    known = {record: _ids(index, record) for record in TABLES.values()}

    def missing(row: Any, target: type, ids: Iterable[str | None], more: Container[str] = ()) -> Iterator[Problem]:  # noqa: ANN401
        where = f"{StoredIndex.table_name(type(row))} {getattr(row, 'id', '') or row.source_id}"
        for id_ in ids:
            if id_ is not None and id_ not in known[target] and id_ not in more:
                yield Problem(where, f"names {target.__name__.lower()} {id_}, which does not exist")

    for record, target, columns in _REFERENCES:
        rows: list[Any] = index.rows(record)
        for row in rows:
            for value in (getattr(row, column) for column in columns):
                yield from missing(row, target, value if isinstance(value, tuple) else [value])
    for link in index.rows(Link):
        if link.kind not in get_args(LinkKind):
            yield Problem(f"links {link.id}", f"has the kind {link.kind!r}, which does not exist")
    for mention in index.rows(Mention):
        if (mention.entity_id is None) == (mention.relation_id is None):
            yield Problem(f"mentions {mention.id}", "must name one entity or one relation")
    merged = {record.alias_id for record in index.rows(Merge) if not record.undone}
    for merge in index.rows(Merge):
        if merge.undone:  # each end is an entity, or was merged into another
            yield from missing(merge, Entity, [merge.entity_id, merge.alias_id], merged)
            continue
        yield from missing(merge, Entity, [merge.entity_id])
        if merge.alias_id in known[Entity]:
            yield Problem(f"merges {merge.id}", "its alias is an entity of its own, and the merge was not undone")
    for origin in index.rows(Origin):
        if origin.table not in TABLES:
            yield Problem(f"origins {origin.id}", f"names table {origin.table!r}, which does not exist")
        elif origin.item_id and origin.item_id not in known[TABLES[origin.table]]:
            yield Problem(f"origins {origin.id}", f"names {origin.item_id} of {origin.table}, which does not exist")
    for report in index.rows(Report):
        for span in (span for finding in report.findings for span in finding.citations):
            yield from missing(report, Document, [span.document_id])
            yield from missing(report, Chunk, [span.chunk_id])


def _spans(index: StoredIndex) -> Iterator[Problem]:
    text_of = {row.id: row.text for row in index.rows(Document)}
    chunk_of = {row.id: row for row in index.rows(Chunk)}
    for chunk in chunk_of.values():
        if text_of.get(chunk.document_id, "")[chunk.start : chunk.end] != chunk.text:
            yield Problem(f"chunks {chunk.id}", "its text is not what stands at its span")
    for mention in index.rows(Mention):
        within = chunk_of.get(mention.chunk_id)
        if within is None or mention.start is None or mention.end is None:
            continue
        stands = text_of.get(within.document_id, "")[mention.start : mention.end]
        if stands != mention.surface or not within.start <= mention.start < mention.end <= within.end:
            yield Problem(f"mentions {mention.id}", "its surface is not what stands at its span")
    for fact in index.rows(DatedFact):
        within = chunk_of.get(fact.chunk_id or "")
        if within and fact.start is not None and not within.start <= fact.start < (fact.end or 0) <= within.end:
            yield Problem(f"dated_facts {fact.id}", "its date does not stand in the chunk")
    for link in index.rows(Link):
        within = chunk_of.get(link.source_id)
        if within is None or link.start is None or link.end is None:
            continue
        if not within.start <= link.start < min(link.end, within.end):
            yield Problem(f"links {link.id}", "its words do not stand in the chunk that it leads from")
    for report in index.rows(Report):
        for span in (span for finding in report.findings for span in finding.citations):
            if not _within(span, text_of):
                yield Problem(f"reports {report.id}", "a citation lies outside its document")


def _places(index: StoredIndex) -> Iterator[Problem]:
    for document in index.rows(Document):
        starts = [place.start for place in document.places]
        if any(first > second for first, second in pairwise(starts)):
            yield Problem(f"documents {document.id}", "its places are not sorted")
        if any(not 0 <= start < document.n_chars for start in starts):
            yield Problem(f"documents {document.id}", "a place lies outside its text")
        if any(place.level < 0 or (place.level > 0) != (place.kind == HEADING) for place in document.places):
            yield Problem(f"documents {document.id}", "a place has a level that its kind cannot have")
        if any(not 0 <= link.start <= link.end <= document.n_chars for link in document.hyperlinks):
            yield Problem(f"documents {document.id}", "a link lies outside its text")
        if any(not 0 <= anchor.start < document.n_chars for anchor in document.anchors):
            yield Problem(f"documents {document.id}", "an anchor lies outside its text")


def _within(span: Span, text_of: dict[str, str]) -> bool:
    return 0 <= span.start < span.end <= len(text_of.get(span.document_id, ""))


def _communities(index: StoredIndex) -> Iterator[Problem]:
    everyone = sorted(_ids(index, Entity))
    levels: dict[int, list[str]] = {}
    for community in index.rows(Community):
        levels.setdefault(community.level, []).extend(community.entity_ids)
    for level, members in sorted(levels.items()):
        if sorted(members) != everyone:
            yield Problem(f"communities of level {level}", "do not hold every entity exactly once")


def _arrays(index: StoredIndex) -> Iterator[Problem]:
    for name in ("chunks", "entities", "relations", "reports", "predicates"):
        index.vectors(name)  # IndexCorrupt if they belong to other rows
    predicates = len(index.arrow(Relation, "predicate").column("predicate").unique())
    if index.manifest.rows.get("predicates") != predicates:
        yield Problem("vectors/predicates", f"for {index.manifest.rows.get('predicates')}; there are {predicates}")
    index.lexical().check_rows()  # IndexCorrupt if it belongs to other rows
    nodes = index.manifest.rows["chunks"] + index.manifest.rows["entities"]
    if index.graph().n_nodes != nodes:
        yield Problem("graph", f"{index.graph().n_nodes} nodes; chunks and entities are {nodes}")


def _ids(index: StoredIndex, record: type) -> set[str]:
    rows: list[Any] = index.rows(record)
    return {row.id for row in rows if hasattr(row, "id")}
