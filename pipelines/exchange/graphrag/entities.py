"""GraphRAG's entities as entities of ours: one name, one entity.

Names that only a relationship or a claim gives are entities too, without a type or a description; each is listed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from conspectus.pipelines.build_report import DANGLING, IMPORT
from conspectus.pipelines.exchange.graphrag.schema import CovariateRow, EntityRow, RelationshipRow
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage.hashing import entity_id
from conspectus.storage.records import Entity, Failure
from conspectus.storage.tables import sorted_by_id
from conspectus.storage.text.normalise import entity_key

NO_NAME = frozenset({"", "NONE", "NULL", "NAN", "N/A"})
"""What stands for no object of a claim, in capitals."""


@dataclass(slots=True)
class Thing:
    """What the tables say of one name: the chunks that name it, and what is written of it."""

    name: str
    types: Counter[str] = field(default_factory=Counter)
    descriptions: list[str] = field(default_factory=list)
    chunk_ids: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Things:
    """Every name by its key, and the key of each row of the entities."""

    of_key: dict[str, Thing]
    row_keys: list[str]
    failures: list[Failure]

    def keys_of_ids(self, rows: Sequence[EntityRow]) -> dict[str, str]:
        """Return the key that each id of an entity stands for: that of its first row."""
        found: dict[str, str] = {}
        for row, key in zip(rows, self.row_keys, strict=True):
            found.setdefault(row.id or "", key)
        return found


def shown(text: str | None) -> str:
    """Return a name as we write it: on one line.

    >>> shown("EBENEZER\\n SCROOGE")
    'EBENEZER SCROOGE'
    """
    return " ".join(clean(text or "").split())


def things_of(
    entities: Sequence[EntityRow],
    relationships: Sequence[RelationshipRow],
    covariates: Sequence[CovariateRow],
    chunks_of_unit: Mapping[str, tuple[str, ...]],
) -> Things:
    """Return all that the tables name."""
    things = Things({}, [], [])
    for row in entities:
        thing = _thing(things, row.title)
        things.row_keys.append(entity_key(shown(row.title)))
        thing.types[clean(row.type or "").strip()] += 1
        if shown(row.description) and clean(row.description or "").strip() not in thing.descriptions:
            thing.descriptions.append(clean(row.description or "").strip())
        _add_chunks(thing, row.text_unit_ids or (), chunks_of_unit, things, f"entity {row.id}")
    described = set(things.of_key)
    for relationship in relationships:
        for end in (relationship.source, relationship.target):
            thing = _thing(things, end)
            if entity_key(shown(end)) not in described:
                item = f"relationship {relationship.id}"
                things.failures.append(Failure(IMPORT, item, DANGLING, shown(end)))
                _add_chunks(thing, relationship.text_unit_ids or (), chunks_of_unit, things, item)
    for claim in covariates:
        for name in names_of_claim(claim):
            thing = _thing(things, name)
            if entity_key(name) not in described:
                item = f"covariate {claim.id}"
                things.failures.append(Failure(IMPORT, item, DANGLING, name))
                _add_chunks(thing, (claim.text_unit_id or "",), chunks_of_unit, things, item)
    return things


def names_of_claim(row: CovariateRow) -> tuple[str, ...]:
    """Return the subject of a claim, and its object where it has one; nothing where it has no subject."""
    subject, target = shown(row.subject_id), shown(row.object_id)
    if subject.upper() in NO_NAME:
        return ()
    return (subject,) if target.upper() in NO_NAME else (subject, target)


def entities_of(things: Things, degrees: Mapping[str, int]) -> list[Entity]:
    """Return the entities, sorted by id; the first of several types is the most frequent, ties in alphabetical order.

    `degrees` are by id.
    """
    return sorted_by_id(_entity(key, thing, degrees.get(entity_id(key), 0)) for key, thing in things.of_key.items())


def _entity(key: str, thing: Thing, degree: int) -> Entity:
    known = sorted((-count, kind) for kind, count in thing.types.items() if kind)
    types = tuple(kind for _, kind in known) or ("",)
    return Entity(
        entity_id(key), thing.name, types[0], types, "\n".join(thing.descriptions), len(thing.chunk_ids), degree
    )


def _thing(things: Things, name: str | None) -> Thing:
    return things.of_key.setdefault(entity_key(shown(name)), Thing(shown(name)))


def _add_chunks(
    thing: Thing,
    unit_ids: Iterable[str],
    chunks_of_unit: Mapping[str, tuple[str, ...]],
    things: Things,
    item: str,
) -> None:
    for id_ in unit_ids:
        for chunk in chunks_of_unit.get(id_, ()):
            thing.chunk_ids[chunk] = None
        if id_ not in chunks_of_unit:
            things.failures.append(Failure(IMPORT, item, "a text unit that is not there", clean(id_)))
