"""The rows of a benchmark's table: printed one by one, and written as JSON, which docs/measurements_page.py reads."""

import json
from pathlib import Path

Row = dict[str, str | float]


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
            self._widths = {key: max(len(key), 24 if isinstance(value, str) else 8) for key, value in row.items()}
            print("  ".join(f"{key:<{width}}" for key, width in self._widths.items()))
        self._rows.append(row)
        cells = (f"{_rounded(row.get(key, '')):<{width}}" for key, width in self._widths.items())
        print("  ".join(cells).rstrip(), flush=True)
        if self._file:
            self._file.write_text(json.dumps(self._rows, indent=1) + "\n", "utf-8")


def _rounded(value: str | float) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
