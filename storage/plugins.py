"""Plug-ins: readers, methods and exporters of other packages, declared by entry points.

    [project.entry-points."conspectus.readers"]
    ".notes" = "my_package:read_notes"

A plug-in is imported on first use. If the import fails, one line is logged and the other plug-ins still work.
`CONSPECTUS_PLUGINS=off` disables all. docs/plugins.md describes each kind, `conspectus.testing` tests them.
"""

import logging
import os
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from conspectus.storage.errors import PluginFailed

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Kind = Literal["readers", "methods", "exporters"]
KINDS: tuple[Kind, ...] = ("readers", "methods", "exporters")
SWITCH = "CONSPECTUS_PLUGINS"
_log = logging.getLogger("conspectus.plugins")


@dataclass(frozen=True)
class Plugin:
    """A plug-in: its kind, its name (a suffix for a reader), and its package and version."""

    kind: Kind
    name: str
    package: str
    entry: "EntryPoint"

    def load(self) -> Any:  # noqa: ANN401  (what it should be depends on its kind)
        """Import it.

        Raises:
            PluginFailed: It cannot be imported; the message is one line that names the package and the reason.
        """
        try:
            return self.entry.load()
        except Exception as error:
            raise PluginFailed(self.complaint(error)) from error

    def complaint(self, error: Exception) -> str:
        """Return a one-line message about an error of the plug-in."""
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        return f"the plug-in {self.name!r} ({self.kind}) of {self.package} failed: {reason}"


def plugins(kind: Kind) -> dict[str, Plugin]:
    """Return the installed plug-ins of a kind by name; if several share a name, the first by package."""
    return {} if os.environ.get(SWITCH) == "off" else dict(_found(kind))


@cache
def _found(kind: Kind) -> dict[str, Plugin]:
    from importlib.metadata import entry_points

    found: dict[str, Plugin] = {}
    rows = [(f"{e.dist.name} {e.dist.version}" if e.dist else "?", e) for e in entry_points(group=f"conspectus.{kind}")]
    for package, entry in sorted(rows, key=lambda row: (row[1].name, row[0])):
        name = entry.name.lower() if kind == "readers" else entry.name
        found.setdefault(name, Plugin(kind, name, package, entry))
    return found


@cache
def warn(line: str) -> None:
    """Log a line once per process."""
    _log.warning("conspectus: %s", line)
