"""When facts hold, and which of them cannot both hold, as rows with their sources."""

from importlib.resources import files
from typing import Any

from conspectus.entities import row_of
from conspectus.query.context import Context
from conspectus.query.sql import select
from conspectus.rows import ConflictRow, TimelineRow
from conspectus.storage.records import Entity

_MOST = 1_000_000
"""Most rows that are read."""


def timeline_rows(context: Context, key: str) -> list[TimelineRow]:
    """Return the dated facts about an entity, the earliest first. Raises NotThere if there is no such entity."""
    id_ = context.index.each(Entity)[row_of(context, key)].id
    return [TimelineRow(*row) for _, *row in _select(context, "timeline", id_)]


def conflict_rows(context: Context) -> list[ConflictRow]:
    """Return the pairs of facts that cannot both hold, by the name of what they are about."""
    pairs = _select(context, "conflicts")
    rows = {id_: TimelineRow(*row) for id_, *row in _select(context, "timeline")} if pairs else {}
    return [ConflictRow(about, word, rows[one], rows[other]) for about, word, one, other in pairs]


def _select(context: Context, query: str, entity: str | None = None) -> tuple[tuple[Any, ...], ...]:
    facts, text = (files("conspectus").joinpath(f"{name}.sql").read_text("utf-8") for name in ("facts", query))
    quoted = "NULL" if entity is None else "'{}'".format(entity.replace("'", "''"))
    return select(context, f"{facts}\n{text}".replace("{entity}", quoted), rows=_MOST).rows
