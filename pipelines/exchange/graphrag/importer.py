"""Build an index from the tables of Microsoft GraphRAG: its documents, graph, communities and reports.

No language model is used. Vectors, synonyms and the graph for PageRank are made here, so every method works.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from conspectus.pipelines.backends.base import Backend, Descriptions, Extraction, Reports
from conspectus.pipelines.backends.llm import name_phrases
from conspectus.pipelines.build_index import build_from
from conspectus.pipelines.build_plan import BuildSource
from conspectus.pipelines.build_report import DANGLING, IMPORT, BuildReport, summary
from conspectus.pipelines.exchange.graphrag.communities import (
    ImportedCommunities,
    Reference,
    imported_communities,
    imported_reports,
)
from conspectus.pipelines.exchange.graphrag.documents import ImportedTexts, imported_texts
from conspectus.pipelines.exchange.graphrag.graph import ImportedRows, imported_rows, mentions_of
from conspectus.pipelines.exchange.graphrag.read import read_graphrag
from conspectus.pipelines.exchange.graphrag.schema import MAKER, GraphRagRow, Tables
from conspectus.pipelines.runner import Progress, Ready, Runner, no_progress
from conspectus.pipelines.steps.communities import Division
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.pipelines.steps.reports.prompt import CitedRecord
from conspectus.storage.errors import UsageError
from conspectus.storage.manifest import Manifest
from conspectus.storage.records import Chunk, Community, Document, Failure, Span
from conspectus.storage.settings import ExtractionSettings, Settings
from conspectus.storage.spans import span_in


@dataclass(frozen=True, slots=True)
class GraphragImport:
    """The report of a build, the rows read from each table, and the failures of the import by reason.

    `dangling_ends` are the ends of relationships that no row of entities describes.
    """

    build: BuildReport
    read: Mapping[str, int]
    dangling_ends: int
    listed: Mapping[str, int]


def import_graphrag(
    folder: Path, index: Path, settings: Settings, run: Runner | None = None, progress: Progress = no_progress
) -> GraphragImport:
    """Make the index at `index` equal to the output of GraphRAG, in its output folder or its project folder.

    If the tables have not changed since the last import, the index stays as it is. The sections names, embedding,
    vectors, bm25, synonyms and walk_graph of the settings apply.

    Raises:
        InputError: The tables cannot be read.
        UsageError: The index was built from documents, or the settings name further graphs.
    """
    if settings.kg.files:
        raise UsageError("kg.files: an import takes no further graph; leave it empty")
    output = read_graphrag(folder)
    texts = imported_texts(output.tables)
    failures = [*output.failures, *texts.failures]

    def documents(_current: Manifest | None) -> tuple[list[Document], list[Failure]]:
        return texts.documents, list(failures)

    without_model = settings.model_copy(update={"extraction": ExtractionSettings(method="nlp")})
    backend = GraphragBackend(output.tables, texts)
    source = BuildSource(documents, MAKER, output.digest, texts.chunks, backend, output.notes)
    build = build_from(source, index, without_model, run, progress)
    n_read = {table.name: len(getattr(output.tables, table.name)) for table in fields(output.tables)}
    imported = [failure for failure in build.failures if failure.stage == IMPORT]
    reasons = Counter(failure.reason for failure in imported)
    n_ends = sum(failure.reason == DANGLING and failure.item_id.startswith("relationship ") for failure in imported)
    return GraphragImport(build, n_read, n_ends, dict(sorted(reasons.items())))


def imported_summary(result: GraphragImport) -> dict[str, Any]:
    """Return the result of an import as plain values, for JSON."""
    return {**summary(result.build), **{name: value for name, value in asdict(result).items() if name != "build"}}


@dataclass
class GraphragBackend(Backend):
    """The backend of an import: it reads entities, relations, claims, communities and reports from the tables."""

    tables: Tables
    texts: ImportedTexts
    describes: bool = True
    _chunks: dict[str, Chunk] = field(default_factory=dict)
    _hierarchy: ImportedCommunities = field(default_factory=lambda: ImportedCommunities([], {}, []))
    _rows: ImportedRows = field(default_factory=lambda: ImportedRows([], [], [], {}, [], [], [], []))

    def extract(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Extraction:  # noqa: ARG002  (the backend's)
        """Return the entities, relations and claims of the tables, and their mentions in the chunks."""
        self._chunks = {chunk.id: chunk for chunk in chunks}
        rows = self._rows = imported_rows(self.tables, self.texts.chunks_of_unit, self._chunks)
        mentions = mentions_of(rows.drafts, rows.relations, chunks)
        knowledge = Knowledge(rows.entities, rows.relations, mentions)
        return Extraction(knowledge, rows.claims, name_phrases(chunks, mentions), rows.failures, self._notes())

    def describe(self, extraction: Extraction) -> Ready[Descriptions]:
        """Return the descriptions of the tables."""
        return Ready(Descriptions(extraction.knowledge.entities, extraction.knowledge.relations, []))

    def divide(self, extraction: Extraction) -> Division:
        """Return the hierarchy of the tables."""
        entity_of: dict[str, str] = {}
        for row, entity_id in zip(self.tables.entities, self._rows.entity_ids, strict=True):
            entity_of.setdefault(row.id or "", entity_id)
        self._hierarchy = imported_communities(self.tables.communities, entity_of, extraction.knowledge)
        return Division(self._hierarchy.communities)

    def report(self, extraction: Extraction, communities: Sequence[Community]) -> Reports:  # noqa: ARG002  (the backend's)
        """Return the reports of the tables."""
        chunk_of = self._chunks
        places = self._places(extraction, chunk_of)
        reports, failures, n_unknown = imported_reports(
            self.tables.community_reports, self._hierarchy.of_number, places, chunk_of
        )
        notes = (f"{n_unknown} references of reports name rows that do not exist",) if n_unknown else ()
        return Reports(reports, [*self._hierarchy.failures, *failures], notes)

    def _notes(self) -> tuple[str, ...]:
        tables, rows = self.tables, self._rows
        n_described = len(set(rows.entity_ids))
        n_ends = sum(failure.reason == DANGLING for failure in rows.failures)
        losses = [
            (len(tables.entities) - n_described, "rows of entities have a name that another row has too"),
            (
                n_ends,
                "ends of relationships or claims are described by no row: "
                f"{len(rows.entities) - n_described} names become entities without a description",
            ),
            (
                len(tables.relationships) - len(rows.relations),
                "relationships join two entities that another row joins, in either direction: each pair becomes one",
            ),
            (len(tables.covariates) - len(rows.claims), "claims repeat another one or are about nothing"),
        ]
        return tuple(f"{count:,} {what}" for count, what in losses if count > 0)

    def _places(self, extraction: Extraction, chunk_of: Mapping[str, Chunk]) -> dict[Reference, CitedRecord]:
        """Return the places in the documents that the references of reports point to."""
        spans_of: defaultdict[str | None, list[Span]] = defaultdict(list)
        for mention in extraction.knowledge.mentions:
            span = span_in(chunk_of[mention.chunk_id], mention.start, mention.end)
            spans_of[mention.entity_id or mention.relation_id].append(span)
        for claim in extraction.claims:
            spans_of[claim.id].append(span_in(chunk_of[claim.chunk_id], claim.start, claim.end))
        for chunk in chunk_of.values():
            spans_of[chunk.id].append(span_in(chunk))
        tables, made = self.tables, self._rows
        ids_of_rows: list[tuple[str, Sequence[GraphRagRow], Sequence[str | None]]] = [
            ("entities", tables.entities, made.entity_ids),
            ("relationships", tables.relationships, made.relation_ids),
            ("claims", tables.covariates, made.claim_ids),
            ("sources", tables.text_units, self.texts.unit_chunks),
        ]
        places: dict[Reference, CitedRecord] = {}
        for kind, rows, ids in ids_of_rows:
            for row, id_ in zip(rows, ids, strict=True):
                if row.human_readable_id is not None and id_ in spans_of:
                    record = CitedRecord(tuple(spans_of[id_]), is_name=kind == "entities")
                    places.setdefault((kind, row.human_readable_id), record)
        return places
