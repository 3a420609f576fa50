"""Rich Text: paragraphs, letters of other code pages; hostile files end soon."""

from pathlib import Path

import pytest

from tests.pipelines.readers.reading import read

HEAD = r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fswiss Arial;}{\f1\fnil\fcharset204{\*\fname Times;}Times Cyr;}}"


def test_paragraphs_links_and_code_pages(tmp_path: Path) -> None:
    path = tmp_path / "a.rtf"
    path.write_text(
        HEAD + r"\f0 The {\b bell} by Gr\u246?\'dfl.\par{\field{\*\fldinst{HYPERLINK x}}{\fldrslt the site}}\par"
        r"\f1 \'cc\'f5\par}"
    )
    assert read(path)[0][""].text == "The bell by Größl.\n\nthe site\n\nМх"
    path.write_text("no such thing")
    assert read(path) == ({}, {"!": "damaged document"})


@pytest.mark.parametrize("repeated", [r"{\field{\*\fldinst{ ", r"{\fonttbl{\f1\fcharset2", "{", r"\'e9\'"])
def test_repeated_beginnings_take_linear_time(tmp_path: Path, repeated: str) -> None:
    path = tmp_path / "a.rtf"
    path.write_text(HEAD + "The bell. " + repeated * 20_000)
    rows, lost = read(path)
    assert rows or lost
