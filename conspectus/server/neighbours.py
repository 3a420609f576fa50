"""Entities and their neighbours, for routes and tools."""

from collections.abc import Sequence
from heapq import nsmallest
from typing import Literal

import numpy as np
from conspectus.query.context import Context
from conspectus.storage.errors import UsageError
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.joins import chunks_of_entities, joined
from conspectus.storage.made_rows import MadeRows
from conspectus.storage.records import Chunk, Entity, Relation
from conspectus.storage.text.postings import TextColumn
from pydantic import BaseModel

Direction = Literal["out", "in", "both"]


class NotThere(UsageError):
    """The requested item does not exist or is not visible to the caller."""


class Neighbour(BaseModel):
    """A relation of an entity, and the entity at its other end. `outgoing`: the requested entity is its source."""

    relation_id: str
    outgoing: bool
    predicate: str
    description: str
    weight: float
    entity_id: str
    name: str
    chunk_ids: list[str]


class Beside(BaseModel):
    """An entity that shares passages with another, and the number of these passages."""

    entity_id: str
    name: str
    passages: int


class EntityRow(BaseModel):
    """An entity in a list."""

    id: str
    name: str
    type: str
    frequency: int
    degree: int


class EntityDetail(EntityRow):
    """An entity with its description, the passages that mention it, and its neighbours."""

    description: str
    chunk_ids: list[str]
    neighbours: list[Neighbour]
    beside: list[Beside]


def entity_rows(context: Context, name: str = "") -> Sequence[EntityRow]:
    """Return the entities whose name contains the given text, most frequent first, ties by name."""
    wanted, names = name.casefold(), _folded_names(context)
    return _EntityRows(context.index, [row for row in _by_frequency(context) if wanted in names[row]])


def entity_detail(context: Context, key: str, most: int) -> EntityDetail:
    """Return an entity by its id or name, with at most `most` items in each list. Raises NotThere if there is none."""
    index, row = context.index, _row_of(context, key)
    entity, holding = index.each(Entity)[row], chunks_of_entities(index)
    shares = np.zeros(index.manifest.rows["chunks"], np.bool_)
    shares[holding[row]] = True
    of_entity = np.repeat(np.arange(len(holding)), np.diff(holding.starts))
    counts = np.bincount(of_entity[shares[holding.members]], minlength=len(holding))
    counts[row] = 0
    ids, chunk_ids, others = _ids(context), _chunk_ids(context), np.flatnonzero(counts)
    shared = zip((-counts[others]).tolist(), _names(context).taken(others), others.tolist(), strict=True)
    return EntityDetail(
        **_row(entity).model_dump(),
        description=entity.description,
        chunk_ids=[chunk_ids[chunk] for chunk in holding[row][:most].tolist()],
        neighbours=neighbours(context, entity, "both", None, most),
        beside=[
            Beside(entity_id=ids[each], name=name, passages=-fewer) for fewer, name, each in nsmallest(most, shared)
        ],
    )


def neighbours(
    context: Context, entity: Entity, direction: Direction, predicate: str | None, most: int
) -> list[Neighbour]:
    """Return the relations of an entity with their other ends, the heaviest first, ties by predicate and name.

    Args:
        context: The open index.
        entity: The entity.
        direction: "out" for relations whose source it is, "in" for those whose target it is.
        predicate: Only relations with this predicate, ignoring case.
        most: Maximum number of relations.
    """
    index, row, names = context.index, context.index.ids(Entity)[entity.id], _names(context)
    ends, relations = joined(index), index.each(Relation)
    found = []
    for number in np.flatnonzero((ends.sources == row) | (ends.targets == row)).tolist():
        relation = relations[number]
        outgoing = relation.source_id == entity.id
        wrong_way = (direction == "out" and not outgoing) or (direction == "in" and relation.target_id != entity.id)
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
    return sorted(found, key=lambda each: (-each.weight, each.predicate, each.name, each.relation_id))[:most]


def find_entity(context: Context, key: str) -> Entity:
    """Return the entity with this id or name, ignoring case if necessary. Raises NotThere if there is none."""
    return context.index.each(Entity)[_row_of(context, key)]


def _row_of(context: Context, key: str) -> int:
    row = context.index.ids(Entity).get(key)
    if row is not None:
        return row
    wanted, names = key.casefold(), _names(context)
    rows = [row for row, name in enumerate(_folded_names(context)) if name == wanted]
    if not rows:
        raise NotThere("no entity has that id or name; list them, or search for a part of a name")
    return next((row for row in rows if names[row] == key), rows[0])


class _EntityRows(MadeRows[EntityRow]):
    """Some entities, each read when it is asked for."""

    def __init__(self, index: StoredIndex, rows: Sequence[int]) -> None:
        self._entities = index.each(Entity)
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def _made(self, row: int) -> EntityRow:
        return _row(self._entities[self._rows[row]])


def _row(entity: Entity) -> EntityRow:
    return EntityRow(id=entity.id, name=entity.name, type=entity.type, frequency=entity.frequency, degree=entity.degree)


@per_index
def _ids(context: Context) -> TextColumn:
    return _column(context.index, Entity, "id")


@per_index
def _names(context: Context) -> TextColumn:
    return _column(context.index, Entity, "name")


@per_index
def _chunk_ids(context: Context) -> TextColumn:
    return _column(context.index, Chunk, "id")


def _column(index: StoredIndex, record: type, name: str) -> TextColumn:
    return TextColumn(lambda: index.arrow(record, name).column(name))


@per_index
def _folded_names(context: Context) -> list[str]:
    return [name.casefold() for name in _names(context)[:]]


@per_index
def _by_frequency(context: Context) -> list[int]:
    """Return the rows of the entities, the most frequent first, ties by name."""
    from pyarrow import compute

    table = context.index.arrow(Entity, "frequency", "name")
    rows: list[int] = compute.sort_indices(table, [("frequency", "descending"), ("name", "ascending")]).to_pylist()
    return rows
