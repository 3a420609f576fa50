"""Write docs/openapi.json: `python -m conspectus.server.openapi docs/openapi.json`.

The file is what clients rely on. A changed interface is written only if `API_VERSION` went up.
"""

import json
import sys
from pathlib import Path
from typing import Any

from conspectus.server.app import application
from conspectus.storage.errors import UsageError


def described() -> dict[str, Any]:
    """Return the interface as OpenAPI describes it."""
    return application().openapi()


def check_version(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raise UsageError where the interface has changed and its version has not gone up."""
    before, now = old["info"]["version"], new["info"]["version"]
    if old != new and _numbers(now) <= _numbers(before):
        raise UsageError(
            f"the interface has changed: raise API_VERSION in conspectus/server/browsing.py above {before}"
        )


def write(path: Path) -> None:
    """Write the description; UsageError where `check_version` raises it."""
    new = described()
    if path.exists():
        check_version(json.loads(path.read_text("utf-8")), new)
    path.write_text(json.dumps(new, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
