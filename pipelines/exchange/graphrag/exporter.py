"""Write an index as the tables that Microsoft GraphRAG 3 loads and queries.

Ids are those of the index, and rows are numbered from 0. Content that GraphRAG has no column for is dropped;
docs/graphrag.md lists it. An index that was imported from GraphRAG is written in the same way.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.exchange.exports import ExportResult, columns
from conspectus.pipelines.exchange.graphrag.documents import CREATED
from conspectus.pipelines.exchange.graphrag.schema import ROOT, arrow_table
from conspectus.storage.hashing import entity_id
from conspectus.storage.index import DESCRIPTIONS, StoredIndex
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Mention, Relation, Report, Span
from conspectus.storage.text.normalise import entity_key

if TYPE_CHECKING:
    import pyarrow as pa

NO_DATE = "1970-01-01"
"""The period of a community: an index does not store when it was made."""
_VECTORS: Mapping[str, tuple[type, str]] = {
    "entity_description": (Entity, "entities"),
    "text_unit_text": (Chunk, "text_units"),
    "community_full_content": (Report, "community_reports"),
}
"""GraphRAG's names of its vectors, with our records that have them and GraphRAG's tables for these."""
_MOST_INSTANCES = 1000
"""Maximum number of text units that a relationship lists."""

Row = dict[str, Any]
"""A row of one of GraphRAG's tables, by column."""


def write_graphrag(index: StoredIndex, to: Path) -> ExportResult:
    """Write the index as GraphRAG's tables.

    covariates.parquet is written only if the index has claims. The vectors of entities, chunks and reports are written
    to embeddings.<name>.parquet as float64 of unit length; a vector of several windows is their mean. The folder must
    not exist.
    """
    import pyarrow.parquet as pq

    rows_of = graphrag_rows(index)
    tables = {name: arrow_table(name, rows) for name, rows in rows_of.items() if rows or name != "covariates"}
    for name, (record, table) in _VECTORS.items():
        tables[f"embeddings.{name}"] = _vectors(index, record, [row["id"] for row in rows_of[table]])
    to.mkdir()
    for name, table in tables.items():
        pq.write_table(table, to / f"{name}.parquet")
    files = tuple(to / f"{name}.parquet" for name in tables)
    return ExportResult(files, {name: len(table) for name, table in tables.items()}, _notes(index))


def graphrag_rows(index: StoredIndex) -> dict[str, list[Row]]:
    """Return the index as the rows of GraphRAG's tables, by the names of the tables.

    Communities that repeat one of the level above, and those of a single entity without a report, are left out, as
    GraphRAG leaves them out.
    """
    exporter = _Exporter(index)
    rows_of = {
        "documents": [exporter.document(document) for document in index.rows(Document)],
        "text_units": [exporter.text_unit(chunk) for chunk in exporter.chunks.values()],
        "entities": [exporter.entity(entity) for entity in index.rows(Entity)],
        "relationships": [exporter.relationship(relation) for relation in index.rows(Relation)],
        "communities": [exporter.community(community) for community in exporter.communities.values()],
        "community_reports": [exporter.report(report) for report in exporter.reports],
        "covariates": [exporter.covariate(claim) for claim in index.rows(Claim)],
    }
    return {
        name: [{**row, "human_readable_id": number} for number, row in enumerate(rows)]
        for name, rows in rows_of.items()
    }


