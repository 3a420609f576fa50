"""What an import did, as text for people."""

from collections.abc import Mapping
from typing import Any

from conspectus.render import text as show


def imported(done: Mapping[str, Any]) -> str:
    """Return what was read and what the build did, in a few lines."""
    read = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in done["read"].items())
    lines = [f"read {read}", show.build(done)]
    lines += [f"  listed: {count:,} x {reason}" for reason, count in done["listed"].items()]
    return "\n".join(lines)
