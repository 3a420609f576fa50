"""What an update would redo, as text."""

from collections.abc import Mapping
from typing import Any

from conspectus.render import estimate as show_estimate

_KINDS = ("new", "changed", "gone")
_NAMED = 3


def preview(made: Mapping[str, Any]) -> str:
    """Return what an update would find and do in a few lines, with the estimate of what models are asked."""
    lines = [f"{made['index']}: {made['same']:,} documents as they are, {_counts(made)}"]
    lines += [f"  {kind}: {_named(made[kind])}" for kind in _KINDS if made[kind]["count"]]
    if made["unreadable"]:
        lines.append(f"  {made['unreadable']:,} cannot be read")
    if made["unchanged"]:
        return "\n".join([*lines, "nothing would be done"])
    if made["other_settings"]:
        lines.append("  the index was made with other settings: more is redone than what changed")
    extract = "" if made["extract"] is None else f"{made['extract']:,} to be extracted from, "
    lines.append(
        f"of {made['chunks']:,} chunks {extract}{made['embed']:,} texts to be embedded; names and reports on top"
    )
    if made["estimate"] is None:
        lines.append("what the model would be asked cannot be estimated for extraction.method openie")
    elif made["estimate"]["steps"]:
        lines.append(show_estimate.estimate(made["estimate"]))
    return "\n".join(lines)


def _counts(made: Mapping[str, Any]) -> str:
    return ", ".join(f"{made[kind]['count']:,} {kind}" for kind in _KINDS)


def _named(changes: Mapping[str, Any]) -> str:
    shown = ", ".join(changes["uris"][:_NAMED])
    return f"{shown}, ..." if changes["count"] > _NAMED else shown
