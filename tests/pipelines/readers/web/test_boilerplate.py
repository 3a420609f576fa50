"""What of a page is not its text: menus, bars and tables of contents go, running text stays."""

from pathlib import Path

import pytest
from conspectus.pipelines.readers.rows import Row
from conspectus.pipelines.readers.web.page import read_html

from tests.pipelines.readers.reading import headings, only_row

PAGE = """<html><head><title>Pumps</title><link rel="next" href="valves.html">
<link rel="stylesheet" href="x.css"></head>
<body><div class="header"><div>Fast. Cheap.</div><ul class="main-menu"><li><a href="/">Start</a><li><a href="/buy">Buy
pumps</a></ul><form><input name="q"><button>Go</button></form></div>
<table width="100%"><tr><td><a accesskey="p" href="wells.html">Wells</a></td><th>The handbook</th>
<td><a accesskey="n" href="valves.html">Valves</a></td></tr></table>
<div class="logo">The handbook</div><div class="big">Pumps</div>
<p><b>Contents</b></p><ul><li><a href="#kinds">Kinds</a><li><a href="#care"><span>2</span> Care</a><li><a
href="page.html#parts">Parts</a></ul>
<h1 id="kinds">Kinds<a class="headerlink" href="#kinds">&para;</a></h1>
<p class="menu">The menu of the pump is reached by <a href="keys.html">a key</a> that the front plate hides.</p>
<div id="search"><h2>Search</h2><p>Type a word into the box of the <a href="panel.html">panel</a>, and wait.</p></div>
<ul><li><a href="steam.html">Steam</a><li><a href="hand.html">Hand</a><li><a href="wind.html">Wind</a></ul>
<h1 id="care">Care</h1><p>Oil it.</p><h1 id="parts">Parts</h1><p>Few.</p>
<p>[ <a href="wells.html">Previous</a> | <a href="index.html">Home</a> | <a href="valves.html">Next</a> ]</p>
<p><small>This page was last updated on 2 May.</small></p></body></html>"""


def row_of(tmp_path: Path, page: str) -> Row:
    path = tmp_path / "page.html"
    path.write_text(page, "utf-8")
    return only_row(read_html, path)


def test_menus_bars_and_contents_are_not_text(tmp_path: Path) -> None:
    row = row_of(tmp_path, PAGE)
    assert row.text.split("\n\n") == [
        "Pumps", "Kinds", "The menu of the pump is reached by a key that the front plate hides.", "Search",
        "Type a word into the box of the panel, and wait.", "- Steam\n- Hand\n- Wind", "Care", "Oil it.", "Parts",
        "Few.",
    ]  # fmt: skip
    assert headings(row) == [("Pumps", 1), ("Kinds", 2), ("Search", 3), ("Care", 2), ("Parts", 2)]
    kinds = {(link.kind, link.target) for link in row.hyperlinks if link.kind != "text"}
    assert kinds == {
        ("next", "valves.html"), ("previous", "wells.html"), ("contents", "#kinds"), ("contents", "#care"),
        ("contents", "page.html#parts"),
    }  # fmt: skip
    assert all(link.start == link.end for link in row.hyperlinks if link.kind != "text")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<div role=navigation><a href=a>a</a></div><main><p>In the middle of it.</main><div>Beside, short.</div>",
         "In the middle of it."),
        ("<ul class=toc><li><a href=a>One</a><li><a href=b>Two</a></ul>", "- One\n- Two"),  # all that the page has
        ("<main>x</main><p>The text of this page stands outside of its main part.", "x\n\nThe text of this page stands "
         "outside of its main part."),
        ("<p>Turn it.<div class=navfooter><a href=a><img alt=Previous></a><table><tr><td>4. Wells<td>6. Valves</table>"
         "<a href=c><img alt=Next></a></div>", "Turn it."),  # arrows beside the titles of chapters
        ("<p>See <a href=#a>a</a>, <a href=#b>b</a>, and what is said on <a href=#c>c</a> below.", None),
        ("<p>Copyright law of 1999 is dealt with here.", None),
        ("<table><tr><td><a href=next.html>Next</a><td>ships on Monday, at the quay</table>", "| Next | ships on "
         "Monday, at the quay |"),
    ],
)  # fmt: skip
def test_text_stays(body: str, text: str | None, tmp_path: Path) -> None:
    found = row_of(tmp_path, f"<html><body>{body}</body></html>").text
    assert found == text if text else len(found) > 30
