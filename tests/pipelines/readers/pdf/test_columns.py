"""Two columns that are drawn row by row are read one after the other; a table is not."""

from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas

from tests.pipelines.readers.reading import read

LEFT = [
    "The old mill was sold in the spring of that",
    "year to a weaver from the next valley, who",
    "put in twelve looms.",
]
RIGHT = [
    "The ferry runs on each day but Sunday, and",
    "it is steered by the daughter of the man",
    "who built the boat in the yard behind.",
]


def draw(path: Path, rows: list[tuple[str, str]], left: float = 60, right: float = 320) -> str:
    canvas = Canvas(str(path), pageCompression=0)
    canvas.drawString(60, 780, "Parish News")
    for number, (one, other) in enumerate(rows):
        canvas.drawString(left, 740 - 14 * number, one)
        canvas.drawString(right, 740 - 14 * number, other)
    canvas.save()
    return read(path)[0][""].text


@pytest.mark.parametrize("left", [60, 40])
def test_columns_of_prose_are_read_one_after_the_other(tmp_path: Path, left: float) -> None:
    text = draw(tmp_path / "a.pdf", list(zip(LEFT * 2, RIGHT * 2, strict=True)), left=left)
    assert "who put in twelve looms." in text
    assert text.index("twelve looms.") < text.index("The ferry")


def test_bullets_are_no_column(tmp_path: Path) -> None:
    lines = draw(tmp_path / "a.pdf", [("\u2022", line) for line in (*LEFT, *RIGHT)], right=80).split("\n")
    assert sum(line.startswith("\u2022 ") for line in lines) == 6


def test_rows_of_a_table_stay_together(tmp_path: Path) -> None:
    rows = [(f"Grade {number}", f"Room {number} on the upper floor of the old school") for number in range(8)]
    lines = draw(tmp_path / "a.pdf", rows, right=200).split("\n")
    assert "Grade 3 Room 3 on the upper floor of the old school" in " ".join(lines)


def test_a_small_fraction_stays_in_its_line(tmp_path: Path) -> None:
    canvas = Canvas(str(tmp_path / "a.pdf"))
    canvas.drawString(60, 740, "For boards of oak take screws of 2")
    canvas.setFont("Helvetica", 6)
    width = canvas.stringWidth("For boards of oak take screws of 2", "Helvetica", 12)
    for at, (sign, lift) in enumerate((("3", 5), ("/", 2), ("8", -1))):
        canvas.drawString(61 + width + 3.4 * at, 740 + lift, sign)
    canvas.setFont("Helvetica", 12)
    canvas.drawString(60, 725, "inches, and no others.")
    canvas.save()
    assert "screws of 2 3/8 inches" in " ".join(read(tmp_path / "a.pdf")[0][""].text.split())
