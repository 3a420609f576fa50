"""The communities and reports of a filtered view, from columns of the whole index."""

import numpy as np
import pyarrow as pa
from conspectus.query.filter.bitmaps import Bitmaps, is_in
from conspectus.query.filter.rows import PermittedRows
from conspectus.storage.arrays import Ints
from conspectus.storage.index import StoredIndex
from conspectus.storage.joins import Groups
from conspectus.storage.mapped import TableRows
from conspectus.storage.records import Community, Entity, Relation, Report
from pyarrow import compute


def permitted_communities(
    index: StoredIndex, kept: Bitmaps, known: PermittedRows, holding: Groups
) -> TableRows[Community]:
    """Return the communities with their permitted members, relations and chunks; empty ones are left out.

    Args:
        index: the whole index.
        kept: the rows that remain.
        known: these rows.
        holding: the rows of the permitted chunks that mention each permitted entity.
    """
    table = index.arrow(Community)
    entity_ids = known.entities.table.column("id")
    relation_ids = index.arrow(Relation, "id").column("id").filter(kept.relations)
    owners, members = _listed(table.column("entity_ids"), entity_ids)
    rows = compute.index_in(members, value_set=entity_ids).to_numpy()
    places, chunks = holding.of_each(rows.astype(np.int64))
    of_community = Groups.of(owners[places], chunks, len(table))
    columns = {
        "entity_ids": _lists(owners, members, len(table)),
        "relation_ids": _lists(*_listed(table.column("relation_ids"), relation_ids), len(table)),
        "chunk_ids": _lists(
            np.repeat(np.arange(len(table)), np.diff(of_community.starts)),
            known.chunks.table.column("id").take(of_community.members),
            len(table),
        ),
        "size": pa.array(np.bincount(owners, minlength=len(table))),
    }
    for name, column in columns.items():
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(place), column.cast(table.schema.field(place).type))
    return TableRows(table.filter(compute.greater(table.column("size"), 0)), Community)


def permitted_reports(index: StoredIndex, kept: Bitmaps, communities: TableRows[Community]) -> TableRows[Report]:
    """Return the reports on complete communities: all members remain, and all are intact."""
    table, whole = communities.table, index.arrow(Community, "id", "size")
    before = whole.column("size").take(compute.index_in(table.column("id"), value_set=whole.column("id")))
    intact = index.arrow(Entity, "id").column("id").filter(kept.intact)
    members = np.bincount(_listed(table.column("entity_ids"), intact)[0], minlength=len(table))
    complete = (members == before.to_numpy()) & (members == table.column("size").to_numpy())
    reports = index.arrow(Report)
    ids = table.column("id").filter(complete).to_pylist()
    return TableRows(reports.filter(is_in(reports.column("community_id"), ids)), Report)


def _listed(lists: pa.ChunkedArray, ids: pa.ChunkedArray) -> tuple[Ints, pa.ChunkedArray]:
    """Return those listed ids that are among some, and the number of the list of each."""
    owners = np.repeat(np.arange(len(lists)), compute.list_value_length(lists).to_numpy())
    listed = compute.list_flatten(lists)
    found = compute.is_in(listed, value_set=ids)
    return owners[found.to_numpy()], listed.filter(found)


def _lists(owners: Ints, values: pa.ChunkedArray, n_lists: int) -> pa.ListArray:
    """Return lists of values, given the number of the list of each, ascending."""
    starts = np.searchsorted(owners, np.arange(n_lists + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(starts, values.combine_chunks())
