"""The communities and reports of a filtered view, from columns of the whole index."""

from conspectus.query.filter.bitmaps import Bitmaps, is_in, restricted, with_column
from conspectus.query.filter.rows import PermittedRows
from conspectus.storage.index import StoredIndex
from conspectus.storage.mapped import TableRows
from conspectus.storage.records import Community, Entity, Relation, Report
from pyarrow import compute


def permitted_communities(index: StoredIndex, kept: Bitmaps, known: PermittedRows) -> TableRows[Community]:
    """Return the communities with their permitted members, relations and chunks; empty ones are left out."""
    table = restricted(index.arrow(Community), "entity_ids", known.entities.table.column("id"))
    table = restricted(table, "relation_ids", index.arrow(Relation, "id").column("id").filter(kept.relations))
    table = restricted(table, "chunk_ids", known.chunks.table.column("id"))
    table = with_column(table, "size", compute.list_value_length(table.column("entity_ids")))
    return TableRows(table.filter(compute.greater(table.column("size"), 0)), Community)


def permitted_reports(index: StoredIndex, kept: Bitmaps, communities: TableRows[Community]) -> TableRows[Report]:
    """Return the reports on complete communities: all members remain, and all are intact."""
    table, whole = communities.table, index.arrow(Community, "id", "size")
    before = whole.column("size").take(compute.index_in(table.column("id"), value_set=whole.column("id")))
    intact = restricted(table, "entity_ids", index.arrow(Entity, "id").column("id").filter(kept.intact))
    members = compute.list_value_length(intact.column("entity_ids")).to_numpy()
    complete = (members == before.to_numpy()) & (members == table.column("size").to_numpy())
    reports = index.arrow(Report)
    ids = table.column("id").filter(complete).to_pylist()
    return TableRows(reports.filter(is_in(reports.column("community_id"), ids)), Report)
