"""Rows of Microsoft GraphRAG's tables, as GraphRAG 3 writes them: the fields are in column order.

pandas writes these tables, so any cell may be null. Ids are text. The ends of relationships and the subjects and
objects of claims are titles of entities, not ids.
"""

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

MAKER = "Microsoft GraphRAG"
"""The program name that an imported index records as its maker."""
ROOT = -1
"""The parent of a root community."""

Ids = tuple[str, ...] | None
Numbers = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class GraphRagRow:
    """What all rows have."""

    id: str | None
    human_readable_id: int | None


@dataclass(frozen=True, slots=True)
class GraphRagDocument(GraphRagRow):
    """A document. `raw_data` is the CSV or JSON row that the document was read from, None for plain text."""

    title: str | None
    text: str | None
    text_unit_ids: Ids
    creation_date: str | None
    raw_data: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class GraphRagTextUnit(GraphRagRow):
    """A chunk. `id` is a hash of the text alone, so two documents may share an id."""

    text: str | None
    n_tokens: int | None
    document_id: str | None
    entity_ids: Ids
    relationship_ids: Ids
    covariate_ids: Ids


@dataclass(frozen=True, slots=True)
class GraphRagEntity(GraphRagRow):
    """An entity. Several rows may have the same title with different types."""

    title: str | None
    type: str | None
    description: str | None
    text_unit_ids: Ids
    frequency: int | None
    degree: int | None


@dataclass(frozen=True, slots=True)
class GraphRagRelationship(GraphRagRow):
    """A relationship between two titles. `weight` is the sum of the strengths that a model stated."""

    source: str | None
    target: str | None
    description: str | None
    weight: float | None
    combined_degree: int | None
    text_unit_ids: Ids


@dataclass(frozen=True, slots=True)
class _RowOfCommunity(GraphRagRow):
    community: int | None
    level: int | None
    parent: int | None
    children: Numbers
    title: str | None


@dataclass(frozen=True, slots=True)
class GraphRagCommunity(_RowOfCommunity):
    """A community, identified by its number. Level 0 is the coarsest; the parent of a root is -1."""

    entity_ids: Ids
    relationship_ids: Ids
    text_unit_ids: Ids
    period: str | None
    size: int | None


@dataclass(frozen=True, slots=True)
class GraphRagFinding:
    """A finding of a report."""

    explanation: str
    summary: str


@dataclass(frozen=True, slots=True)
class GraphRagReport(_RowOfCommunity):
    """A report on a community. `rank` is 0 to 10."""

    summary: str | None
    full_content: str | None
    rank: float | None
    rating_explanation: str | None
    findings: tuple[GraphRagFinding, ...] | None
    full_content_json: str | None
    period: str | None
    size: int | None


@dataclass(frozen=True, slots=True)
class GraphRagCovariate(GraphRagRow):
    """A claim. `subject_id` and `object_id` are titles; a missing object is "NONE"."""

    covariate_type: str | None
    type: str | None
    description: str | None
    subject_id: str | None
    object_id: str | None
    status: str | None
    start_date: str | None
    end_date: str | None
    source_text: str | None
    text_unit_id: str | None


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of all tables, in file order."""

    documents: list[GraphRagDocument]
    text_units: list[GraphRagTextUnit]
    entities: list[GraphRagEntity]
    relationships: list[GraphRagRelationship]
    communities: list[GraphRagCommunity]
    community_reports: list[GraphRagReport]
    covariates: list[GraphRagCovariate]


TABLES: dict[str, type] = {table.name: typing.get_args(table.type)[0] for table in fields(Tables)}
"""GraphRAG's tables and their row types. GraphRAG writes covariates only if it extracted claims."""


def arrow_table(name: str, rows: Sequence[Mapping[str, Any]]) -> "pa.Table":
    """Return the rows of a table as Arrow, with the columns and types that GraphRAG 3 writes and reads."""
    import pyarrow as pa

    finding = pa.struct([("explanation", pa.string()), ("summary", pa.string())])
    types: dict[object, pa.DataType] = {
        str | None: pa.string(),
        int | None: pa.int64(),
        float | None: pa.float64(),
        tuple[str, ...] | None: pa.list_(pa.field("element", pa.string())),
        tuple[int, ...] | None: pa.list_(pa.field("element", pa.int64())),
        tuple[GraphRagFinding, ...] | None: pa.list_(pa.field("element", finding)),
    }
    hints = typing.get_type_hints(TABLES[name])
    columns = [column.name for column in fields(TABLES[name])]
    # The type of raw_data is not declared: it becomes a struct of all its keys.
    return pa.table({column: pa.array([row[column] for row in rows], types.get(hints[column])) for column in columns})
