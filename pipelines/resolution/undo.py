"""Undo and redo merges: rebuild the current index under the new decisions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from conspectus.pipelines.build_index import build_from
from conspectus.pipelines.build_plan import BuildSource
from conspectus.pipelines.build_report import BuildReport
from conspectus.pipelines.incremental import held_documents
from conspectus.pipelines.resolution.cluster import UndoneMerges, kept_marks
from conspectus.pipelines.runner import Progress, Runner, no_progress
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


def undo(
    names: Sequence[str] | None,
    index: Path,
    settings: Settings,
    run: Runner | None = None,
    progress: Progress = no_progress,
) -> BuildReport:
    """Undo merges and rebuild the index; they stay undone in every later build.

    Args:
        names: Aliases, canonical names (for all their aliases), or ids of merges or entities; None for all merges.
        index: The folder of the index.
        settings: The settings that the index was built with.
        run: Runs the shards of a step; None for the default runner.
        progress: Called with the progress of the build.

    Returns:
        The report of the build.

    Raises:
        UsageError: A name matches no merge (the message suggests the nearest one), or the settings differ.
        IndexNotFound: The folder contains no index.
    """

    def decide(merges: Sequence[Merge]) -> UndoneMerges:
        chosen = merges if names is None else named(names, merges, index)
        return _marks([*kept_marks(merges), *chosen])

    return _rebuilt(decide, index, settings, run, progress)


def redo(
    names: Sequence[str] | None,
    index: Path,
    settings: Settings,
    run: Runner | None = None,
    progress: Progress = no_progress,
) -> BuildReport:
    """Redo undone merges and rebuild the index. Arguments, result and errors are those of `undo`."""

    def decide(merges: Sequence[Merge]) -> UndoneMerges:
        undone = [merge for merge in merges if merge.undone]
        chosen = undone if names is None else named(names, undone, index)
        again = {item.id for item in chosen}
        return _marks(merge for merge in kept_marks(merges) if merge.id not in again)

    return _rebuilt(decide, index, settings, run, progress)


def _rebuilt(
    decide: Callable[[Sequence[Merge]], UndoneMerges],
    index: Path,
    settings: Settings,
    run: Runner | None,
    progress: Progress,
) -> BuildReport:
    def read(current: Manifest | None) -> tuple[list[Document], list[Failure]]:
        return held_documents(index, current, settings)

    current_version(index)  # raises before a folder is created if there is no index
    return build_from(BuildSource(read), index, settings, run, progress, decide=decide)


def _marks(marks: Iterable[Merge]) -> UndoneMerges:
    return tuple(sorted({mark.id: replace(mark, undone=True) for mark in marks}.values(), key=lambda mark: mark.id))


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
            raise UsageError(f"{index} has no merge of {name!r}{_nearest(name, merges)}")
        chosen += found
    return list({item.id: item for item in chosen}.values())


def _nearest(name: str, merges: Sequence[Merge]) -> str:
    known = [text for merge in merges for text in (merge.alias, merge.name)]
    return did_you_mean(name, known)
