"""The rows of a benchmark's table: printed one by one, and written as JSON, which docs/measurements_page.py reads."""

import json
from pathlib import Path
from typing import Any

Row = dict[str, Any]
"""A name, and figures: numbers, texts, or intervals with `mean`, `low` and `high`."""


class Rows:
    """A table. Each row has a name first; a later row may lack figures.

    Args:
        file: Also write the rows to this file; None to print only.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._rows: list[Row] = []
        self._widths: dict[str, int] = {}

    def add(self, row: Row) -> None:
        """Print a row, below the heads of the first one, and write all rows."""
        if not self._rows:
            self._widths = {
                key: max(len(key), 8 if isinstance(value, int | float) else 24) for key, value in row.items()
            }
            print("  ".join(f"{key:<{width}}" for key, width in self._widths.items()))
        self._rows.append(row)
        cells = (f"{_rounded(row.get(key, '')):<{width}}" for key, width in self._widths.items())
        print("  ".join(cells).rstrip(), flush=True)
        if self._file:
            self._file.write_text(json.dumps(self._rows, indent=1) + "\n", "utf-8")


def _rounded(value: Any) -> str:  # noqa: ANN401  (a figure)
    if isinstance(value, dict):
        return f"{value['mean']:.4g} [{value['low']:.4g}, {value['high']:.4g}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
