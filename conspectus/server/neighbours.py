"""Entities and their neighbours, for routes and tools."""

from collections import Counter, defaultdict
from typing import Literal

from pydantic import BaseModel

from conspectus.query.context import Context
from conspectus.storage.errors import UsageError
from conspectus.storage.index import per_index
from conspectus.storage.records import Entity, Mention, Relation

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


def entity_rows(context: Context, name: str = "") -> list[EntityRow]:
    """Return the entities whose name contains the given text, most frequent first, ties by name."""
    wanted = name.casefold()
    rows = [each for each in context.index.rows(Entity) if wanted in each.name.casefold()]
    rows.sort(key=lambda each: (-each.frequency, each.name, each.id))
    return [_row(each) for each in rows]


def entity_detail(context: Context, key: str, most: int) -> EntityDetail:
    """Return an entity by its id or name, with at most `most` items in each list. Raises NotThere if there is none."""
    entity = find_entity(context, key)
    chunks = _chunks_of(context).get(entity.id, [])
    shared = Counter(id_ for chunk in chunks for id_ in _entities_in(context).get(chunk, ()) if id_ != entity.id)
    names = _entities(context)
    best = sorted(shared.items(), key=lambda item: (-item[1], names[item[0]].name, item[0]))[:most]
    return EntityDetail(
        **_row(entity).model_dump(),
        description=entity.description,
        chunk_ids=chunks[:most],
        neighbours=neighbours(context, entity, "both", None, most),
        beside=[Beside(entity_id=id_, name=names[id_].name, passages=count) for id_, count in best],
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
    names = _entities(context)
    found = []
    for relation in _relations_of(context).get(entity.id, ()):
        outgoing = relation.source_id == entity.id
        wrong_way = (direction == "out" and not outgoing) or (direction == "in" and relation.target_id != entity.id)
        if wrong_way or (predicate is not None and relation.predicate.casefold() != predicate.casefold()):
            continue
        other = names[relation.target_id if outgoing else relation.source_id]
        found.append(
            Neighbour(
                relation_id=relation.id,
                outgoing=outgoing,
                predicate=relation.predicate,
                description=relation.description,
                weight=relation.weight,
                entity_id=other.id,
                name=other.name,
                chunk_ids=list(relation.chunk_ids),
            )
        )
    return sorted(found, key=lambda each: (-each.weight, each.predicate, each.name, each.relation_id))[:most]


def find_entity(context: Context, key: str) -> Entity:
    """Return the entity with this id or name, ignoring case if necessary. Raises NotThere if there is none."""
    entities = _entities(context)
    if key in entities:
        return entities[key]
    ids = _ids_by_name(context).get(key.casefold(), [])
    exact = [id_ for id_ in ids if entities[id_].name == key]
    if not ids:
        raise NotThere("no entity has that id or name; list them, or search for a part of a name")
    return entities[(exact or ids)[0]]


def _row(entity: Entity) -> EntityRow:
    return EntityRow(id=entity.id, name=entity.name, type=entity.type, frequency=entity.frequency, degree=entity.degree)


@per_index
def _entities(context: Context) -> dict[str, Entity]:
    return {entity.id: entity for entity in context.index.rows(Entity)}


@per_index
def _ids_by_name(context: Context) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for entity in context.index.rows(Entity):
        found[entity.name.casefold()].append(entity.id)
    return dict(found)


@per_index
def _relations_of(context: Context) -> dict[str, list[Relation]]:
    found: defaultdict[str, list[Relation]] = defaultdict(list)
    for relation in context.index.rows(Relation):
        for id_ in {relation.source_id, relation.target_id}:
            found[id_].append(relation)
    return dict(found)


@per_index
def _chunks_of(context: Context) -> dict[str, list[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for mention in context.index.rows(Mention):
        if mention.entity_id is not None:
            found[mention.entity_id].add(mention.chunk_id)
    return {id_: sorted(chunks) for id_, chunks in found.items()}


@per_index
def _entities_in(context: Context) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for id_, chunks in _chunks_of(context).items():
        for chunk in chunks:
            found[chunk].append(id_)
    return dict(found)
