"""Headings of Markdown stand where the text says."""

import pytest
from conspectus.pipelines.readers.plain import markdown_links, markdown_places
from hypothesis import given
from hypothesis import strategies as st


def found(text: str) -> list[tuple[str, int]]:
    return [(place.label, place.level) for place in markdown_places(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One\n\n## Two ##\ntext\n###### Six", [("One", 1), ("Two", 2), ("Six", 6)]),
        ("#hash\n####### seven\n    # code\n\t# code", []),
        ("## \n#\n# #", []),
        ("Title\n===\n\nPart of\ntwo lines\n---\n", [("Title", 1), ("Part of two lines", 2)]),
        ("```\n# no\n```\n~~~~ py\n# no\n~~~\n# no\n~~~~\n# yes", [("yes", 1)]),
        ("```\n# never closed", []),
        ("- item\n---\n\n> quotation\n===\n\n| a |\n---\n", []),
        ("text\n\n---\n", []),
        ("* * *\n---\nx\n---", [("x", 2)]),
        ("# *A* `b` [c](https://d.e 'f') __g__", [("A b c g", 1)]),
        ("# C# and #2 \\#", [("C# and #2 \\#", 1)]),
        ("", []),
    ],
)
def test_headings(text: str, expected: list[tuple[str, int]]) -> None:
    assert found(text) == expected


@given(st.text(st.sampled_from("#=-`~ab \n*[]()>|"), max_size=200))
def test_every_heading_begins_a_line(text: str) -> None:
    for place in markdown_places(text):
        assert place.start == 0 or text[place.start - 1] == "\n"
        assert 1 <= place.level <= 6
        assert place.label == place.label.strip() != ""


def test_long_lines_take_no_long_time() -> None:
    assert found("# " + " " * 300_000 + "x") == [("x", 1)]
    assert found("[" * 300_000 + "\n" + "a\n" * 100_000 + "===") != []


LINKS = """# The pump's *care*

See [the valves](valves.md "All") and [how to oil][oil], [Oil], ![no](p.png), <https://example.org/a>, [x] and
[none][y], [[the well]].

```
[code](no.md)
```

## Care & oil <a id="oil-it"></a>

[oil]: oil.md#now
"""


def test_links_and_anchors() -> None:
    links, anchors = markdown_links(LINKS)
    assert [(LINKS[link.start : link.end], link.target) for link in links] == [
        ("the valves", "valves.md"), ("how to oil", "oil.md#now"), ("Oil", "oil.md#now"),
        ("https://example.org/a", "https://example.org/a"), ("the well", "the well"),
    ]  # fmt: skip
    found = {anchor.id: LINKS[anchor.start :].split()[0] for anchor in anchors}
    assert found["the-pumps-care"] == "#"
    assert found["oil-it"] == "<a"
