"""Web pages as they come."""

from pathlib import Path

import pytest
from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.rows import Draft
from conspectus.pipelines.readers.web.page import add_page, parse_page, read_html
from conspectus.storage.settings import InputSettings
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.readers.reading import headings, only_row, read

PAGE = """<!DOCTYPE html><html lang="en"><head><title>The  Dam &amp; we</title><style>p {}</style>
<meta name="author" content="Ada"><meta property="article:published_time" content="2020-01-02"></head>
<body><nav><a href="/">Home</a></nav><h1>The <em>Dam</em></h1>
<p>It is   old,<br>and the caf&eacute;&nbsp;is <b>n</b>ew.</p><script>no()</script><!-- no -->
<ul><li>one<li>two<ul><li>deep</ul></ul>
<table><caption>Costs</caption><tr><th>year<th>cost<tr><td><p>1990</p><td>a<br>b</table>
<div hidden>unseen</div><p style="color: red; display:none">unseen</p><template>unseen</template>
<pre>  code
    here</pre><h3>Third</h3>The end<hr>of it.</body></html>"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "page.html"


def text_of(markup: str) -> str:
    root = parse_page(markup)
    draft = Draft()
    if root is not None:
        add_page(root, draft)
    return draft.text()


def test_a_good_page(path: Path) -> None:
    path.write_text(PAGE, "utf-8")
    row = only_row(read_html, path)
    assert row.text == (
        "The Dam\n\nIt is old,\nand the café is new.\n\n- one\n- two\n- deep\n\nCosts\n\n| year | cost |\n"
        "| --- | --- |\n| 1990 | a b |\n\n```\n  code\n    here\n```\n\nThird\n\nThe end\n\nof it."
    )
    assert headings(row) == [("The Dam", 1), ("Third", 3)]
    assert row.title == "The Dam & we"
    assert row.metadata == {"language": "en", "author": "Ada", "date": "2020-01-02"}


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>one<p>two<b>three</p>four", "one\n\ntwothree\n\nfour"),
        ("no markup < at & all", "no markup < at & all"),
        ("<table><tr><td><p>a</p><p>b</p></table>", "a\n\nb"),
        ("<table><tr><td><table><tr><td>in<td>ner</table><td><p>out</table>", "| in | ner |\n\nout"),
        (
            "<dl><dt>pump<dd>moves water<p>uphill<dt>a<dt>b<dd>c<dt>d</dl>e",
            "pump: moves water\n\nuphill\na, b: c\nd\n\ne",
        ),
        ("<ol start=3><li>a<ul><li>b</ul><li>c</ol>", "3. a\n- b\n4. c"),
        ("<p>so:<pre>\n\tx = `1`\n\n  y\n</pre>done", "so:\n\n```\n        x = `1`\n\n  y\n```\n\ndone"),
        ("<pre>a\n```\nb</pre>", "````\na\n```\nb\n````"),
        ("<table><tr><th>a<th><th>b<tr><td>1<td><td>2</table>", "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt></ruby>", "漢kan"),
        (
            '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body><p>a&nbsp;b&eacute;</p></body></html>',
            "a bé",
        ),
        ('<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>broken</body></html>', "broken"),
    ],
)
def test_markup(markup: str, text: str) -> None:
    assert text_of(markup) == text


def test_terms_of_definitions_are_marked_at_their_place(path: Path) -> None:
    path.write_text("<h1>Quay</h1><dl><dt>bollard<dd>a post</dl><p>A <dfn>hawser</dfn> is a thick rope.", "utf-8")
    row = only_row(read_html, path)
    assert [(row.text[link.start : link.end], link.target, link.kind) for link in row.hyperlinks] == [
        ("bollard", "#", "definition"),
        ("hawser", "#", "definition"),
    ]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<p>Žluťoučký kůň".encode("utf-16"), "Žluťoučký kůň"),
        ("<meta charset=iso-8859-1><p>“café”".encode("cp1252"), "“café”"),
        (
            "<meta http-equiv=x content='text/html; charset=Shift_JIS'><p>東京は日本の首都".encode("cp932"),
            "東京は日本の首都",
        ),
        ("<meta charset=iso-2022-jp><p>東京".encode("iso-2022-jp"), "東京"),
        ("<meta charset=unicode_escape><p>\\u0041".encode("ascii"), "\\u0041"),
    ],
)
def test_encodings(content: bytes, text: str, path: Path) -> None:
    path.write_bytes(content)
    assert only_row(read_html, path).text == text


def test_entities_are_never_files_nor_laughter(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    declared = f'[<!ENTITY l0 "lol">{laughs}<!ENTITY x SYSTEM "file://{tmp_path}/secret.txt">]'
    for kind in ('<?xml version="1.0"?>', ""):
        page = (
            f'{kind}<!DOCTYPE html {declared}><html xmlns="http://www.w3.org/1999/xhtml"><body>a&x;&l9;b</body></html>'
        )
        with pytest.raises(Unreadable, match="entities of its own"):
            text_of(page)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"   ", "no text"),
        (b"<html><body><script>x</script></body></html>", "no text"),
        (b"<p>" + bytes(500), "binary data"),
        (b"<p>text" + b"<div>" * 50_000, "not a readable web page"),
        (b"<p>" + b"x" * 200, "longer than input.max_characters (100)"),
    ],
)
def test_refusals(content: bytes, reason: str, path: Path) -> None:
    path.write_bytes(content)
    assert list(read(path, InputSettings(max_characters=100))[1].values()) == [reason]


@given(
    st.lists(
        st.sampled_from(
            ["<p>", "<table>", "<tr>", "<td>", "</table>", "<h1>", "</h1>", "<li>", "<pre>", "<br>", "a", " b\n"]
        )
    )
)
def test_any_order_of_elements(pieces: list[str]) -> None:
    markup = "".join(pieces)
    seen = "".join(piece for piece in pieces if piece in ("a", " b\n"))
    root = parse_page(markup)
    draft = Draft()
    if root is not None:
        add_page(root, draft)
    if seen:
        found = draft.text()
        assert sorted(sign for sign in found if sign in "ab") == sorted(sign for sign in seen if sign in "ab")
        for place in draft.places:
            assert found[place.start :].startswith(place.label[:1])


def test_links_and_anchors_stand_where_their_text_does(path: Path) -> None:
    page = """<title>Pumps</title><h1 id="pumps">Pumps</h1><a name="old"></a>
        <p>See <a href="valves.html#check"> check <b>valves</b> </a>, not <a href="https://example.org/x?y=1">out</a>.
        <ul><li><a href="#pumps">back</a></ul><table><tr><th id="w">Weight</th><td>3 <a href="u">kg</a></td></table>
        <p id="end"></p>"""
    path.write_text(page, "utf-8")
    row = only_row(read_html, path)
    found = [(row.text[link.start : link.end], link.target) for link in row.hyperlinks]
    assert found == [
        ("check valves", "valves.html#check"), ("out", "https://example.org/x?y=1"), ("back", "#pumps"), ("kg", "u"),
    ]  # fmt: skip
    anchors = {anchor.id: row.text[anchor.start :].split()[0] for anchor in row.anchors}
    assert anchors == {"pumps": "Pumps", "old": "See", "w": "Weight"}
