"""XML: articles in JATS and DocBook with their sections, other XML as values with names."""

from pathlib import Path

import pytest

from tests.pipelines.readers.reading import read

JATS = """<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS" "no-such-file.dtd">
<article><front><article-meta><article-id>10.1/x</article-id>
<title-group><article-title>On <italic>moss</italic></article-title></title-group>
<contrib-group><contrib contrib-type="author">
<name><surname>Holm</surname><given-names>Ada</given-names></name></contrib>
<contrib contrib-type="editor"><name><surname>Nobody</surname></name></contrib></contrib-group>
<pub-date><day>3</day><month>4</month><year>2024</year></pub-date>
<abstract><p>Moss grows <xref ref-type="bibr" rid="r">1</xref>.</p></abstract></article-meta></front>
<body><sec><title>Results</title><table-wrap><table><tr><th>Kind</th><th>Wet</th></tr><tr><td>Fen</td><td>2</td></tr></table>
</table-wrap><sec><title>Detail</title><p>Much.</p></sec></sec></body>
<back><fn-group><fn fn-type="COI-statement"><p>Ada Holm sells moss.</p></fn></fn-group>
<ref-list><ref><mixed-citation>Eld. 1998.</mixed-citation></ref></ref-list></back></article>"""
DOCBOOK = """<book xmlns="http://docbook.org/ns/docbook"><info><title>Pumps</title><author>
<personname><firstname>Bo</firstname>
<surname>Ek</surname></personname></author></info>
<chapter><title>Care</title><para>Oil it.</para><itemizedlist><listitem>
<para>daily</para></listitem></itemizedlist></chapter></book>"""


FICTION = """<?xml version="1.0"?><FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="x">
<description>
<title-info><genre>sf</genre><author><first-name>Ada</first-name><last-name>Holm</last-name></author>
<book-title>The Weir</book-title><date>1931</date></title-info><document-info><id>7</id></document-info></description>
<body><title><p>Ada Holm</p><p>The Weir</p></title><section><title><p>Chapter</p><p>One</p></title>
<p>It <emphasis>rained</emphasis>.</p><empty-line/><image l:href="#p"/><poem>
<stanza><v>Drop</v><v>by drop</v></stanza></poem>
</section><section><title><p>Two</p></title><p>The end.</p></section></body>
<binary id="p">aGVsbG8=</binary></FictionBook>"""


def test_an_article_has_its_authors_sections_and_references(tmp_path: Path) -> None:
    path = tmp_path / "a.nxml"
    path.write_text(JATS)
    row = read(path)[0][""]
    assert (row.title, row.metadata) == ("On moss", {"author": "Ada Holm", "date": "2024-04-03"})
    assert [(place.label, place.level) for place in row.places] == [
        ("On moss", 1), ("Abstract", 2), ("Results", 2), ("Detail", 3), ("Notes", 2), ("References", 2),
    ]  # fmt: skip
    assert "Author: Ada Holm" in row.text
    assert "Moss grows." in row.text
    assert "Notes\n\nAda Holm sells moss." in row.text
    assert "| Kind | Wet |\n| --- | --- |\n| Fen | 2 |" in row.text
    assert "10.1/x" not in row.text


def test_a_book(tmp_path: Path) -> None:
    path = tmp_path / "b.xml"
    path.write_text(DOCBOOK)
    row = read(path)[0][""]
    assert (row.title, row.metadata["author"]) == ("Pumps", "Bo Ek")
    assert [(place.label, place.level) for place in row.places] == [("Pumps", 1), ("Care", 2)]
    assert row.text.endswith("Care\n\nOil it.\n\n- daily")


def test_a_novel(tmp_path: Path) -> None:
    path = tmp_path / "a.fb2"
    path.write_text(FICTION)
    row = read(path)[0][""]
    assert (row.title, row.metadata) == ("The Weir", {"author": "Ada Holm", "date": "1931"})
    assert row.text.split("\n\n")[:3] == ["The Weir", "Author: Ada Holm", "Date: 1931"]
    assert row.text.split("\n\n")[3:] == [
        "Ada Holm",
        "The Weir",
        "Chapter One",
        "It rained.",
        "Drop",
        "by drop",
        "Two",
        "The end.",
    ]
    assert [place.label for place in row.places][-2:] == ["Chapter One", "Two"]


def test_other_xml_is_values_with_their_names(tmp_path: Path) -> None:
    path = tmp_path / "c.xml"
    path.write_text(
        '<wells><well id="7"><keeper>Ada</keeper><depth unit="m">4</depth></well><note>Is <b>dry</b>.</note></wells>'
    )
    assert read(path)[0][""].text == "id: 7; keeper: Ada; depth: 4\n\nIs dry."


@pytest.mark.parametrize(
    "markup",
    [
        '<!DOCTYPE a [<!ENTITY x "y"><!ENTITY z "&x;&x;">]><a>&z;</a>',
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    ],
)
def test_entities_are_refused(tmp_path: Path, markup: str) -> None:
    path = tmp_path / "d.xml"
    path.write_text(markup)
    assert read(path) == ({}, {"!": "not a readable web page"})
