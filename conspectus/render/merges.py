"""The names that were merged, as text."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.filenames import visible

if TYPE_CHECKING:
    from conspectus.storage.records import Merge


def merges(index: Path, rows: Sequence["Merge"]) -> str:
    """Return a line for each merge under the name that is kept, and how many there are."""
    if not rows:
        return f"{index}: no names were merged"
    lines: list[str] = []
    for (_, name), group in groupby(rows, key=lambda each: (each.entity_id, each.name)):
        lines.append(visible(name))
        lines += [_line(each) for each in group]
    undone = sum(each.undone for each in rows)
    count = len(rows) - undone
    lines.append(f"{count:,} name{'s' * (count != 1)} merged, {undone:,} taken back")
    return "\n".join(lines)


def _line(merge: "Merge") -> str:
    vote = f", the model says {merge.vote}" if merge.vote else ""
    state = "taken back: " if merge.undone else ""
    return f"  {visible(merge.alias)}  {state}{merge.reason} ({merge.score:.2f}{vote})"
