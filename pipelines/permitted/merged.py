"""Mentions by a name that was merged into another: they name the thing themselves, whatever other documents say."""

from collections import defaultdict
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from conspectus.storage.hashing import short_id
from conspectus.storage.index import Index
from conspectus.storage.records import Merge

if TYPE_CHECKING:
    import pyarrow as pa


def merged_mentions(index: Index, mentions: "pa.Table") -> AbstractSet[str]:
    """Return the ids of the mentions that were another entity's before its name was merged.

    A mention keeps the id that it had as that entity's, which tells it from the short form of a title.
    """
    from pyarrow import compute

    aliases: defaultdict[str, list[str]] = defaultdict(list)
    for each in index.rows(Merge):
        if not each.undone:
            aliases[each.entity_id].append(each.alias_id)
    if not aliases:
        return frozenset()
    named = mentions.filter(compute.equal(mentions.column("match"), "alias"))
    columns = (named.column(name).to_pylist() for name in ("id", "chunk_id", "entity_id", "start", "end"))
    return {
        id_
        for id_, chunk, owner, start, end in zip(*columns, strict=True)
        if any(id_ == mention_id(chunk, alias, start, end) for alias in aliases.get(owner or "", ()))
    }


def mention_id(chunk_id: str, owner_id: str, start: int | None, end: int | None) -> str:
    """Return the id of a mention of an entity at a place."""
    return short_id("mention", chunk_id, owner_id, str(start), str(end))