class _Exporter:
    """Makes rows; the attributes are lookups that several tables need."""

    def __init__(self, index: StoredIndex) -> None:
        self._entities = {entity.id: entity for entity in index.rows(Entity)}
        self._titles = entity_titles(index.rows(Entity), index.rows(Mention))
        chunks = sorted(index.rows(Chunk), key=lambda chunk: (chunk.document_id, chunk.start, chunk.end))
        self.chunks = {chunk.id: chunk for chunk in chunks}
        self._chunk_numbers = {chunk.id: number for number, chunk in enumerate(chunks)}
        self._chunks_of: defaultdict[str | None, list[str]] = defaultdict(list)  # of documents and of entities
        self._in_chunk: dict[type, defaultdict[str, set[str]]] = {
            record: defaultdict(set) for record in (Entity, Relation, Claim)
        }
        for chunk in chunks:
            self._chunks_of[chunk.document_id].append(chunk.id)
        for mention in index.rows(Mention):
            if mention.entity_id is not None:
                self._chunks_of[mention.entity_id].append(mention.chunk_id)
                self._in_chunk[Entity][mention.chunk_id].add(mention.entity_id)
        for relation in index.rows(Relation):
            for chunk_id in relation.chunk_ids:
                self._in_chunk[Relation][chunk_id].add(relation.id)
        for claim in index.rows(Claim):
            self._in_chunk[Claim][claim.chunk_id].add(claim.id)
        with_report = {report.community_id for report in index.rows(Report)}
        communities = [
            community
            for community in sorted(index.rows(Community), key=lambda community: (community.level, community.id))
            if community.same_as is None and (community.size > 1 or community.id in with_report)
        ]
        self.communities = {community.id: community for community in communities}
        self._numbers = {community.id: number for number, community in enumerate(communities)}
        self.reports = sorted(index.rows(Report), key=lambda report: self._numbers[report.community_id])
        first = {community.id: community.same_as or community.id for community in index.rows(Community)}
        self._parents = {
            community.id: self._numbers.get(first.get(community.parent_id or "", ""), ROOT) for community in communities
        }
        self._children: defaultdict[int, list[int]] = defaultdict(list)
        for community_id, number in self._numbers.items():
            self._children[self._parents[community_id]].append(number)

    def document(self, document: Document) -> Row:
        return {
            **columns(document, "id", "title", "text"),
            "text_unit_ids": self._in_order(self._chunks_of[document.id]),
            "creation_date": document.metadata.get(CREATED, ""),
            "raw_data": {key: value for key, value in document.metadata.items() if key != CREATED} or None,
        }

    def text_unit(self, chunk: Chunk) -> Row:
        return {
            **columns(chunk, "id", "text", "n_tokens", "document_id"),
            "entity_ids": sorted(self._in_chunk[Entity][chunk.id]),
            "relationship_ids": sorted(self._in_chunk[Relation][chunk.id]),
            "covariate_ids": sorted(self._in_chunk[Claim][chunk.id]),
        }

    def entity(self, entity: Entity) -> Row:
        chunk_ids = self._in_order(self._chunks_of[entity.id])
        return {
            **columns(entity, "id", "type", "description", "degree"),
            "title": self._titles[entity.id],
            "text_unit_ids": chunk_ids,
            "frequency": len(chunk_ids),
        }

    def relationship(self, relation: Relation) -> Row:
        """Return a relation; its text units are repeated until their number equals its weight."""
        chunk_ids = self._in_order(relation.chunk_ids)
        n_stated = min(max(len(chunk_ids), int(relation.weight)), _MOST_INSTANCES)
        return {
            **columns(relation, "id", "description"),
            "source": self._titles[relation.source_id],
            "target": self._titles[relation.target_id],
            "weight": relation.weight * (1.0 if relation.strength is None else relation.strength),
            "combined_degree": self._entities[relation.source_id].degree + self._entities[relation.target_id].degree,
            "text_unit_ids": list(islice(cycle(chunk_ids), n_stated)),
        }

    def community(self, community: Community) -> Row:
        return {
            **self._position(community),
            "id": community.id,
            "title": f"Community {self._numbers[community.id]}",
            "entity_ids": community.entity_ids,
            "relationship_ids": community.relation_ids,
            "text_unit_ids": self._in_order(community.chunk_ids),
        }

    def report(self, report: Report) -> Row:
        findings = [
            {"summary": finding.summary, "explanation": f"{finding.explanation}{self._sources(finding.citations)}"}
            for finding in report.findings
        ]
        told = columns(report, "title", "summary", "rating_explanation") | {"findings": findings}
        return {
            **self._position(self.communities[report.community_id]),
            **told,
            "id": report.id,
            "full_content": report.full_text,
            "rank": report.rating,
            "full_content_json": json.dumps({**told, "rating": report.rating}, ensure_ascii=False, indent=4),
        }

    def covariate(self, claim: Claim) -> Row:
        chunk = self.chunks[claim.chunk_id]
        quoted = "" if claim.start is None else chunk.text[claim.start - chunk.start : (claim.end or 0) - chunk.start]
        return {
            **columns(claim, "id", "type", "description", "status"),
            "covariate_type": "claim",
            "subject_id": self._titles[claim.subject_id],
            "object_id": self._titles[claim.object_id] if claim.object_id else "NONE",
            "start_date": claim.start_date or "NONE",
            "end_date": claim.end_date or "NONE",
            "source_text": quoted,
            "text_unit_id": claim.chunk_id,
        }

    def _position(self, community: Community) -> Row:
        """Return the columns for the position of a community in the hierarchy; its report has them too."""
        number = self._numbers[community.id]
        return {
            "community": number,
            **columns(community, "level", "size"),
            "parent": self._parents[community.id],
            "children": self._children[number],
            "period": NO_DATE,
        }

    def _in_order(self, chunk_ids: Iterable[str]) -> list[str]:
        """Return distinct chunks in the order of their rows."""
        return sorted(set(chunk_ids), key=self._chunk_numbers.__getitem__)

    def _sources(self, citations: Iterable[Span]) -> str:
        """Return the reference to the text units that a finding cites, by their row numbers."""
        numbers = dict.fromkeys(self._chunk_numbers[span.chunk_id] for span in citations)
        return f" [Data: Sources ({', '.join(map(str, numbers))})]" if numbers else ""


