"""Build an index from the output of Microsoft GraphRAG 1, 2 or 3: its documents, graph, communities and reports.

No language model is used. Vectors, synonyms and the graph for PageRank are made here, so every method works.
"""

import json
import math
import typing
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
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
from conspectus.pipelines.exchange.graphrag.schema import MAKER, TABLES, GraphRagFinding, GraphRagRow, Tables
from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.runner import Progress, Ready, Runner, no_progress
from conspectus.pipelines.steps.communities import Division
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.pipelines.steps.reports.prompt import CitedRecord
from conspectus.storage.errors import InputError, UsageError
from conspectus.storage.hashing import digest, file_digest
from conspectus.storage.manifest import Manifest
from conspectus.storage.records import Chunk, Community, Document, Failure, Span
from conspectus.storage.settings import ExtractionSettings, Settings
from conspectus.storage.spans import span_in
from pydantic import ConfigDict, TypeAdapter

if TYPE_CHECKING:
    import pyarrow as pa


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


_OPTIONAL = "covariates"
_OUTPUT_FOLDERS = ("", "output", "output/artifacts")

_EARLIER_NAMES = {
    ("documents", "raw_data"): "metadata",
    ("text_units", "document_id"): "document_ids",
}
"""Column names of version 2."""

_REQUIRED_COLUMNS = {
    "documents": ("id",),
    "text_units": ("id", "text", "document_id"),
    "entities": ("id", "title"),
    "relationships": ("id", "source", "target"),
    "communities": ("community", "level"),
    "community_reports": ("community", "title"),
    "covariates": ("subject_id", "text_unit_id"),
}
_REQUIRED_CELLS = {
    **_REQUIRED_COLUMNS,
    "text_units": ("id", "text"),
    "community_reports": ("community",),
    _OPTIONAL: (),
}
"""A row with an empty cell in one of these columns becomes a failure."""

_LONGEST_DETAIL = 200
_LAX = ConfigDict(coerce_numbers_to_str=True, allow_inf_nan=False)
_FINDINGS, _OBJECT = tuple[GraphRagFinding, ...] | None, Mapping[str, object] | None
_KINDS: Mapping[object, str] = {
    str | None: "a text",
    int | None: "a whole number",
    float | None: "a number",
    tuple[str, ...] | None: "a list of texts",
    tuple[int, ...] | None: "a list of whole numbers",
    _FINDINGS: "a list of findings",
    _OBJECT: "an object",
}
"""The types of columns, in words."""


@dataclass(frozen=True, slots=True)
class GraphragOutput:
    """The tables of a folder in the form of GraphRAG 3, what of them is not imported, and a hash of the files."""

    tables: Tables
    failures: list[Failure]
    notes: tuple[str, ...]
    digest: str


def read_graphrag(folder: Path) -> GraphragOutput:
    """Read the tables of a GraphRAG output folder, or of the project folder that contains it.

    A cell of the wrong type is None and listed as a failure; so is a row without an id.

    Raises:
        InputError: A required table or column is missing, cannot be read, or has another type throughout.
    """
    paths = _files(folder)
    failures: list[Failure] = []
    unused: list[str] = []
    rows: dict[str, list[Any]] = {name: [] for name in TABLES}
    for name in [name for name in TABLES if name in paths]:
        columns, other_names = _columns(name, paths[name])
        unused += [f"{name}.{other}" for other in other_names]
        rows[name] = list(_rows(name, columns, paths[name], failures))
    notes = (f"columns that are not imported: {', '.join(unused)}",) if unused else ()
    contents = digest(*(f"{name} {file_digest(path)}" for name, path in sorted(paths.items())))
    return GraphragOutput(Tables(**rows), failures, notes, contents)


def _files(folder: Path) -> dict[str, Path]:
    """Return the path of each table."""
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; name the output folder of a GraphRAG project")
    for output in (folder / name for name in _OUTPUT_FOLDERS):
        paths = {name: output / f"{name}.parquet" for name in TABLES}
        if not paths["entities"].is_file():
            continue
        missing = [path.name for name, path in paths.items() if name != _OPTIONAL and not path.is_file()]
        if missing:
            raise InputError(f"{output} lacks {', '.join(missing)}, which GraphRAG writes next to entities.parquet")
        return {name: path for name, path in paths.items() if path.is_file()}
    raise InputError(
        f"neither {folder} nor its folder output contains entities.parquet: "
        "name the output folder of a GraphRAG project"
    )


