"""Markdown: the text without marks, its headings, links and anchors, and the additions of notes."""

from pathlib import Path

import pytest
from conspectus.pipelines.readers.markdown import add_markdown
from conspectus.pipelines.readers.rows import Draft, Row
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.readers.reading import read


def drafted(text: str) -> Row:
    draft = Draft()
    add_markdown(draft, text)
    return draft.row(None, {})


def headings(text: str) -> list[tuple[str, int]]:
    return [(place.label, place.level) for place in drafted(text).places]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n\n## Two ##\ntext\n###### Six", [("One", 1), ("Two", 2), ("Six", 6)]),
        ("Title\n===\n\nPart of\ntwo lines\n---\n", [("Title", 1), ("Part of two lines", 2)]),
        ("```\n# no\n```\n~~~~ py\n# no\n~~~\n# no\n~~~~\n# yes", [("yes", 1)]),
        ("# *A* `b` [c](https://d.e 'f') __g__", [("A b c g", 1)]),
    ],
)
def test_headings(text: str, expected: list[tuple[str, int]]) -> None:
    assert headings(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use <b>it</b> <!-- TODO --> ![no](p.png) with **care**.", "Use it with care."),
        (":::warning\nNever as root.\n:::", "Never as root."),
        ("> [!NOTE]\n> The yearly meeting.", "The yearly meeting."),
        ("Copy <file> to <https://a.example>.", "Copy <file> to https://a.example."),
        ("Oil[^1] it.\n\n[^1]: Every week.", "Oil it.\n\nEvery week."),
        ("| a | b |\n| - | - |\n| 1 | 2 |", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("1. Fees\n   1. Ninety euros.\n   2. Travel.\n2. Law", "1. Fees\n1.1. Ninety euros.\n1.2. Travel.\n2. Law"),
        ("Laid down by [[Eskil Vance|him]] %% secret %%in 1968. ^hull", "Laid down by him in 1968."),
        ("Owner:: Sailing Club\nLength:: 9 m", "Owner: Sailing Club\nLength: 9 m"),
        ("milk\neggs\nask Bo", "milk\neggs\nask Bo"),
        (
            "A year ago the project moved away from paid\nprograms, such as [Slate\n& Co](https://s.example) and all.",
            "A year ago the project moved away from paid programs, such as Slate & Co and all.",
        ),
    ],
)
def test_what_is_no_content_is_left_out(text: str, expected: str) -> None:
    assert drafted(text).text == expected


@given(st.text(st.sampled_from("#=-`~ab \n*[]()>|:%^!&;<"), max_size=120))
def test_no_word_is_lost(text: str) -> None:
    """Outside of links, pictures, tags and comments every letter of a text stays."""
    if not set("[!<%^&:#") & set(text) and "ab" in text:
        draft = Draft()
        add_markdown(draft, text)
        assert "".join(draft.text().split()).count("ab") >= 1
    for place in drafted(f"x\n\n{text}").places:
        assert 1 <= place.level <= 6
        assert place.label == place.label.strip() != ""


def test_a_hostile_text_takes_no_long_time(tmp_path: Path) -> None:
    for text in (
        "# " + " " * 30_000 + "x",
        "[" * 4_000 + "\n" + "a\n" * 4_000 + "===",
        "%%" * 30_000,
        "> " * 4_000,
    ):
        (tmp_path / "a.md").write_text(text, "utf-8")
        rows, lost = read(tmp_path / "a.md")
        assert rows or lost


LINKS = """# The pump's *care*

See [the valves](valves.md "All") and [how to oil][oil], [Oil], ![no](p.png), <https://example.org/a>, [x] and
[none][y], [[the well]].

```
[code](no.md)
```

## <a id="oil-it"></a>Care & oil

[oil]: oil.md#now
"""


def test_links_and_anchors() -> None:
    row = drafted(LINKS)
    assert [(row.text[link.start : link.end], link.target) for link in row.hyperlinks] == [
        ("the valves", "valves.md"), ("how to oil", "oil.md#now"), ("Oil", "oil.md#now"),
        ("https://example.org/a", "https://example.org/a"), ("the well", "the well"),
    ]  # fmt: skip
    found = {anchor.id: row.text[anchor.start :].split("\n")[0] for anchor in row.anchors}
    assert found["the-pumps-care"] == "The pump's care"
    assert found["oil-it"] == "Care & oil"


def test_front_matter_is_metadata_and_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: Joined\nauthor: Ada\ndate: 2022-11-17\nweight: 3\n---\nToday.", "utf-8")
    rows, _ = read(tmp_path / "a.md")
    (row,) = rows.values()
    assert (row.title, row.text) == ("Joined", "author: Ada; date: 2022-11-17\n\nToday.")
    assert row.metadata == {"author": "Ada", "date": "2022-11-17", "weight": "3"}


def test_a_number_of_front_matter_is_said_where_its_name_is_in_words(tmp_path: Path) -> None:
    (tmp_path / "fern.md").write_text("---\ndays to sprout: 31\nnav_order: 4\n---\nA fern.\n")
    assert read(tmp_path / "fern.md")[0][""].text == "days to sprout: 31\n\nA fern."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('The fire burns. {{< figure src="/fire.jpg" >}} We bake.', "The fire burns. We bake."),
        ("Ready{% if page.beta %}, or not{% endif %}.", "Ready, or not."),
        ("One. {% comment %} a secret {% endcomment %}Two.", "One. Two."),
        ("3. Never close it. {: .steps}", "3. Never close it."),
        ("Write `{{ page.title }}` for the title.", "Write {{ page.title }} for the title."),
        (
            '!!! danger "Take care"\n\n    Never ==touch== it.\n\n    - a\n\nDone.',
            "Take care Never touch it. - a Done.",
        ),
        ('=== "Linux"\n\n    Run one.\n\n=== "Windows"\n\n    Run two.', "Linux Run one. Windows Run two."),
    ],
)
def test_what_fills_a_template_is_no_content(text: str, expected: str) -> None:
    assert " ".join(drafted(text).text.split()) == expected
