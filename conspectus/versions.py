"""What differs between two versions of an index. `versions.sql` compares their tables."""

from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.rows import Changed, Differences
from conspectus.storage.errors import UsageError, did_you_mean
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import read_manifest
from conspectus.storage.publishing import complete_versions, published
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Mention, Relation, Report
from conspectus.storage.sql_engine import Engine

if TYPE_CHECKING:
    from conspectus.query.context import Context

_COLUMNS: dict[type, tuple[str, ...]] = {
    Document: ("id", "uri", "title", "sha256", "metadata"),
    Entity: ("id", "name", "types", "description"),
    Relation: ("id", "source_id", "target_id", "predicate", "description", "weight"),
    Mention: ("relation_id", "chunk_id", "surface"),
    Chunk: ("id", "document_id"),
    Claim: ("id", "description", "status", "start_date", "end_date"),
    Community: ("id", "same_as", "entity_ids"),
    Report: ("community_id", "title", "full_text"),
}


def differences(context: "Context", before: str, after: str, limit: int) -> Differences:
    """Return what differs between two versions: see `operations.diff`."""
    root, now = context.index.root, after or context.index.manifest.version
    known = complete_versions(root)
    if not before:
        earlier = [version for version in published(root) if version != now]
        if not earlier:
            raise UsageError(f"{root} has no earlier version; `build.keep_versions` says how many prune keeps")
        before = earlier[-1]
    pair = []
    for name in (before, now):
        found = [version for version in known if version.startswith(name)]
        if len(found) != 1:
            raise UsageError(f"{root} has no version {name!r}, but {', '.join(known)}{did_you_mean(name, known)}")
        pair.append(found[0])
    with Engine() as engine:
        for number, version in enumerate(pair):
            index = StoredIndex(root, read_manifest(root, version))
            for record, columns in _COLUMNS.items():
                engine.show(index.table_name(record), index.arrow(record, *columns).select(columns))
            if not number:
                engine.run(Path(__file__).with_suffix(".sql"))
            engine.run(f"INSERT INTO {('before', 'after')[number]} FROM held")
        told = engine.table("FROM differences").to_pylist()
    changes = [Changed(row["kind"], row["change"], len(row["names"]), row["names"][:limit]) for row in told]
    return Differences(*pair, changes)
