"""An index as the rows of GraphRAG's tables.

Every row is that of one `Origin`: what the row is called there, and which of its columns say something else than our
tables do. So an index that was imported gives back what it was made from.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from conspectus.pipelines.exchange.graphrag.documents import CREATED
from conspectus.pipelines.exchange.graphrag.ids import Contents, Held, cell_of
from conspectus.pipelines.exchange.graphrag.schema import (
    OURS,
    TABLES,
    CommunityRow,
    CovariateRow,
    DocumentRow,
    EntityRow,
    FindingRow,
    RelationshipRow,
    ReportRow,
    TextUnitRow,
)
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.records import Origin, Relation, Span

PREPENDED = "prepended"
"""The detail of a chunk that stood before its text and is not of the document."""
NO_DATE = "1970-01-01"
"""The period of communities that have none: an index has no clock."""
_MOST_INSTANCES = 1000

Row = Any
"""A row of one of the foreign tables."""


def rows_of(contents: Contents, origins: Sequence[Origin], titles: Mapping[str, str] | None = None) -> dict[str, Row]:
    """Return the row of each origin by its id.

    `titles` are what entities are called where not by their names. IndexCorrupt where the details of an origin are not
    what they should be.
    """
    deriving = _Deriving(Held(contents, origins), titles or {})
    return {each.id: _row(deriving, each) for each in origins}


def _row(deriving: "_Deriving", origin: Origin) -> Row:
    name = next((theirs for theirs, ours in OURS.items() if ours == origin.table), "")
    if not name:
        raise IndexCorrupt(f"origins {origin.id}: GraphRAG has no table for {origin.table}")
    record = TABLES[name]
    given = {
        field.name: cell_of(origin, record, field.name) for field in fields(record) if field.name in origin.details
    }
    if not origin.item_id:
        return record(**{**{field.name: None for field in fields(record)}, **given})
    try:
        row = replace(deriving.of[name](origin), **given)
    except KeyError as error:
        raise IndexCorrupt(f"origins {origin.id} names {error}, which does not exist") from error
    return _with_contents(row, origin, deriving, given) if isinstance(row, ReportRow) else row


class _Deriving:
    """Makes rows of what our tables say."""

    def __init__(self, held: Held, titles: Mapping[str, str]) -> None:
        self._held = held
        self._titles = {**{each.id: each.name for each in held.entities.values()}, **titles}
        self.of: Mapping[str, Callable[[Origin], Row]] = {
            "documents": self._document,
            "text_units": self._text_unit,
            "entities": self._entity,
            "relationships": self._relationship,
            "communities": self._community,
            "community_reports": self._report,
            "covariates": self._covariate,
        }

    def _document(self, origin: Origin) -> DocumentRow:
        each = self._held.documents[origin.item_id]
        data = {key: value for key, value in each.metadata.items() if key != CREATED}
        return DocumentRow(
            origin.source_id,
            origin.ordinal,
            each.title,
            each.text,
            self._held.units(chunk.id for chunk in self._held.chunks_of[each.id]),
            each.metadata.get(CREATED, ""),
            data or None,
        )

    def _text_unit(self, origin: Origin) -> TextUnitRow:
        each = self._held.chunks[origin.item_id]
        return TextUnitRow(
            origin.source_id,
            origin.ordinal,
            origin.details.get(PREPENDED, "") + each.text,
            each.n_tokens,
            each.document_id,
            self._held.ids("entities", self._held.in_chunk[each.id]),
            self._held.ids("relations", self._held.in_chunk[each.id]),
            self._held.ids("claims", self._held.in_chunk[each.id]),
        )

    def _entity(self, origin: Origin) -> EntityRow:
        each = self._held.entities[origin.item_id]
        units = self._held.units(self._held.chunks_naming[each.id])
        title = self._titles[each.id]
        return EntityRow(
            origin.source_id, origin.ordinal, title, each.type, each.description, units, len(units), each.degree
        )

    def _relationship(self, origin: Origin) -> RelationshipRow:
        each = self._held.relations[origin.item_id]
        chunk_ids = self._instances(each)
        source, target = self._held.entities[each.source_id], self._held.entities[each.target_id]
        return RelationshipRow(
            origin.source_id,
            origin.ordinal,
            self._titles[source.id],
            self._titles[target.id],
            each.description,
            each.weight * (1.0 if each.strength is None else each.strength),
            source.degree + target.degree,
            self._held.units(chunk_ids, once=False),
        )

    def _community(self, origin: Origin) -> CommunityRow:
        each = self._held.communities[origin.item_id]
        number = self._held.numbers[each.id]
        return CommunityRow(
            origin.source_id,
            origin.ordinal,
            number,
            each.level,
            self._held.parents[each.id],
            tuple(sorted(self._held.children[number])),
            f"Community {number}",
            self._held.ids("entities", each.entity_ids),
            tuple(sorted(self._held.ids("relations", each.relation_ids))),
            tuple(sorted(self._held.units(each.chunk_ids))),
            NO_DATE,
            each.size,
        )

    def _report(self, origin: Origin) -> ReportRow:
        each = self._held.reports[origin.item_id]
        number = self._held.numbers[each.community_id]
        return ReportRow(
            origin.source_id,
            origin.ordinal,
            number,
            each.level,
            self._held.parents[each.community_id],
            tuple(sorted(self._held.children[number])),
            each.title,
            each.summary,
            each.full_text,
            each.rating,
            "",
            tuple(FindingRow(f"{one.explanation}{self._sources(one.citations)}", one.summary) for one in each.findings),
            "",
            NO_DATE,
            self._held.communities[each.community_id].size,
        )

    def _covariate(self, origin: Origin) -> CovariateRow:
        each = self._held.claims[origin.item_id]
        chunk = self._held.chunks[each.chunk_id]
        quoted = "" if each.start is None or each.end is None else chunk.text[each.start - chunk.start :]
        return CovariateRow(
            origin.source_id,
            origin.ordinal,
            "claim",
            each.type,
            each.description,
            self._titles[each.subject_id],
            self._titles[each.object_id] if each.object_id else "NONE",
            each.status,
            each.start_date or "NONE",
            each.end_date or "NONE",
            quoted[: (each.end or 0) - (each.start or 0)],
            next(iter(self._held.units([each.chunk_id])), ""),
        )

    def _instances(self, relation: Relation) -> list[str]:
        """Return the chunks of a relation, each as often as it states it, where that is known."""
        stated = Counter(self._held.chunks_naming[relation.id])
        if stated.total() == relation.weight:
            return list(stated.elements())
        repeated = len(relation.chunk_ids) == 1 and relation.weight <= _MOST_INSTANCES
        return list(relation.chunk_ids) * int(relation.weight if repeated else 1)

    def _sources(self, citations: Iterable[Span]) -> str:
        """Return the reference to the text units that a finding cites, by their numbers."""
        rows = [given[0].ordinal for span in citations if (given := self._held.given["chunks"].get(span.chunk_id))]
        return f" [Data: Sources ({', '.join(map(str, dict.fromkeys(rows)))})]" if rows else ""


def _with_contents(row: ReportRow, origin: Origin, deriving: _Deriving, given: Mapping[str, Any]) -> ReportRow:
    """Return a report with its whole text, which GraphRAG has twice."""
    findings = row.findings or ()
    if "full_content" not in given and "findings" in given:
        told = [f"# {row.title}", row.summary or "", *(f"## {each.summary}\n\n{each.explanation}" for each in findings)]
        row = replace(row, full_content="\n\n".join(told))
    if "full_content_json" not in given:
        whole = {
            "title": row.title,
            "summary": row.summary,
            "findings": [{"summary": each.summary, "explanation": each.explanation} for each in findings],
            "rating": row.rank,
            "rating_explanation": row.rating_explanation,
        }
        row = replace(row, full_content_json=json.dumps(whole, ensure_ascii=False, indent=4))
    return row
