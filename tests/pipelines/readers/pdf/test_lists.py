"""Lists that lead to pages are told from text: tables of contents become headings, indexes are left out."""

import pytest
from conspectus.pipelines.readers.pdf.lists import level_of, numbered_headings, without_lists
from conspectus.pipelines.readers.pdf.reader import _Pages, _row
from conspectus.pipelines.readers.pdf.unwrap import lines_of

CONTENTS = """Contents
1 Pumps 2
1.1 Hand pumps . . . . . . . . . . . . 2
2 Valves that open when the
pressure is too high . . . . . . . . . . 3
A Tables ... 4"""
PAGES = (
    CONTENTS,
    "1 Pumps\nA pump moves water. In 1990 we sold 3\n1.1 Hand pumps\nA piston in a barrel of 20",
    "2 Valves that open when the pressure is too high\nThey were made in\nthe workshop until 2011\nand sold in 40\n"
    "towns, of which 12\nwere ports",
    "A Tables\nTown 1990\nPort 2000\nRiver 2010",
    "Index\nB\nbarrel, 2\nH\nhand pump, 2, 3\nP\npiston . . . . . . 2\npump, see also hand pump, 2\nports (sea), 3",
)


def test_contents_and_index_are_no_text_but_headings() -> None:
    pages = [lines_of(page) for page in PAGES]
    left, contents = without_lists(pages)
    assert left == [[], *pages[1:4], []]
    titles = ["1 Pumps", "1.1 Hand pumps", "2 Valves that open when the pressure is too high", "A Tables"]
    assert contents == titles
    read = _Pages(pages, [{}] * 5, [[]] * 5)
    row = _row(read, [str(number + 1) for number in range(5)], [], {})
    headings = [(place.label, place.level) for place in row.places if place.kind == "heading"]
    assert headings == [(title, level_of(title)) for title in titles]
    assert [level for _, level in headings] == [1, 2, 1, 1]


@pytest.mark.parametrize(
    "page",
    [
        "Prices of the year\nhand pump 12\npiston pump 15\nvalve 3\nbarrel 7\nTotal 37",
        "Index\nThe consumer price index of 2020 is 104\nIt rose by more than was expected of it in that year.",
    ],
)
def test_tables_and_words_are_no_lists(page: str) -> None:
    pages = [lines_of(page)] * 2
    assert without_lists(pages) == (pages, [])


def test_numbers_that_follow_one_another_are_headings() -> None:
    pages = [
        ["1 Pumps", "3 times a day", "1.1 Hand pumps", "1.3 Lost"],
        ["2 Valves", "2.1 Springs", "3 Pipes."],
        ["3 Pipes"],
    ]
    assert [(entry.page, entry.title) for entry in numbered_headings(pages)] == [
        (0, "1 Pumps"), (0, "1.1 Hand pumps"), (1, "2 Valves"), (1, "2.1 Springs"), (2, "3 Pipes"),
    ]  # fmt: skip
    assert numbered_headings(pages[:1]) == []
