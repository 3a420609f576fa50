"""Undo and redo merges: rebuild the current index under the new decisions."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from conspectus.pipelines.build_report import BuildReport
from conspectus.pipelines.incremental import held_documents
from conspectus.pipelines.index import build_from
from conspectus.pipelines.plan import BuildSource
from conspectus.pipelines.resolution.cluster import UndoneMerge, UndoneMerges, kept_marks
from conspectus.pipelines.runner import Progress, Runner, no_progress
from conspectus.storage.errors import UsageError
from conspectus.storage.index import Index
from conspectus.storage.manifest import Manifest, current_manifest, current_version
from conspectus.storage.records import Document, Failure, Merge
from conspectus.storage.settings import Settings
from conspectus.storage.text.normalise import entity_key


def merges_in(index: Path) -> list[Merge]:
    """Return the merges of the version in force, those that were taken back among them, by the kept name."""
    current_version(index)
    manifest = current_manifest(index)
    rows = Index(index, manifest).rows(Merge) if manifest else []
    return sorted(rows, key=lambda row: (entity_key(row.name), entity_key(row.alias), row.id))


def undo(
    names: Sequence[str] | None,
    index: Path,
    settings: Settings,
    run: Runner | None = None,
    progress: Progress = no_progress,
) -> BuildReport:
    """Take merges back, all where no names are given, and return what was done.

    A name is that of an alias, or of what is kept (for all its aliases), or the id of a merge or of either. What was
    taken back stays so in every later build. UsageError, which says the nearest known name, where one names no merge;
    IndexNotFound where there is no index, UsageError where it was made with other settings.
    """

    def decide(merges: Sequence[Merge]) -> UndoneMerges:
        chosen = merges if names is None else named(names, merges, index)
        return _marks([*kept_marks(merges), *(UndoneMerge(item.alias_id, item.entity_id, item) for item in chosen)])

    return _rebuilt(decide, index, settings, run, progress)


def redo(
    names: Sequence[str] | None,
    index: Path,
    settings: Settings,
    run: Runner | None = None,
    progress: Progress = no_progress,
) -> BuildReport:
    """Merge again what was taken back, all where no names are given; the rest is as for `undo`."""

    def decide(merges: Sequence[Merge]) -> UndoneMerges:
        undone = [merge for merge in merges if merge.undone]
        chosen = undone if names is None else named(names, undone, index)
        again = {item.id for item in chosen}
        return _marks(merge for merge in kept_marks(merges) if merge.row.id not in again)

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

    current_version(index)  # before a folder is made for what is no index
    return build_from(BuildSource(read), index, settings, run, progress, decide=decide)


def _marks(marks: Iterable[UndoneMerge]) -> UndoneMerges:
    return tuple(sorted({mark.row.id: mark for mark in marks}.values(), key=lambda mark: mark.row.id))


def named(names: Sequence[str], merges: Sequence[Merge], index: Path) -> list[Merge]:
    """Return the merges that are named: by an alias first, and by what is kept where none is called so.

    UsageError, which says the nearest known name, where a name stands in none of them.
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
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return f"; did you mean {nearest[0]!r}?" if nearest else ""
