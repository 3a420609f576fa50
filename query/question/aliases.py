"""Other names of the index's entities: those that were merged into them."""

from collections.abc import Mapping

from conspectus.query.context import Context
from conspectus.storage.index import per_index
from conspectus.storage.records import Entity, Merge
from conspectus.storage.text.normalise import entity_key


@per_index
def alias_rows(context: Context) -> Mapping[str, int]:
    """Return the row of the entity that each merged name became part of; names that an entity bears are left out."""

    merges = [each for each in context.index.rows(Merge) if not each.undone]
    if not merges:
        return {}
    table = context.index.arrow(Entity, "id", "name")
    row_of = {id_: row for row, id_ in enumerate(table.column("id").to_pylist())}
    borne = {entity_key(name) for name in table.column("name").to_pylist()}
    return {each.alias: row_of[each.entity_id] for each in merges if entity_key(each.alias) not in borne}
