"""AsciiDoc, Org, MediaWiki markup and manual pages: what a person reads, without the marks."""

from pathlib import Path

import pytest

from tests.pipelines.readers.reading import headings, read, row_of

ADOC = """= Guide
Ada Holm <a@x.example>
:toc:

// not this
[NOTE]
====
Closed on *Mondays*.
====

== Work
include::secret.txt[]
.Order
. Cut it.
.. Twice.

pump:: moves water

See https://x.example[the site] and <<work,above>>.

|===
|Kind |N

|A |2
|===

----
x = 1
----
"""
ORG = """#+TITLE: Notes
* Pumps
:PROPERTIES:
:ID: 1
:END:
See [[file:guide.rst][the guide]] and /this/.
** TODO Hand pumps   :tag:
| Kind | N |
|------+---|
| A    | 2 |
"""
WIKI = """{{Infobox light
| name = Old Red
| height = 22 m
}}
'''Old Red''' is a [[lighthouse|light]].<ref name="a">x</ref>{{cn}}
== History ==
# one
{| class="x"
! Year !! Keeper
|-
| 1934 || [[Ada]]
|}
[[Category:Lights]]
"""
MAN = r""".TH FETCH 1 "May 2024"
.SH NAME
fetch \- copy *it*
.SH OPTIONS
.TP
.BI \-\-since " DAY"
Leave out what is older than
.IR DAY .
.PP
.nf
a
b
.fi
"""


def test_asciidoc(tmp_path: Path) -> None:
    row = row_of(tmp_path / "a.adoc", ADOC)
    assert headings(row) == [("Guide", 1), ("Work", 2)]
    assert row.text == (
        "Guide\n\nAuthor: Ada Holm\n\nClosed on Mondays.\n\nWork\n\nOrder:\n\n1. Cut it.\n1.1. Twice.\n\n"
        "pump: moves water\n\nSee the site and above.\n\n| Kind | N |\n| --- | --- |\n| A | 2 |\n\n```\nx = 1\n```"
    )
    assert [link.target for link in row.hyperlinks] == ["https://x.example"]


def test_org(tmp_path: Path) -> None:
    row = row_of(tmp_path / "a.org", ORG)
    assert (row.title, headings(row)) == ("Notes", [("Pumps", 1), ("Hand pumps", 2)])
    assert row.text == "Pumps\n\nSee the guide and this.\n\nHand pumps\n\n| Kind | N |\n| --- | --- |\n| A | 2 |"
    assert [link.target for link in row.hyperlinks] == ["guide.rst"]


def test_wiki(tmp_path: Path) -> None:
    row = row_of(tmp_path / "a.wiki", WIKI)
    assert headings(row) == [("History", 2)]
    assert row.text == (
        "name: Old Red\n\nheight: 22 m\n\nOld Red is a light.\n\nHistory\n\n1. one\n\n"
        "| Year | Keeper |\n| --- | --- |\n| 1934 | Ada |"
    )


def test_a_manual_page_and_what_only_looks_like_one(tmp_path: Path) -> None:
    row = row_of(tmp_path / "a.1", MAN)
    assert (row.title, headings(row)) == ("FETCH(1)", [("NAME", 2), ("OPTIONS", 2)])
    assert row.text == (
        "NAME\n\nfetch - copy *it*\n\nOPTIONS\n\n--since DAY: Leave out what is older than DAY.\n\n```\na\nb\n```"
    )
    assert row_of(tmp_path / "app.log.1", "12:00 started\n.no\n").text == "12:00 started\n.no\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.adoc", "= " + " " * 60_000 + "x"), ("a.adoc", "|===\n" * 6_000), ("a.wiki", "{|\n| a\n" * 6_000),
        ("a.wiki", "{{a|b={{" * 6_000), ("a.wiki", "<!-- <ref>" * 6_000),
        ("a.org", ":PROPERTIES:\n:a: b\n" * 6_000), ("a.1", ".SH x\n.TP\n" + "\\f" * 40_000),
    ],
)  # fmt: skip
def test_hostile_files_are_read_in_linear_time(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    rows, lost = read(path)
    assert rows or lost
