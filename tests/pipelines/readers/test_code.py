"""Source code and notebooks: code in fences, what people wrote about it between them."""

import json
from pathlib import Path

import pytest
from conspectus.pipelines.readers.rows import Row

from tests.pipelines.readers.reading import read

PUMP = '''"""A pump moves water.

It has a piston.
"""

import os

# How many strokes it makes in a minute
MOST = 40
# MOST = 50


class Pump:
    """A hand pump."""

    async def run(self, n: int) -> int:
        """Return the litres that n strokes move."""
        return n * 2  # two each
'''


def headings(row: Row) -> list[tuple[str, int]]:
    return [(place.label, place.level) for place in row.places]


PROSE = [
    "A pump moves water.\n\nIt has a piston.",
    "How many strokes it makes in a minute",
    "run: Return the litres that n",
]


def test_docstrings_and_comments_are_text_and_the_rest_is_code(tmp_path: Path) -> None:
    (tmp_path / "pump.py").write_text(PUMP)
    row = read(tmp_path / "pump.py")[0][""]
    assert all(f"\n{prose}" in f"\n{row.text}" for prose in PROSE)
    blocks = [block.partition("```python\n")[2] for block in row.text.split("\n```\n") if "```python" in block]
    code = "\n".join([*blocks, row.text.rpartition("```python\n")[2].removesuffix("\n```")])
    assert "MOST = 40\n# MOST = 50" in code
    assert "        return n * 2  # two each" in code
    assert '    """A hand pump."""' in code, "two words are left where they stand"
    assert headings(row) == [("class Pump", 1), ("function run", 2)]
    for place in row.places:
        assert place.label.split()[-1] in row.text[place.start : place.start + 60]


def test_a_notebook_is_its_cells_and_the_outputs_that_are_text(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Pumps\n", "We count.\n", "## Data\n", "From the log."]},
        {"cell_type": "code", "source": "x = 3", "outputs": [
            {"output_type": "stream", "text": ["3\n"]}, {"output_type": "display_data", "data": {"image/png": "AAAA"}},
            {"output_type": "execute_result", "data": {"text/plain": ["four"]}},
            {"output_type": "error", "ename": "ValueError", "evalue": "no pump"}]},
        {"cell_type": "code", "source": [], "outputs": []},
        {"cell_type": "raw", "source": "No heading."},
    ]  # fmt: skip
    (tmp_path / "count.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    row = read(tmp_path / "count.ipynb")[0][""]
    assert row.title == "Pumps"
    assert row.text == (
        "Pumps\n\nWe count.\n\nData\n\nFrom the log.\n\n```python\nx = 3\n```\n\n```text\n3\n```\n\n```text\nfour\n```"
        "\n\n```text\nValueError: no pump\n```\n\nNo heading."
    )
    assert headings(row) == [("Pumps", 1), ("Data", 2)]


@pytest.mark.parametrize("content", ["{", '{"cells": 3}', '{"cells": [3, {"cell_type": "code", "outputs": 1}]}'])
def test_what_is_no_notebook_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(content)
    rows, lost = read(tmp_path / "a.ipynb")
    assert not rows
    assert lost["!"] in ("not a notebook", "no text")


TAP = """/** A brass tap for barrels. */
export class Tap {
  constructor(readonly turns: number = 4) {}

  /** Let some water run into a can. */
  pour(litres: number, slow = false): void {}
}
"""


def test_a_comment_is_about_the_definition_below_it_and_defaults_are_told(tmp_path: Path) -> None:
    (tmp_path / "tap.ts").write_text(TAP)
    row = read(tmp_path / "tap.ts")[0][""]
    assert headings(row) == [("class Tap", 1), ("function constructor", 2), ("function pour", 2)]
    assert "class Tap\n\nTap: A brass tap for barrels.\n\n```typescript\nexport class Tap {" in row.text
    assert "Tap: turns is 4 by default." in row.text
    assert "function pour\n\npour: Let some water run into a can." in row.text
    assert "pour: slow is false by default." in row.text
    (tmp_path / "can.py").write_text('class Can:\n    """Holds some clean water."""\n\n    litres: int = 7\n')
    assert "Can: litres is 7 by default." in read(tmp_path / "can.py")[0][""].text
