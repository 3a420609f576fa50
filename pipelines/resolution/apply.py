"""Rewrite mentions, relations and counts so that aliases belong to their canonical entity."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.storage.records import Claim, Entity, Mention, Relation
from conspectus.storage.spilled import few_as_list
from conspectus.storage.sql_engine import Engine
from conspectus.storage.tables import arrow_of
from conspectus.storage.text.normalise import entity_key

_SQL = Path(__file__).with_suffix(".sql")


def applied(found: Knowledge, kept_of: Mapping[str, str]) -> tuple[Knowledge, dict[str, str]]:
    """Return the knowledge with each alias (a key of `kept_of`) merged into its value, and the new ids of relations.

    A mention of an alias keeps its span, is assigned to the canonical entity and gets `match` "alias"; if both are
    mentioned at one span, that of the canonical name remains, with the descriptions of both. Relations that become
    identical are merged: weights are added, chunks united, and the shortest description remains. A relation of an
    entity with itself is dropped with its mentions; its new id is "". Nothing else changes.
    """
    if not kept_of:
        return found, {}
    import pyarrow as pa

    with Engine() as engine:
        engine.add_function("entity_key", entity_key)
        engine.show("entities", arrow_of(Entity, found.entities))
        engine.show("relations", arrow_of(Relation, found.relations))
        engine.show("mentions", arrow_of(Mention, found.mentions))
        ids = (pa.array(each, pa.string()) for each in (kept_of.keys(), kept_of.values()))
        engine.show("kept", pa.table(dict(zip(("id", "now"), ids, strict=True))))
        engine.run(_SQL)
        entities = few_as_list(engine.rows(Entity, "FROM applied_entities"))
        relations = engine.rows(Relation, "FROM applied_relations")
        mentions = engine.rows(Mention, "FROM applied_mentions")
        new_id = {row["id"]: row["now"] for row in engine.table("FROM changed ORDER BY id").to_pylist()}
    return Knowledge(entities, relations, mentions), new_id


def claims_applied(claims: Sequence[Claim], kept_of: Mapping[str, str]) -> list[Claim]:
    """Return the claims, rewritten to the canonical entities."""
    return [
        replace(
            claim,
            subject_id=kept_of.get(claim.subject_id, claim.subject_id),
            object_id=None if claim.object_id is None else kept_of.get(claim.object_id, claim.object_id),
        )
        for claim in claims
    ]
