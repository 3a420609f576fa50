import datetime
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.records import Place
from conspectus.storage.settings import InputSettings
from openpyxl import Workbook

from tests.pipelines.readers.reading import read, read_apart, texts

Patch = Callable[[str, bytes], bytes]
"""Changes a member of a workbook: its name and content in, its content out."""


def saved(path: Path, **sheets: list[list[object]]) -> Path:
    book = Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def patched(path: Path, patch: Patch) -> Path:
    with zipfile.ZipFile(path) as book:
        members = {name: book.read(name) for name in book.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, content in members.items():
            book.writestr(name, patch(name, content))
    return path


def with_rows(path: Path, rows: str, before: str = "") -> Path:
    """A workbook of one sheet that has these rows, and says that it is as large as a sheet can be."""
    sheet = (
        f'{before}<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f'<dimension ref="A1:XFD1048576"/><sheetData>{rows}</sheetData></worksheet>'
    )
    return patched(
        saved(path, One=[["x"]]), lambda name, content: sheet.encode() if name.endswith("sheet1.xml") else content
    )


TABLE: list[list[object]] = [
    ["id", " text ", "when", None],
    [1, "One.", datetime.datetime(2020, 1, 2), "dropped"],
    [],
    [2.5, "Two.", datetime.datetime(2020, 1, 2, 3, 4)],
    ["x", 5],
    ["y"],
]


def test_a_sheet_with_a_text_column_is_a_table(tmp_path: Path) -> None:
    rows, lost = read(saved(tmp_path / "a.xlsx", Sheet=[[], *TABLE]))
    assert {name: (row.id, row.text, row.metadata) for name, row in rows.items()} == {
        "#1": ("1", "One.", {"when": "2020-01-02"}),
        "#2": ("2.5", "Two.", {"when": "2020-01-02T03:04:00"}),
    }
    assert lost == {"#3": "the text is not a string", "#4": "empty"}


def test_other_sheets_are_one_text(tmp_path: Path) -> None:
    sheets: dict[str, list[list[object]]] = {
        "Budget": [
            ["Item", "Cost", "Paid"],
            ["Chair\nred", 3, True],
            [],
            [None, None, datetime.date(2020, 1, 2)],
            ["Sum", None, 1.5],
        ],
        "Empty": [],
        "Notes": [["A note."]],
    }
    rows, lost = read(saved(tmp_path / "a.xlsx", **sheets))
    text = "Item: Chair red; Cost: 3; Paid: true\n\nPaid: 2020-01-02\n\nItem: Sum; Paid: 1.5\n\nA note."
    assert (texts(rows), lost) == ({"": text}, {})
    assert rows[""].places == (Place(0, "sheet", "Budget", 0), Place(text.index("A note."), "sheet", "Notes", 0))
    rows, lost = read(saved(tmp_path / "b.xlsx", Rows=TABLE, Doubles=[["text", "a", "a"], ["x", 1, 2]], **sheets))
    assert list(rows) == ["Rows#1", "Rows#2", "Doubles#1", ""]
    assert rows["Doubles#1"].metadata == {"a": "1", "a (2)": "2"}
    assert rows[""].text == text
    assert lost == {
        "Rows#3": "the text is not a string",
        "Rows#4": "empty",
    }


def test_what_a_sheet_says_of_its_size_costs_nothing(tmp_path: Path) -> None:
    cell = '<row r="{0}"><c r="XFD{0}" t="inlineStr"><is><t>far</t></is></c></row>'
    (row,) = read_apart(with_rows(tmp_path / "a.xlsx", cell.format(1_048_576)))
    assert isinstance(row, Row)
    assert row.text == "far"
    near = '<row r="1"><c r="A1" t="inlineStr"><is><t>near</t></is></c></row>'
    for number, name in ((1_048_576, "b.xlsx"), (2_000_000_000, "c.xlsx")):
        (lost,) = read_apart(with_rows(tmp_path / name, near + cell.format(number)))
        assert isinstance(lost, Lost), name


def test_the_number_of_characters_is_bounded(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.xlsx", One=[["word"] * 10] * 10)
    assert read(path, InputSettings(max_characters=100))[1] == {"": "longer than input.max_characters (100)"}


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
LAUGHS = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'


def test_broken_workbooks(tmp_path: Path) -> None:
    cases: list[tuple[Path, str]] = [
        (
            with_rows(tmp_path / "a.xlsx", '<row r="1"><c r="A1"><is><t>&b;</t></is></c></row>', LAUGHS),
            "damaged workbook",
        ),
        (with_rows(tmp_path / "b.xlsx", "<row"), "damaged workbook"),
        (with_rows(tmp_path / "c.xlsx", '<row r="1"><c r="A1" t="s"><v>99</v></c></row>'), "damaged workbook"),
        (with_rows(tmp_path / "d.xlsx", ""), "empty"),
    ]
    for name, content, reason in [
        ("e.xlsx", b"", "empty"),
        ("f.xlsx", b"PK\x03\x04 and no more", "damaged archive"),
        ("g.xlsx", OLE + bytes(600), "damaged workbook"),
        ("i.xls", OLE + bytes(600), "damaged workbook"),
    ]:
        (tmp_path / name).write_bytes(content)
        cases.append((tmp_path / name, reason))
    with zipfile.ZipFile(tmp_path / "j.xlsx", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("xl/workbook.xml", bytes(20_000_000))
    cases.append((tmp_path / "j.xlsx", "extreme compression ratio"))
    patched_data = bytearray((tmp_path / "c.xlsx").read_bytes())
    for entry in re.finditer(rb"PK\x01\x02", patched_data):
        patched_data[entry.start() + 8] |= 0x20  # "compressed patched data", which zipfile does not know
    (tmp_path / "k.xlsx").write_bytes(patched_data)
    cases.append((tmp_path / "k.xlsx", "damaged workbook"))
    for path, reason in cases:
        assert read(path)[1] == {"!": reason}, path.name


def test_cells_merged_downwards_hold_for_all_their_rows_below_a_title(tmp_path: Path) -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (
        ["Rates of 2025"],
        ["City", "Staff", "Rate"],
        ["Norbury", "Head", 480],
        [None, "Other", 350],
        ["Ash", "Head", 9],
    ):
        sheet.append(row)
    sheet.merge_cells("A1:C1")
    sheet.merge_cells("A3:A4")
    book.save(tmp_path / "a.xlsx")
    assert read(tmp_path / "a.xlsx")[0][""].text == (
        "Rates of 2025\n\nCity: Norbury; Staff: Head; Rate: 480\n\nCity: Norbury; Staff: Other; Rate: 350\n\n"
        "City: Ash; Staff: Head; Rate: 9"
    )


def test_titles_and_two_rows_of_names_stand_above_a_table(tmp_path: Path) -> None:
    rows: list[list[object]] = [
        ["Ferry fares"],
        ["in crowns, dogs are free"],
        [],
        [None, "Adults", None, "Children", None],
        ["Line", 2023, 2024, 2023, 2024],
        ["North", 9, 10, 4, 5],
        ["South", 8, 9, 3, 4],
        ["Bicycles go on the deck."],
    ]
    [row] = read(saved(tmp_path / "a.xlsx", Fares=rows))[0].values()
    assert row.text.split("\n\n") == [
        "Ferry fares",
        "in crowns, dogs are free",
        "Line: North; Adults 2023: 9; Adults 2024: 10; Children 2023: 4; Children 2024: 5",
        "Line: South; Adults 2023: 8; Adults 2024: 9; Children 2023: 3; Children 2024: 4",
        "Bicycles go on the deck.",
    ]


def test_titles_stand_above_the_names_of_a_csv_file(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("sep=;\nGoats of the farm;as of May\n\nname;born;milk;stall\nAda;2019;3.5;A\nBo;2021;2;B\n")
    [row] = read(file)[0].values()
    assert row.text == (
        "Goats of the farm as of May\n\nname: Ada; born: 2019; milk: 3.5; stall: A\n\n"
        "name: Bo; born: 2021; milk: 2; stall: B"
    )


def test_years_are_names_above_other_numbers(tmp_path: Path) -> None:
    [row] = read(saved(tmp_path / "a.xlsx", Rain=[["Town", 2023, 2024], ["Aster", 611, 702]]))[0].values()
    assert row.text == "Town: Aster; 2023: 611; 2024: 702"
