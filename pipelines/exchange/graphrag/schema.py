"""The rows of Microsoft GraphRAG's tables, as it writes them since 3.0: fields in the order of its columns.

Every column may be null, as everything that pandas writes. Ids are texts; those of relationships' ends and of claims'
subjects are titles of entities.
"""

from collections.abc import Mapping
from dataclasses import dataclass

MAKER = "Microsoft GraphRAG"
"""What an imported index says that it was made by."""

Ids = tuple[str, ...] | None
Numbers = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document; `raw_data` is the row of the file that it came from, None where that was plain text."""

    id: str | None
    human_readable_id: int | None
    title: str | None
    text: str | None
    text_unit_ids: Ids
    creation_date: str | None
    raw_data: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class TextUnitRow:
    """A chunk; `id` is a hash of the text alone, so that one id may stand for chunks of two documents."""

    id: str | None
    human_readable_id: int | None
    text: str | None
    n_tokens: int | None
    document_id: str | None
    entity_ids: Ids
    relationship_ids: Ids
    covariate_ids: Ids


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity; one title may have several rows, of different types."""

    id: str | None
    human_readable_id: int | None
    title: str | None
    type: str | None
    description: str | None
    text_unit_ids: Ids
    frequency: int | None
    degree: int | None


@dataclass(frozen=True, slots=True)
class RelationshipRow:
    """A relationship, between titles; `weight` is the sum of the strengths that were stated."""

    id: str | None
    human_readable_id: int | None
    source: str | None
    target: str | None
    description: str | None
    weight: float | None
    combined_degree: int | None
    text_unit_ids: Ids


@dataclass(frozen=True, slots=True)
class CommunityRow:
    """A community by its number; level 0 is the coarsest, and the parent of a root is -1."""

    id: str | None
    human_readable_id: int | None
    community: int | None
    level: int | None
    parent: int | None
    children: Numbers
    title: str | None
    entity_ids: Ids
    relationship_ids: Ids
    text_unit_ids: Ids
    period: str | None
    size: int | None


@dataclass(frozen=True, slots=True)
class FindingRow:
    """One finding of a report."""

    explanation: str
    summary: str


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A report on the community of that number; `rank` is 0-10."""

    id: str | None
    human_readable_id: int | None
    community: int | None
    level: int | None
    parent: int | None
    children: Numbers
    title: str | None
    summary: str | None
    full_content: str | None
    rank: float | None
    rating_explanation: str | None
    findings: tuple[FindingRow, ...] | None
    full_content_json: str | None
    period: str | None
    size: int | None


@dataclass(frozen=True, slots=True)
class CovariateRow:
    """A claim; `subject_id` and `object_id` are titles, "NONE" where there is no object."""

    id: str | None
    human_readable_id: int | None
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


TABLES: dict[str, type] = {
    "documents": DocumentRow,
    "text_units": TextUnitRow,
    "entities": EntityRow,
    "relationships": RelationshipRow,
    "communities": CommunityRow,
    "community_reports": ReportRow,
    "covariates": CovariateRow,
}
"""GraphRAG's tables and the type of their rows; the last is there only where claims were extracted."""

OURS = {
    "documents": "documents",
    "text_units": "chunks",
    "entities": "entities",
    "relationships": "relations",
    "communities": "communities",
    "community_reports": "reports",
    "covariates": "claims",
}
"""Which table of an index each of them becomes."""


@dataclass(frozen=True, slots=True)
class Tables:
    """What stands in the tables, in their order."""

    documents: list[DocumentRow]
    text_units: list[TextUnitRow]
    entities: list[EntityRow]
    relationships: list[RelationshipRow]
    communities: list[CommunityRow]
    community_reports: list[ReportRow]
    covariates: list[CovariateRow]
