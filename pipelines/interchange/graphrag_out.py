"""An index as the rows of GraphRAG's tables.

Every row is that of one `Origin`: what the row is called there, and which of its columns say something else than our
tables do. So an index that was imported gives back what it was made from.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from pipelines.interchange import graphrag_cells as cells
from pipelines.interchange.graphrag_documents import CREATED
from pipelines.interchange.graphrag_rows import (
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
from storage.errors import IndexCorrupt
from storage.records import Chunk, Claim, Community, Document, Entity, Mention, Origin, Relation, Report, Span

PREPENDED = "prepended"
"""The detail of a chunk that stood before its text and is not of the document."""
NO_DATE = "1970-01-01"
"""The period of communities that have none: an index has no clock."""
_MOST_INSTANCES = 1000
ROOT = -1
"""The parent of a community that has none."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The tables of an index that GraphRAG has tables for, sorted by id."""

    documents: Sequence[Document]
    chunks: Sequence[Chunk]
    entities: Sequence[Entity]
    mentions: Sequence[Mention]
    relations: Sequence[Relation]
    claims: Sequence[Claim]
    communities: Sequence[Community]
    reports: Sequence[Report]


Row = Any
"""A row of one of the foreign tables."""


def rows_of(contents: Contents, origins: Sequence[Origin], titles: Mapping[str, str] | None = None) -> dict[str, Row]:
    """Return the row of each origin by its id.

    `titles` are what entities are called where not by their names. IndexCorrupt where the details of an origin are not
    what they should be.
    """
    deriving = _Deriving(contents, origins, titles or {})
    return {each.id: _row(deriving, each) for each in origins}


def _row(deriving: "_Deriving", origin: Origin) -> Row:
    name = next((theirs for theirs, ours in OURS.items() if ours == origin.table), "")
    if not name:
        raise IndexCorrupt(f"origins {origin.id}: GraphRAG has no table for {origin.table}")
    record = TABLES[name]
    given = {field.name: _cell(origin, record, field.name) for field in fields(record) if field.name in origin.details}
    if not origin.item_id:
        return record(**{**{field.name: None for field in fields(record)}, **given})
    try:
        row = replace(deriving.of[name](origin), **given)
    except KeyError as error:
        raise IndexCorrupt(f"origins {origin.id} names {error}, which does not exist") from error
    return _with_contents(row, origin, deriving, given) if isinstance(row, ReportRow) else row


def _cell(origin: Origin, record: type, column: str) -> Any:  # noqa: ANN401
    try:
        return cells.converter(record, column)(json.loads(origin.details[column]))
    except (ValueError, RecursionError) as error:
        raise IndexCorrupt(f"origins {origin.id}: its {column} cannot be read") from error


