"""Tables of GraphRAG for tests: a small sound set, and any set there may be."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from conspectus.pipelines.backends.base import Extraction
from conspectus.pipelines.exchange.graphrag.documents import ImportedTexts, imported_texts
from conspectus.pipelines.exchange.graphrag.exporter import graphrag_rows
from conspectus.pipelines.exchange.graphrag.importer import GraphragBackend, read_graphrag
from conspectus.pipelines.exchange.graphrag.schema import (
    TABLES,
    GraphRagCommunity,
    GraphRagCovariate,
    GraphRagDocument,
    GraphRagEntity,
    GraphRagFinding,
    GraphRagRelationship,
    GraphRagReport,
    GraphRagTextUnit,
    Tables,
    arrow_table,
)
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Failure, Mention, Relation, Report
from hypothesis import strategies as st

from tests.pipelines.exchange.made import index_with

EXCERPT = Path(__file__).parent / "data" / "graphrag"
"""Tables in the schema of GraphRAG 3, from a text of our own."""
FIRST = "Ada Mirren filmed Grey Heron at Tarn. The crew of nine stayed in Port Alma."
SECOND = "Port Alma lies by the sea. 北京大学 sent Ada Mirren a prize."


def small() -> Tables:
    """Return tables of one document with two chunks, four entities in two levels of communities, and a report."""
    return Tables(
        [GraphRagDocument("d", 0, "Films", f"{FIRST}\n\n{SECOND}", ("u1", "u2"), "2026-01-02", {"year": 1970})],
        [
            GraphRagTextUnit("u1", 0, f"title: Films.\n{FIRST}", 20, "d", ("e1", "e2", "e3"), ("r1",), ("c1",)),
            GraphRagTextUnit("u2", 1, f"title: Films.\n{SECOND}", 20, "d", ("e1", "e3", "e4"), ("r2", "r3"), ()),
        ],
        [
            GraphRagEntity("e1", 0, "ADA MIRREN", "PERSON", "A director.", ("u1", "u2"), 2, 2),
            GraphRagEntity("e2", 1, "GREY HERON", "FILM", "A film.", ("u1",), 1, 1),
            GraphRagEntity("e3", 2, "PORT ALMA", "GEO", "A harbour.", ("u1", "u2"), 2, 0),
            GraphRagEntity("e4", 3, "北京大学", "ORGANIZATION", "A university.", ("u2",), 1, 1),
        ],
        [
            GraphRagRelationship("r1", 0, "ADA MIRREN", "GREY HERON", "Ada Mirren filmed it.", 16.0, 3, ("u1", "u1")),
            GraphRagRelationship("r2", 1, "北京大学", "ADA MIRREN", "It sent her a prize.", 7.0, 3, ("u2",)),
            GraphRagRelationship("r3", 2, "ADA MIRREN", "北京大学", "She was given a prize.", 8.0, 3, ("u2",)),
        ],
        [
            GraphRagCommunity(
                "m0", 0, 0, 0, -1, (1, 2), "Community 0", ("e1", "e2", "e4"), ("r1",), ("u1",), "2026-01", 3
            ),
            GraphRagCommunity("m1", 1, 1, 1, 0, (), "Community 1", ("e1", "e2"), ("r1",), ("u1",), "2026-01", 2),
        ],
        [
            GraphRagReport(
                "p0", 0, 0, 0, -1, (1, 2), "Ada Mirren", "She makes films [Data: Entities (0)].",
                "# Ada Mirren\n\nShe makes films [Data: Entities (0)].", 7.5, "Well known.",
                (GraphRagFinding("She filmed Grey Heron [Data: Entities (1); Relationships (0, +more)].", "A film"),),
                "{}", "2026-01-02", 3,
            )
        ],
        [
            GraphRagCovariate("c1", 0, "claim", "FILMING", "She filmed.", "ADA MIRREN", "NONE", "TRUE", "1970", "NONE",
                         "filmed Grey Heron", "u1")
        ],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class ImportedSummaries:
    """What follows extraction in an import."""

    entities: list[Entity]
    relations: list[Relation]
    communities: list[Community]
    reports: list[Report]
    failures: list[Failure]
    notes: tuple[str, ...]


def imported(tables: Tables) -> tuple[ImportedTexts, Extraction, ImportedSummaries]:
    """Return what an import makes of tables, without vectors and without a disk."""
    texts = imported_texts(tables)
    backend = GraphragBackend(tables, texts)
    extraction = backend.extract(texts.documents, texts.chunks)
    described = backend.describe(extraction).result()
    communities = backend.divide(extraction).communities
    made = backend.report(extraction, communities)
    told = ImportedSummaries(
        described.entities, described.relations, communities, made.reports, made.failures, made.notes
    )
    return texts, extraction, told


def imported_index(tables: Tables) -> StoredIndex:
    """Return the index that an import makes of tables, in memory and without vectors."""
    texts, found, told = imported(tables)
    return index_with(
        {
            Document: texts.documents,
            Chunk: texts.chunks,
            Entity: told.entities,
            Mention: found.knowledge.mentions,
            Relation: told.relations,
            Claim: found.claims,
            Community: told.communities,
            Report: told.reports,
        }
    )


def exported(index: StoredIndex, folder: Path) -> Tables:
    """Return the tables that an index is exported as, written to files and read again."""
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in graphrag_rows(index).items():
        pq.write_table(arrow_table(name, rows), folder / f"{name}.parquet")
    return read_graphrag(folder).tables


def write(tables: Tables, folder: Path) -> Path:
    """Write tables as GraphRAG does."""
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        rows = [asdict(row) for row in getattr(tables, name)]
        pq.write_table(arrow_table(name, rows), folder / f"{name}.parquet")
    return folder


def with_rows(tables: Tables, name: str, rows: Sequence[Any]) -> Tables:
    """Return tables of which one has other rows."""
    return replace(tables, **{name: list(rows)})


_TEXTS = st.sampled_from(["", "A", "a", "B", "NONE", "A B", "ﬁlm", "北京", FIRST, SECOND, "key: v\nA", " x\ny "])
_IDS = st.sampled_from(["1", "2", "3", "4"])
_CELLS: dict[str, st.SearchStrategy[Any]] = {
    "str | None": st.none() | _TEXTS,
    "int | None": st.none() | st.integers(-2, 4),
    "float | None": st.none() | st.floats(-3, 12, allow_nan=False),
    "Ids": st.none() | st.lists(_IDS, max_size=4).map(tuple),
    "Numbers": st.none() | st.lists(st.integers(-1, 4), max_size=3).map(tuple),
    "Mapping[str, object] | None": st.none() | st.dictionaries(_IDS, _TEXTS | st.integers(0, 3), max_size=2),
    "tuple[GraphRagFinding, ...] | None": st.none()
    | st.lists(
        st.builds(GraphRagFinding, _TEXTS | st.just("x [Data: Entities (0, 9); Sources (1)]"), _TEXTS), max_size=2
    ).map(tuple),
}


def _cell(record: type, name: str, hint: str) -> st.SearchStrategy[Any]:
    needed = {"id": _IDS, "community": st.integers(0, 4), "level": st.integers(0, 3)}
    if name in needed and (name == "id" or record in (GraphRagCommunity, GraphRagReport)):
        return needed[name]
    if name in ("document_id", "text_unit_id"):
        return st.none() | _IDS
    if name in ("title", "source", "target", "subject_id") and record is not GraphRagDocument:
        return _TEXTS.filter(bool)
    return _CELLS[hint]


def any_tables() -> st.SearchStrategy[Tables]:
    """Return tables of any rows that can be read, however little they fit together."""
    lists = {}
    for name, record in TABLES.items():
        hints = {field.name: str(field.type) for field in fields(record)}
        row = st.builds(record, **{key: _cell(record, key, _alias(hint)) for key, hint in hints.items()})
        lists[name] = st.lists(row, max_size=4)
    return st.builds(Tables, **lists)


def _alias(hint: str) -> str:
    plain = hint.replace("collections.abc.", "").replace("typing.", "")
    plain = plain.replace("conspectus.pipelines.exchange.graphrag.schema.", "")
    return {"tuple[str, ...] | None": "Ids", "tuple[int, ...] | None": "Numbers"}.get(plain, plain)