def _columns(name: str, path: Path) -> "tuple[Mapping[str, pa.ChunkedArray], list[str]]":
    """Return the columns of a table by their version 3 names, and the names of unused columns."""
    table = _arrow(path)
    columns: dict[str, pa.ChunkedArray] = {}
    used: set[str] = set()
    for wanted in fields(TABLES[name]):
        for column in (wanted.name, _EARLIER_NAMES.get((name, wanted.name), wanted.name)):
            if column in table.column_names and wanted.name not in columns:
                columns[wanted.name] = table.column(table.column_names.index(column))
                used.add(column)
    for required in _REQUIRED_COLUMNS[name]:
        if required not in columns:
            raise InputError(f"{path} has no column {required}; it has {', '.join(map(clean, table.column_names))}")
    return columns, [clean(column)[:_LONGEST_DETAIL] for column in table.column_names if column not in used]


def _arrow(path: Path) -> "pa.Table":
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path).read()
        table.validate(full=True)
        return table
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        raise InputError(f"{path} cannot be read: {(str(error) or type(error).__name__).splitlines()[0]}") from error


def _rows(name: str, columns: "Mapping[str, pa.ChunkedArray]", path: Path, failures: list[Failure]) -> Iterator[Any]:
    """Yield the rows of a table; a row without a required cell becomes a failure."""
    record = TABLES[name]
    n_rows = len(next(iter(columns.values())))
    names = [field.name for field in fields(record)]
    values = [
        _cells(name, column, columns[column], path, failures) if column in columns else [None] * n_rows
        for column in names
    ]
    for number, cells in enumerate(zip(*values, strict=True)):
        row = dict(zip(names, cells, strict=True))
        lacking = [column for column in _REQUIRED_CELLS[name] if row[column] is None or row[column] == ""]
        if lacking:
            failures.append(Failure(IMPORT, f"{name}#{number}", f"a row without {lacking[0]}"))
        elif isinstance(row.get("document_id"), tuple):  # before version 3, a text unit had a list of documents
            for document_id in dict.fromkeys(row["document_id"]) or (None,):
                yield record(**{**row, "document_id": document_id})
        else:
            yield record(**row)


def _cells(name: str, column: str, values: "pa.ChunkedArray", path: Path, failures: list[Failure]) -> list[Any]:
    """Return the cells of a column as version 3 has them, None for a cell of the wrong type."""
    hint = typing.get_type_hints(TABLES[name])[column]
    kind = _KINDS[hint]
    of_list, of_one = TypeAdapter(tuple[str, ...], config=_LAX), TypeAdapter[Any](hint, config=_LAX)
    cells: list[Any] = []
    wrong: list[Failure] = []
    n_values = 0
    for number, value in enumerate(_python_values(values, path, column)):
        cell = None
        if not _is_null(value):
            n_values += 1
            several = column == "document_id" and isinstance(value, list)
            try:
                cell = (of_list if several else of_one).validate_python(_plain(value, hint))
            except (TypeError, ValueError, RecursionError):
                detail = clean(str(value))[:_LONGEST_DETAIL]
                wrong.append(Failure(IMPORT, f"{name}#{number}", f"{column} is not {kind}", detail))
        cells.append(cell)
    if wrong and len(wrong) == n_values:
        raise InputError(f"{path}: the column {column} is {clean(str(values.type))[:_LONGEST_DETAIL]}, not {kind}")
    failures += wrong
    return cells


def _plain(value: Any, hint: object) -> Any:  # noqa: ANN401  (a cell of any column)
    """Return a cell without what pydantic would take for something else; raises TypeError or ValueError."""
    if isinstance(value, bool):
        raise TypeError(value)
    if hint == _OBJECT:  # a struct, the pairs of an Arrow map, or JSON
        content = dict(json.loads(value) if isinstance(value, str) else value)
        return json.loads(json.dumps(content, ensure_ascii=False, default=str))
    if isinstance(value, list):
        value = [each for each in value if not _is_null(each)]
        return list(map(_finding, value)) if hint == _FINDINGS else value
    return value


def _finding(value: Any) -> Any:  # noqa: ANN401  (an object, or only its explanation)
    if isinstance(value, dict):
        return {key: value.get(key) or "" for key in ("explanation", "summary")}
    return {"explanation": value, "summary": ""}


def _python_values(values: "pa.ChunkedArray", path: Path, column: str) -> list[Any]:
    try:
        return list(values.to_pylist())
    except (pa.ArrowException, ValueError, OverflowError, RecursionError, TypeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"{path}: the column {column} cannot be read: {reason}") from error


def _is_null(value: object) -> bool:
    """Return whether a cell is empty; pandas writes NaN for a missing number."""
    return value is None or (isinstance(value, float) and math.isnan(value))
