"""What an export wrote, as text for people and as JSON for programs."""

from pathlib import Path
from typing import Any

from conspectus.pipelines.exchange.export_result import Exported


def exported(done: Exported, to: Path) -> str:
    """Return where the export is, how much is in it, and what should be known of it."""
    counted = ", ".join(_count(count, kind) for kind, count in done.rows.items() if count)
    return "\n".join(
        [f"wrote {to}: {counted or 'nothing, for there is nothing'}", *(f"  {each}" for each in done.notes)]
    )


def exported_json(name: str, done: Exported) -> dict[str, Any]:
    """Return the same as plain values."""
    return {
        "format": name,
        "files": [str(each) for each in done.files],
        "rows": done.rows,
        "notes": list(done.notes),
    }


def _count(number: int, plural: str) -> str:
    """Return `1 entity`, `2 entities`."""
    if number != 1:
        return f"{number:,} {plural}"
    return f"1 {plural[:-3]}y" if plural.endswith("ies") else f"1 {plural[:-1]}"
