"""Undo and redo merges: rebuild the current index under the new decisions."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from conspectus.pipelines.build_index import build_from
from conspectus.pipelines.build_plan import BuildSource
from conspectus.pipelines.build_report import BuildReport
from conspectus.pipelines.incremental import held_documents
from conspectus.pipelines.resolution.cluster import UndoneMerges, kept_marks
from conspectus.pipelines.runner import Progress, no_progress
from conspectus.storage.errors import UsageError, did_you_mean
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import Manifest, current_version
from conspectus.storage.records import Document, Failure, Merge
from conspectus.storage.settings import Settings
from conspectus.storage.text.normalise import entity_key


def merges_in(index: Path) -> list[Merge]:
    """Return the merges of the current version, undone ones included, ordered by canonical name."""
    return sorted(
        StoredIndex.open(index).rows(Merge), key=lambda row: (entity_key(row.name), entity_key(row.alias), row.id)
    )


def change_merges(
    names: Sequence[str] | None,
    index: Path,
    settings: Settings,
    *,
    undone: bool,
    progress: Progress = no_progress,
) -> BuildReport:
    """Undo merges or redo undone ones, and rebuild the index; what is undone stays undone in every later build.

    Args:
        names: Aliases, canonical names (for all their aliases), or ids of merges or entities; None for all merges.
        index: The folder of the index.
        settings: The settings that the index was built with.
        undone: Whether the merges are undone from now on; False to redo them.
        progress: Called with the progress of the build.

    Returns:
        The report of the build.

    Raises:
        UsageError: A name matches no merge (the message suggests the nearest one), or the settings differ.
        IndexNotFound: The folder contains no index.
    """

    def decide(merges: Sequence[Merge]) -> UndoneMerges:
        eligible = merges if undone else kept_marks(merges)
        chosen = {merge.id for merge in (eligible if names is None else named(names, eligible, index))}
        return kept_marks(replace(merge, undone=undone) if merge.id in chosen else merge for merge in merges)

    def read(current: Manifest | None) -> tuple[list[Document], list[Failure]]:
        return held_documents(index, current, settings)

    current_version(index)  # raises before a folder is created if there is no index
    return build_from(BuildSource(read), index, settings, None, progress, decide=decide)


def named(names: Sequence[str], merges: Sequence[Merge], index: Path) -> list[Merge]:
    """Return the merges that the names select: by alias first, otherwise by canonical name.

    Raises:
        UsageError: A name matches no merge; the message suggests the nearest one.
    """
    chosen: list[Merge] = []
    for name in names:
        key = entity_key(name)
        found = [merge for merge in merges if name in (merge.id, merge.alias_id) or key == entity_key(merge.alias)]
        found = found or [merge for merge in merges if name == merge.entity_id or key == entity_key(merge.name)]
        if not found:
            known = [text for merge in merges for text in (merge.alias, merge.name)]
            raise UsageError(f"{index} has no merge of {name!r}{did_you_mean(name, known)}")
        chosen += found
    return list({item.id: item for item in chosen}.values())
