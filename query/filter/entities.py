"""Entities that hidden documents mention too, rebuilt from their permitted mentions: arrays, not records.

There are as many of them as permitted passages, or more, in most filtered views.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

import numpy as np
import pyarrow as pa
from conspectus.query.filter.bitmaps import Bitmaps, at, with_column
from conspectus.storage.arrays import Bools, Ints, Rows
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Mention
from conspectus.storage.tables import codes_of, taken
from conspectus.storage.text.nlp import CONCEPT, NAME, TITLE
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.tokens import DESCRIPTION_TOKENS, count_each
from pyarrow import compute


class ChangedEntities:
    """The c entities that remain and are not intact, and their m permitted mentions, both in table order.

    Args:
        index: the whole index.
        kept: the rows that remain.

    Attributes:
        which: the entities, (entities of the index,).
        mentions: the rows of the mentions, (m,).
        owners: the number of each mention's entity, 0 to c - 1, (m,).
    """

    def __init__(self, index: StoredIndex, kept: Bitmaps) -> None:
        self._index = index
        self._kept = kept
        self.which: Bools = kept.entities & ~kept.intact
        self._rows = np.flatnonzero(self.which)
        self.mentions: Rows = kept.mentions[at(self.which, kept.joined.entities[kept.mentions])]
        self.owners: Ints = (np.cumsum(self.which) - 1)[kept.joined.entities[self.mentions]]
        self._table = taken(index.arrow(Mention, "match", "surface", "description"), self.mentions)

    def table(self) -> pa.Table:
        """Return the entities as their permitted mentions support them.

        A name is the most frequent one. A mention does not record the type that it contributed, so only types that
        other entities have too remain.
        """
        before = taken(self._index.arrow(Entity), self._rows)
        owners, names = self._names()
        has_name = np.zeros(len(before), np.bool_)
        has_name[owners] = True
        kinds = pa.array(self._kinds(before), before["types"].type)
        columns = {
            "name": compute.replace_with_mask(before["name"], has_name, names),
            "type": compute.list_element(kinds, 0),
            "types": kinds,
            "description": pa.array(self._descriptions(), pa.string()),
        }
        for name, column in columns.items():
            before = with_column(before, name, column)
        return before

    def _descriptions(self) -> list[str]:
        """Return what a model, or a permitted graph, says of each entity in permitted chunks; "" if it says nothing."""
        told: defaultdict[int, list[str]] = defaultdict(list)
        if self._kept.graph and self._kept.details:
            ids = taken(self._index.arrow(Entity, "id"), self._rows)["id"].to_pylist()
            for owner, id_ in enumerate(ids):
                rows = self._kept.details.get(id_, ())
                told[owner] += [row["description"] for row in rows if "description" in row]
        own = self._table["description"]
        with_one = np.flatnonzero(compute.not_equal(own, "").to_numpy())
        for owner, text in zip(self.owners[with_one].tolist(), own.take(with_one).to_pylist(), strict=True):
            told[owner] += text.split("\n")  # a line for each description
        return [joined_texts(told[owner]) if owner in told else "" for owner in range(len(self._rows))]

    def _names(self) -> tuple[Ints, pa.Array]:
        """Return the number of each entity that has a mention, and its name."""
        codes, written = codes_of(self._table["surface"])
        surfaces = pa.array([" ".join(surface.split()) for surface in written], pa.string()).take(codes)
        # A merged name comes last: the canonical name may be one that hidden documents use.
        is_merged = compute.equal(self._table["match"], "alias")
        mentions = pa.table({"owner": self.owners, "merged": is_merged, "name": surfaces})
        counted = mentions.group_by(mentions.column_names).aggregate([([], "count_all")])
        orders = ("owner", "ascending"), ("merged", "ascending"), ("count_all", "descending"), ("name", "ascending")
        counted = counted.sort_by([*orders])
        owners, best = np.unique(counted["owner"].to_numpy(), return_index=True)
        return owners, counted["name"].take(best).combine_chunks()

    def _kinds(self, before: pa.Table) -> list[list[str]]:
        """Return the types of each entity."""
        known, details = _plain_types(self._index, self._kept.intact), self._kept.details
        found = []
        of_each = zip(before["id"].to_pylist(), before["types"].to_pylist(), self._kept.titled[self._rows], strict=True)
        for id_, own, is_title in of_each:
            types = _types(known, details[id_], self._kept.graph) if id_ in details else known
            found.append([kind for kind in own if (is_title if kind == TITLE else kind in types)] or [NAME])
        return found


def _plain_types(index: StoredIndex, intact: Bools) -> frozenset[str]:
    """Return the types that reveal nothing of hidden documents: the extractor's, and those of intact entities."""
    configured = index.manifest.settings["extraction"].get("entity_types") or ()
    own = compute.list_flatten(index.arrow(Entity, "types").column("types").filter(intact)).unique().to_pylist()
    return frozenset([CONCEPT, NAME, *map(entity_key, configured), *own])


def _types(types: AbstractSet[str], details: Iterable[Mapping[str, str]], graph: bool) -> AbstractSet[str]:
    """Return the types that an entity may keep: those of an imported graph only if the graph is permitted."""
    imported = {kind for row in details for kind in _listed_types(row.get("types", ""))}
    return types | imported if graph else types - imported


def _listed_types(text: str) -> tuple[str, ...]:
    """Return the types of a JSON list; a graph's own attribute of that name may be any text."""
    try:
        values = json.loads(text) if text.startswith("[") else []
    except (ValueError, RecursionError):
        return ()
    return tuple(value for value in values if isinstance(value, str))


def joined_texts(texts: Iterable[str]) -> str:
    """Return distinct texts, sorted, until the next would exceed `DESCRIPTION_TOKENS`; at least one of them."""
    known = sorted(set(texts) - {""})
    total = 0
    for place, length in enumerate(count_each(known)):
        total += length
        if place and total > DESCRIPTION_TOKENS:
            return " ".join(known[:place])
    return " ".join(known)
