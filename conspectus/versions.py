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

_COMPARED = (Document, Chunk, Entity, Relation, Mention, Claim, Community, Report)


def differences(context: "Context", before: str, after: str, limit: int) -> Differences:
    """Return what differs between two versions: see `operations.diff`."""
    root, now = context.index.root, after or context.index.manifest.version
    known = complete_versions(root)
    earlier = [version for version in published(root) if version != now]
    if not before and not earlier:
        raise UsageError(f"{root} has no earlier version; `build.keep_versions` says how many prune keeps")
    pair = []
    for name in (before or earlier[-1], now):
        found = [version for version in known if version.startswith(name)]
        if len(found) != 1:
            raise UsageError(f"{root} has no version {name!r}, but {', '.join(known)}{did_you_mean(name, known)}")
        pair.append(found[0])
    with Engine() as engine:
        for number, version in enumerate(pair):
            index = StoredIndex(root, read_manifest(root, version))
            for record in _COMPARED:
                engine.show(index.table_name(record), index.arrow(record))
            if not number:
                engine.run(Path(__file__).with_suffix(".sql"))
            engine.run(f"INSERT INTO {('before', 'after')[number]} FROM held")
        told = engine.table("FROM differences").to_pylist()
    changes = [Changed(row["kind"], row["change"], len(row["names"]), row["names"][:limit]) for row in told]
    return Differences(pair[0], pair[1], changes)