def entity_titles(entities: Sequence[Entity], mentions: Sequence[Mention]) -> dict[str, str]:
    """Return a title for each entity id, such that the id can be derived from the title.

    The title is the name if the id is derived from it. Otherwise ("Spider Man" for an entity with the id of
    "Spider-Man", or a name that two entities share) it is a form in which a text mentions the entity, or the name with
    the id in parentheses.
    """
    titles = {entity.id: entity.name for entity in entities}
    unclear = {id_ for id_, name in titles.items() if entity_id(entity_key(name)) != id_}
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for mention in mentions:
        if mention.entity_id in unclear and entity_id(entity_key(mention.surface)) == mention.entity_id:
            forms[mention.entity_id].append(" ".join(mention.surface.split()))
    return titles | {id_: min(forms[id_], default=f"{titles[id_]} ({id_})") for id_ in unclear}


def _notes(index: StoredIndex) -> tuple[str, ...]:
    """Return notes about rows that GraphRAG has no column for, and about the vectors."""
    losses = [
        (sum(bool(relation.predicate) for relation in index.rows(Relation)), "relations have a predicate"),
        (sum(len(entity.types) > 1 for entity in index.rows(Entity)), "entities have more than one type"),
        (sum(bool(document.places) for document in index.rows(Document)), "documents have pages or headings"),
    ]
    model = index.manifest.models.get("embedding", "")
    lost = (f"{count:,} {what}, which GraphRAG has no column for" for count, what in losses if count)
    return (*lost, f"the vectors are of {model}; GraphRAG's own model makes others")


def _vectors(index: StoredIndex, record: type, ids: Sequence[str]) -> "pa.Table":
    """Return the vectors of a table with the ids of their rows, in the order of `ids`."""
    import numpy as np
    import pyarrow as pa

    table = StoredIndex.table_name(record)
    vectors = index.vectors(DESCRIPTIONS if record is Entity and index.has_vectors(DESCRIPTIONS) else table)
    with_vector = set(vectors.table_rows.tolist())
    row_of = {id_: row for row, id_ in enumerate(index.arrow(record, "id").column("id").to_pylist())}
    ids = [id_ for id_ in ids if row_of[id_] in with_vector]
    values = vectors.mean_vectors(np.array([row_of[id_] for id_ in ids], np.int64)).astype(np.float64)
    ends = pa.array(np.arange(len(ids) + 1, dtype=np.int32) * values.shape[1])
    lists = pa.ListArray.from_arrays(ends, pa.array(values.ravel()))
    return pa.table({"id": pa.array(ids, pa.string()), "embedding": lists})
