"""The names by which questions find entities and documents, of a large index: made once, and mapped (see `derived`)."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from conspectus.storage import joins
from conspectus.storage.arrays import Bools
from conspectus.storage.derived import derived_folder
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.records import Chunk, Community, Document, Entity, Mention, Merge, Name, Relation, Report
from conspectus.storage.text.name_table import NameTable
from conspectus.storage.text.nlp import CONCEPT
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.postings import TextColumn

if TYPE_CHECKING:
    import pyarrow as pa


FORM = 2
"""Raised when the content of the files changes."""
_ALIASES = "aliases.json"


@per_index
def alias_rows(index: StoredIndex) -> Mapping[str, int]:
    """Return the row of the entity into which each name was merged; names that an entity still has are left out."""
    if not index.is_mapped(Entity):
        return _aliases(index)
    path = _entity_folder(index) / _ALIASES
    try:
        return {str(alias): int(row) for alias, row in json.loads(path.read_text("utf-8"))}
    except (OSError, ValueError, TypeError) as error:
        raise IndexCorrupt(f"{path} cannot be read ({error}); delete it, and it is made again") from error


@per_index
def entity_table(index: StoredIndex) -> NameTable:
    """Return the names of a large table of entities, by row, and after them the aliases in the order of `alias_rows`.

    In texts only names are found, not mere noun phrases.
    """
    return NameTable.open(_entity_folder(index))


@per_index
def title_table(index: StoredIndex) -> NameTable:
    """Return the names of a large table of names of chunks, by row."""

    def write(folder: Path) -> None:
        folder.mkdir()
        names = TextColumn(lambda: index.arrow(Name, "name").column("name"))
        NameTable.write(folder, ((name, True) for name in names))

    return NameTable.open(derived_folder(index, "title-names", FORM, write))


def are_names(types: "pa.ChunkedArray") -> Bools:
    """Return which entities are more than noun phrases, by the lists of their types, (entities,)."""
    from pyarrow import compute

    owners = np.repeat(np.arange(len(types)), compute.list_value_length(types).to_numpy())
    is_name = compute.not_equal(compute.list_flatten(types), CONCEPT).to_numpy()
    found: Bools = np.bincount(owners[is_name], minlength=len(types)) > 0
    return found


def _entity_folder(index: StoredIndex) -> Path:
    def write(folder: Path) -> None:
        folder.mkdir()
        aliases = _aliases(index)
        (folder / _ALIASES).write_text(json.dumps(list(aliases.items())), "utf-8")
        NameTable.write(folder, _names(index, aliases))

    return derived_folder(index, "entity-names", FORM, write)


def _names(index: StoredIndex, aliases: Mapping[str, int]) -> Iterator[tuple[str, bool]]:
    table = index.arrow(Entity, "name", "types")
    names = TextColumn(lambda: table.column("name"))
    yield from zip(names, are_names(table.column("types")).tolist(), strict=True)
    yield from ((alias, True) for alias in aliases)


def _aliases(index: StoredIndex) -> Mapping[str, int]:
    merges = [merge for merge in index.rows(Merge) if not merge.undone]
    if not merges:
        return {}
    row_of = index.ids(Entity)
    wanted = {entity_key(merge.alias) for merge in merges}
    names = TextColumn(lambda: index.arrow(Entity, "name").column("name"))
    own_names = {key for key in map(entity_key, names) if key in wanted}
    return {merge.alias: row_of[merge.entity_id] for merge in merges if entity_key(merge.alias) not in own_names}


ASKED = (Document, Chunk, Entity, Relation, Mention, Name, Community, Report)
"""The tables that most questions read."""


def prepare(index: StoredIndex) -> None:
    """Make what is mapped of an index, if it is large (see `mapped`); what is there is not made again."""
    for record in ASKED:
        if index.is_mapped(record):
            index.arrow(record)
    for kind, make in ((Entity, entity_table), (Name, title_table), *((Mention, make) for make in joins.ALL)):
        if index.is_mapped(kind):
            make(index)
