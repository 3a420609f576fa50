"""Entities and their neighbours, as rows."""

from collections.abc import Sequence
from dataclasses import asdict
from heapq import nsmallest

import numpy as np
from conspectus.query.context import Context
from conspectus.rows import Beside, Direction, EntityDetail, EntityRow, Neighbour
from conspectus.storage.errors import NotThere
from conspectus.storage.index import per_index
from conspectus.storage.joins import chunks_of_entities, joined
from conspectus.storage.made_rows import RowsFrom
from conspectus.storage.records import Chunk, Entity, Relation
from conspectus.storage.text.postings import TextColumn


def entity_rows(context: Context, name: str = "") -> Sequence[EntityRow]:
    """Return the entities whose name contains the given text, names before dates and common nouns, by frequency."""
    wanted, names = name.casefold(), _folded_names(context)
    entities, rows = context.index.each(Entity), [row for row in _names_first(context) if wanted in names[row]]
    return RowsFrom(rows, lambda row: _row(entities[row]))


def entity_detail(context: Context, key: str, most: int) -> EntityDetail:
    """Return an entity by its id or name, with at most `most` items in each list. Raises NotThere if there is none."""
    index, row = context.index, row_of(context, key)
    entity, holding = index.each(Entity)[row], chunks_of_entities(index)
    shares = np.zeros(index.manifest.rows["chunks"], np.bool_)
    shares[holding[row]] = True
    of_entity = np.repeat(np.arange(len(holding)), np.diff(holding.starts))
    counts = np.bincount(of_entity[shares[holding.members]], minlength=len(holding))
    counts[row] = 0
    ids, chunk_ids, others = _column(context, "id"), _column(context, "id", Chunk), np.flatnonzero(counts)
    shared = zip((-counts[others]).tolist(), _column(context, "name").taken(others), others.tolist(), strict=True)
    return EntityDetail(
        **asdict(_row(entity)),
        description=entity.description,
        chunk_ids=[chunk_ids[chunk] for chunk in holding[row][:most].tolist()],
        neighbours=neighbours(context, entity.id)[:most],
        beside=[
            Beside(entity_id=ids[each], name=name, passages=-fewer) for fewer, name, each in nsmallest(most, shared)
        ],
    )


def neighbours(
    context: Context, key: str, direction: Direction = "both", predicate: str | None = None
) -> list[Neighbour]:
    """Return the relations of an entity, ties by predicate and name: see `operations.neighbours`."""
    index, row, names = context.index, row_of(context, key), _column(context, "name")
    id_ = _column(context, "id")[row]
    ends, relations = joined(index), index.each(Relation)
    found = []
    for number in np.flatnonzero((ends.sources == row) | (ends.targets == row)).tolist():
        relation = relations[number]
        outgoing = relation.source_id == id_
        wrong_way = (direction == "out" and not outgoing) or (direction == "in" and relation.target_id != id_)
        if wrong_way or (predicate is not None and relation.predicate.casefold() != predicate.casefold()):
            continue
        other = relation.target_id if outgoing else relation.source_id
        found.append(
            Neighbour(
                relation_id=relation.id,
                outgoing=outgoing,
                predicate=relation.predicate,
                description=relation.description,
                weight=relation.weight,
                entity_id=other,
                name=names[int((ends.targets if outgoing else ends.sources)[number])],
                chunk_ids=list(relation.chunk_ids),
            )
        )
    return sorted(found, key=lambda each: (-each.weight, each.predicate, each.name, each.relation_id))


def row_of(context: Context, key: str) -> int:
    """Return the row of the entity with an id or name. Raises NotThere if there is none."""
    row = context.index.ids(Entity).get(key)
    if row is not None:
        return row
    wanted, names = key.casefold(), _column(context, "name")
    rows = [row for row, name in enumerate(_folded_names(context)) if name == wanted]
    if not rows:
        raise NotThere("no entity has that id or name; `entities` lists them, and searches for a part of a name")
    return next((row for row in rows if names[row] == key), rows[0])


def _row(entity: Entity) -> EntityRow:
    return EntityRow(id=entity.id, name=entity.name, type=entity.type, frequency=entity.frequency, degree=entity.degree)


def _column(context: Context, name: str, record: type = Entity) -> TextColumn:
    index = context.index
    made: TextColumn = index.once((_column, record, name), lambda: TextColumn(lambda: index.arrow(record, name)[name]))
    return made


@per_index
def _folded_names(context: Context) -> list[str]:
    return [name.casefold() for name in _column(context, "name")[:]]


@per_index
def _names_first(context: Context) -> list[int]:
    """Return the rows of the entities: names before dates and common nouns, the most frequent first, ties by name."""
    from pyarrow import array, compute

    table = context.index.arrow(Entity, "frequency", "name", "type")
    kind = compute.is_in(table.column("type"), array(["DATE", "CONCEPT"]))
    common = compute.or_(kind, compute.match_substring_regex(table.column("name"), r"^\p{Ll}"))
    order = [("common", "ascending"), ("frequency", "descending"), ("name", "ascending")]
    rows: list[int] = compute.sort_indices(table.append_column("common", common), order).to_pylist()
    return rows
