"""Write docs/openapi.json: `python docs/openapi.py docs/openapi.json`.

Clients rely on this file. A changed interface is written only if `API_VERSION` was increased.
"""

import json
import sys
from pathlib import Path
from typing import Any

from conspectus.server.app import application
from conspectus.storage.errors import UsageError


def described() -> dict[str, Any]:
    """Return the OpenAPI description of the interface."""
    return application().openapi()


def check_version(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raise UsageError if the interface has changed without an increased version."""
    before, now = old["info"]["version"], new["info"]["version"]
    if old != new and _numbers(now) <= _numbers(before):
        raise UsageError(
            f"the interface has changed: raise API_VERSION in conspectus/server/browse_routes.py above {before}"
        )


def write(path: Path) -> None:
    """Write the description to a file. Raises UsageError as `check_version` does."""
    new = described()
    if path.exists():
        check_version(json.loads(path.read_text("utf-8")), new)
    path.write_text(json.dumps(new, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
