"""Where imported rows came from, and what the rows of an index that was not imported are called when they leave."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from conspectus.pipelines.exchange.graphrag import coerce as cells
from conspectus.pipelines.exchange.graphrag.export_rows import PREPENDED, rows_of
from conspectus.pipelines.exchange.graphrag.ids import Contents
from conspectus.pipelines.exchange.graphrag.schema import OURS, TABLES, CommunityRow, Tables
from conspectus.storage.hashing import entity_id, short_id
from conspectus.storage.records import Entity, Mention, Origin
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.normalise import entity_key

_WHOLE_CONTENT = ("full_content", "full_content_json")
"""Columns that are made of others of their row, and so are compared last."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of the rows: for each foreign table the ids of ours, "" for a row that could not be taken.

    `prepended` is what stood before each text unit and is not of its document.
    """

    item_ids: Mapping[str, Sequence[str]]
    prepended: Sequence[str]


def origins_of(tables: Tables, taken: Taken, contents: Contents) -> list[Origin]:
    """Return an origin for each foreign row: its id, its place, and the columns that our tables say otherwise.

    `rows_of` of the result gives the foreign rows back as they were.
    """
    bare: list[Origin] = []
    row_of: dict[str, Any] = {}
    for name in TABLES:
        prepended = taken.prepended if name == "text_units" else ()
        for number, (row, item_id) in enumerate(zip(getattr(tables, name), taken.item_ids[name], strict=True)):
            before = {PREPENDED: prepended[number]} if prepended and prepended[number] else {}
            origin = _origin(OURS[name], item_id, row.id or "", number, before)
            bare.append(origin)
            row_of[origin.id] = row
    # Parents and children go by the numbers of communities, so these are told first.
    told = [_numbered(each, row_of[each.id]) for each in bare]
    for last in (False, True):
        derived = rows_of(contents, told)
        told = [_told(each, row_of[each.id], derived[each.id], last=last) for each in told]
    return sorted_by_id(told)


def _numbered(origin: Origin, row: Any) -> Origin:  # noqa: ANN401  (a row of any table)
    if isinstance(row, CommunityRow) and row.community != origin.ordinal:
        return replace(origin, details={**origin.details, "community": cells.written(row.community)})
    return origin


def _told(origin: Origin, row: Any, derived: Any, *, last: bool) -> Origin:  # noqa: ANN401
    """Return an origin that tells where a row differs from what is derived, in the columns that are compared now."""
    differing = {
        field.name: cells.written(getattr(row, field.name))
        for field in fields(row)
        if (field.name in _WHOLE_CONTENT) == last and getattr(row, field.name) != getattr(derived, field.name)
    }
    return replace(origin, details={**origin.details, **differing})


def own_origins(contents: Contents) -> list[Origin]:
    """Return origins for an index that was not imported: our ids, in the order of our tables.

    Of the communities those that stand for the first time and hold more than one entity, or have a report.
    """
    reported = {each.community_id for each in contents.reports}
    communities = [
        each
        for each in sorted(contents.communities, key=lambda each: (each.level, each.id))
        if each.same_as is None and (each.size > 1 or each.id in reported)
    ]
    order = {each.id: place for place, each in enumerate(communities)}
    chunks = sorted(contents.chunks, key=lambda each: (each.document_id, each.start, each.end))
    tables: dict[str, Iterable[Any]] = {
        "documents": contents.documents,
        "chunks": chunks,
        "entities": contents.entities,
        "relations": contents.relations,
        "claims": contents.claims,
        "communities": communities,
        "reports": sorted(contents.reports, key=lambda each: order[each.community_id]),
    }
    return [
        _origin(table, each.id, each.id, number, {})
        for table, rows in tables.items()
        for number, each in enumerate(rows)
    ]


def titles_of(entities: Sequence[Entity], mentions: Sequence[Mention]) -> dict[str, str]:
    """Return what entities are called where relationships name them by a title that is to be theirs alone.

    That is the name, unless it is that of another entity too, or not what the entity goes by ("Spider Man" where it is
    known as "Spider-Man"): then the way that a text writes it, or the name with the id behind it.
    """
    wanting = {each.id: each.name for each in entities if entity_id(entity_key(each.name)) != each.id}
    surfaces: defaultdict[str, list[str]] = defaultdict(list)
    for each in mentions:
        if each.entity_id in wanting and entity_id(entity_key(each.surface)) == each.entity_id:
            surfaces[each.entity_id].append(" ".join(each.surface.split()))
    return {id_: min(surfaces[id_]) if surfaces[id_] else f"{name} ({id_})" for id_, name in wanting.items()}


def _origin(table: str, item_id: str, source_id: str, number: int, details: Mapping[str, str]) -> Origin:
    return Origin(short_id("origin", table, str(number)), table, item_id, source_id, number, details)