class _Deriving:
    """Makes rows of what our tables say."""

    def __init__(self, contents: Contents, origins: Sequence[Origin], titles: Mapping[str, str]) -> None:
        self._contents = contents
        self._titles = {**{each.id: each.name for each in contents.entities}, **titles}
        self._given: defaultdict[str, defaultdict[str, list[Origin]]] = defaultdict(lambda: defaultdict(list))
        for each in sorted(origins, key=lambda each: (each.table, each.ordinal, each.id)):
            if each.item_id:
                self._given[each.table][each.item_id].append(each)
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
        each = self._documents[origin.item_id]
        data = {key: value for key, value in each.metadata.items() if key != CREATED}
        return DocumentRow(
            origin.source_id,
            origin.ordinal,
            each.title,
            each.text,
            self._units(chunk.id for chunk in self._chunks_of[each.id]),
            each.metadata.get(CREATED, ""),
            data or None,
        )

    def _text_unit(self, origin: Origin) -> TextUnitRow:
        each = self._chunks[origin.item_id]
        return TextUnitRow(
            origin.source_id,
            origin.ordinal,
            origin.details.get(PREPENDED, "") + each.text,
            each.n_tokens,
            each.document_id,
            self._ids("entities", self._in_chunk[each.id]),
            self._ids("relations", self._in_chunk[each.id]),
            self._ids("claims", self._in_chunk[each.id]),
        )

    def _entity(self, origin: Origin) -> EntityRow:
        each = self._entities[origin.item_id]
        units = self._units(self._chunks_naming[each.id])
        title = self._titles[each.id]
        return EntityRow(
            origin.source_id, origin.ordinal, title, each.type, each.description, units, len(units), each.degree
        )

    def _relationship(self, origin: Origin) -> RelationshipRow:
        each = self._relations[origin.item_id]
        chunk_ids = self._instances(each)
        source, target = self._entities[each.source_id], self._entities[each.target_id]
        return RelationshipRow(
            origin.source_id,
            origin.ordinal,
            self._titles[source.id],
            self._titles[target.id],
            each.description,
            each.weight * (1.0 if each.strength is None else each.strength),
            source.degree + target.degree,
            self._units(chunk_ids, once=False),
        )

    def _community(self, origin: Origin) -> CommunityRow:
        each = self._communities[origin.item_id]
        number = self._numbers[each.id]
        return CommunityRow(
            origin.source_id,
            origin.ordinal,
            number,
            each.level,
            self._parents[each.id],
            tuple(sorted(self._children[number])),
            f"Community {number}",
            self._ids("entities", each.entity_ids),
            tuple(sorted(self._ids("relations", each.relation_ids))),
            tuple(sorted(self._units(each.chunk_ids))),
            NO_DATE,
            each.size,
        )

    def _report(self, origin: Origin) -> ReportRow:
        each = self._reports[origin.item_id]
        number = self._numbers[each.community_id]
        return ReportRow(
            origin.source_id,
            origin.ordinal,
            number,
            each.level,
            self._parents[each.community_id],
            tuple(sorted(self._children[number])),
            each.title,
            each.summary,
            each.full_text,
            each.rating,
            "",
            tuple(FindingRow(f"{one.explanation}{self._sources(one.citations)}", one.summary) for one in each.findings),
            "",
            NO_DATE,
            self._communities[each.community_id].size,
        )

    def _covariate(self, origin: Origin) -> CovariateRow:
        each = self._claims[origin.item_id]
        chunk = self._chunks[each.chunk_id]
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
            next(iter(self._units([each.chunk_id])), ""),
        )

    def _instances(self, relation: Relation) -> list[str]:
        """Return the chunks of a relation, each as often as it states it, where that is known."""
        stated = Counter(self._chunks_naming[relation.id])
        if stated.total() == relation.weight:
            return list(stated.elements())
        repeated = len(relation.chunk_ids) == 1 and relation.weight <= _MOST_INSTANCES
        return list(relation.chunk_ids) * int(relation.weight if repeated else 1)

    def _sources(self, citations: Iterable[Span]) -> str:
        """Return the reference to the text units that a finding cites, by their numbers."""
        rows = [given[0].ordinal for span in citations if (given := self._given["chunks"].get(span.chunk_id))]
        return f" [Data: Sources ({', '.join(map(str, dict.fromkeys(rows)))})]" if rows else ""

    def _ids(self, table: str, item_ids: Iterable[str]) -> tuple[str, ...]:
        """Return what some rows of ours are called there, in the order of the foreign table."""
        given = {id_: self._given[table][id_] for id_ in item_ids if id_ in self._given[table]}
        found = sorted((each.ordinal, each.source_id) for several in given.values() for each in several)
        return tuple(dict.fromkeys(id_ for _, id_ in found))

    def _units(self, chunk_ids: Iterable[str], *, once: bool = True) -> tuple[str, ...]:
        """Return the text units of some chunks, in their order."""
        given = self._given["chunks"]
        found = sorted((given[id_][0].ordinal, given[id_][0].source_id) for id_ in chunk_ids if id_ in given)
        return tuple(dict.fromkeys(id_ for _, id_ in found)) if once else tuple(id_ for _, id_ in found)

    @cached_property
    def _documents(self) -> dict[str, Document]:
        return {each.id: each for each in self._contents.documents}

    @cached_property
    def _chunks(self) -> dict[str, Chunk]:
        return {each.id: each for each in self._contents.chunks}

    @cached_property
    def _chunks_of(self) -> dict[str, list[Chunk]]:
        found: defaultdict[str, list[Chunk]] = defaultdict(list)
        for each in self._contents.chunks:
            found[each.document_id].append(each)
        return found

    @cached_property
    def _entities(self) -> dict[str, Entity]:
        return {each.id: each for each in self._contents.entities}

    @cached_property
    def _relations(self) -> dict[str, Relation]:
        return {each.id: each for each in self._contents.relations}

    @cached_property
    def _claims(self) -> dict[str, Claim]:
        return {each.id: each for each in self._contents.claims}

    @cached_property
    def _communities(self) -> dict[str, Community]:
        return {each.id: each for each in self._contents.communities}

    @cached_property
    def _reports(self) -> dict[str, Report]:
        return {each.id: each for each in self._contents.reports}

    @cached_property
    def _chunks_naming(self) -> dict[str, list[str]]:
        """The chunks of each entity and relation, once for each mention."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for each in self._contents.mentions:
            found[each.entity_id or each.relation_id or ""].append(each.chunk_id)
        return found

    @cached_property
    def _in_chunk(self) -> dict[str, list[str]]:
        """The entities, relations and claims of each chunk."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for owner, chunk_ids in self._chunks_naming.items():
            for chunk_id in chunk_ids:
                found[chunk_id].append(owner)
        for claim in self._contents.claims:
            found[claim.chunk_id].append(claim.id)
        return found

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """The number of each community that there is a row of."""
        found = {}
        for id_, given in self._given["communities"].items():
            told = _cell(given[0], CommunityRow, "community") if "community" in given[0].details else None
            found[id_] = given[0].ordinal if told is None else told
        return found

    @cached_property
    def _parents(self) -> dict[str, int]:
        """The number of the community that each lies in, where that has one."""
        above = {each.id: each.same_as or each.id for each in self._contents.communities}
        return {
            each.id: self._numbers.get(above.get(each.parent_id or "", ""), ROOT) for each in self._contents.communities
        }

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        found: defaultdict[int, list[int]] = defaultdict(list)
        for id_, number in self._numbers.items():
            found[self._parents[id_]].append(number)
        return found


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
