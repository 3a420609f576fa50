"""What the structure of documents says about which passage belongs to which."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from conspectus.storage.records import Anchor, Chunk, Document, Hyperlink, Link, Place
from conspectus.storage.structure.links import find_links, link_edges
from hypothesis import given
from hypothesis import strategies as st


def document(
    uri: str,
    *parts: str,
    title: str = "",
    metadata: Mapping[str, str] | None = None,
    hyperlinks: Sequence[tuple[str, str, str]] = (),
    anchors: Sequence[tuple[str, str]] = (),
    pages: Sequence[int] = (),
) -> tuple[Document, list[Chunk]]:
    """Return a document with a chunk for each part; a line of # signs and a blank begins a heading."""
    text, chunks, places = "", [], []
    for ordinal, part in enumerate(parts):
        start = len(text)
        for line in part.split("\n"):
            level = len(line) - len(line.lstrip("#"))
            if level:
                places.append(Place(len(text), "heading", line[level + 1 :], level))
            text += line + "\n"
        chunks.append(Chunk(f"{uri}:{ordinal}", uri, ordinal, start, len(text) - 1, text[start:-1], 9))
    places += [Place(chunks[at].start, "page", str(number), 0) for number, at in enumerate(pages, start=1)]
    found = Document(
        uri, title, uri, text, metadata or {}, len(text), "",
        tuple(sorted(places, key=lambda place: place.start)),
        tuple(
            Hyperlink(text.index(words), text.index(words) + len(words), target, anchor)
            for words, target, anchor in hyperlinks
        ),
        tuple(Anchor(text.index(words), id_) for words, id_ in anchors),
    )  # fmt: skip
    return found, chunks


def links(*made: tuple[Document, list[Chunk]]) -> list[Link]:
    found = find_links([each for each, _ in made], [chunk for _, chunks in made for chunk in chunks])
    ids = {chunk.id for _, chunks in made for chunk in chunks}
    text_of = {each.id: each.text for each, _ in made}
    for link in found:
        assert {link.source_id, link.target_id} <= ids
        assert link.source_id != link.target_id
        if link.start is not None and link.end is not None:
            said = text_of[link.source_id.rpartition(":")[0]][link.start : link.end]
            assert " ".join(said.split()).startswith(link.text)
    assert [link.id for link in found] == sorted({link.id for link in found})
    return found


def ends(found: Sequence[Link], kind: str) -> set[tuple[str, str, str]]:
    return {(link.source_id, link.target_id, link.text) for link in found if link.kind == kind}


def test_a_chunk_leads_to_its_section_and_that_to_the_one_around_it() -> None:
    manual = document(
        "mill.md", "# The mill\nIt grinds.", "## Stones\nTwo of them.", "They are dressed twice a year.",
        "## Sails\nFour.", title="The mill",
    )  # fmt: skip
    found = links(manual)
    assert ends(found, "parent") == {
        ("mill.md:1", "mill.md:0", "The mill"),
        ("mill.md:2", "mill.md:1", "Stones"),
        ("mill.md:3", "mill.md:0", "The mill"),
    }
    assert ends(found, "next") == {(f"mill.md:{at}", f"mill.md:{at + 1}", "") for at in range(3)}


def test_a_hyperlink_leads_to_the_document_and_to_its_anchor() -> None:
    start = document(
        "a/start.html", "See the lock and its gates, the weir, the moon.",
        hyperlinks=[("lock", "a/lock.html", ""), ("gates", "a/lock.html", "gates"), ("weir", "a/lock.html", "no-such"),
                    ("moon", "https://example.org/moon", "")],
    )  # fmt: skip
    lock = document("a/lock.html", "A lock lifts boats.", "The gates are of oak.", anchors=[("gates", "gates")])
    assert ends(links(start, lock), "hyperlink") == {
        ("a/start.html:0", "a/lock.html:0", "lock"),
        ("a/start.html:0", "a/lock.html:1", "gates"),
        ("a/start.html:0", "a/lock.html:0", "weir"),  # the document is there, if not the place in it
    }


@pytest.mark.parametrize(
    ("said", "target"),
    [
        ("as section 2.1 tells", "b.md:1"),
        ("(siehe Abschnitt 2.1)", "b.md:1"),
        ("see “Dredging”", "b.md:1"),
        ("It follows RFC 0042.", "rfc42.txt:0"),
        ("Run tide-table(1) first.", "man/tide-table.1:0"),
        ("The sums are in sums.xlsx.", "sums.xlsx:0"),
        ("section 2.1 of the RFC says so", None),
        ("section 9", None),
        ("see “Nothing of the kind”", None),
        ("tide-table(8, 9)", None),
    ],
)
def test_a_reference_in_the_text_leads_where_it_says(said: str, target: str | None) -> None:
    found = links(
        document("a.md", f"The harbour. {said}"),
        document("b.md", "# 2. The basin\nDeep.", "## 2.1 Dredging\nIn spring."),
        document("rfc42.txt", "A format."),
        document("man/tide-table.1", "Prints tides."),
        document("sums.xlsx", "1 | 2"),
    )
    assert {link.target_id for link in found if link.kind == "reference"} == ({target} if target else set())


def test_contents_lead_to_sections_and_an_index_to_printed_pages() -> None:
    """The front matter takes two pages, so that page 2 of the book is the fourth of the file."""
    contents = "\n".join(f"{at} Part {at} ... {at}" for at in range(1, 6))
    parts = [f"{at} Part {at}\nOn the {noun}." for at, noun in enumerate(("keel", "mast", "deck", "helm", "bilge"), 1)]
    book = document(
        "book.pdf", "The book", contents, *parts, "bilge ... 5\nmast, the ... 2, 3\nsee page 4",
        pages=(0, 1, 2, 3, 4, 5, 6, 7),
    )  # fmt: skip
    found = links(book)
    assert ends(found, "contents") == {("book.pdf:1", f"book.pdf:{at + 1}", f"{at} Part {at}") for at in range(1, 6)}
    assert ends(found, "index") == {
        ("book.pdf:7", "book.pdf:6", "bilge"),
        ("book.pdf:7", "book.pdf:3", "mast, the"),
        ("book.pdf:7", "book.pdf:4", "mast, the"),
    }
    assert ends(found, "reference") == {("book.pdf:7", "book.pdf:5", "page 4")}


def mail(uri: str, subject: str, day: int, **ids: str) -> tuple[Document, list[Chunk]]:
    told = {"from": "pilot@example.org", "date": f"2024-05-{day:02}T08:00:00+02:00", **ids}
    return document(uri, f"Text of {uri}.", title=subject, metadata=told)


def test_a_reply_leads_to_the_message_that_it_answers() -> None:
    found = links(
        mail("m/1.eml", "Berths", 1, message_id="one@x"),
        mail("m/2.eml", "Re: Berths", 2, message_id="two@x", in_reply_to="one@x", references="one@x"),
        mail("m/3.eml", "Of something else", 3, message_id="three@x", references="zero@x one@x two@x"),
        mail("m/4.eml", "AW: Berths", 4),  # without ids the subject tells: the last one before it
        mail("m/5.eml", "Berths", 5),  # says of nothing that it answers it
        mail("n/6.eml", "Re: Berths", 6),  # another folder
        document("m/7.eml/plan.txt", "The plan of berths."),
    )
    assert {(link.source_id, link.target_id) for link in found if link.kind == "reply"} == {
        ("m/2.eml:0", "m/1.eml:0"),
        ("m/3.eml:0", "m/2.eml:0"),
        ("m/4.eml:0", "m/2.eml:0"),
    }


def test_an_attachment_belongs_to_its_message() -> None:
    found = links(
        mail("1.eml", "Plan", 1), document("1.eml/plan.txt", "Berths."),
        mail("box.mbox#2", "Sums", 2), document("box.mbox/2/sums.csv", "1, 2"),
    )  # fmt: skip
    assert ends(found, "parent") == {
        ("1.eml/plan.txt:0", "1.eml:0", "Plan"),
        ("box.mbox/2/sums.csv:0", "box.mbox#2:0", "Sums"),
    }


def test_a_passage_that_uses_a_term_leads_to_the_section_that_explains_it() -> None:
    found = links(
        document("a.md", "# Guide\n", "## 3.1 Slack water\nThe tide turns.", "## Examples\nOne.", title="Guide"),
        document("b.md", "Leave at slack water.", "# Examples\nTwo.", "# Examples of these\nThree. Guide."),
        document("c.md", "Examples of slack\n\nwater."),
        document("d.md", "# Examples\nFour."),
    )
    assert ends(found, "definition") == {("b.md:0", "a.md:1", "slack water")}


def test_a_term_of_a_definition_list_is_explained_there() -> None:
    defined, chunks = document("a.md", "neap tide: the lowest tide of the month")
    defined = replace(defined, hyperlinks=(Hyperlink(0, 9, "a.md", kind="definition"),))
    found = links((defined, chunks), document("b.md", "Leave at neap tide."))
    assert ends(found, "definition") == {("b.md:0", "a.md:0", "neap tide")}
    assert not ends(found, "hyperlink")


texts = st.text('ab #.12§()[]"“”:/&\n', max_size=60)
targets = st.sampled_from(
    ["a.md", "../../etc/passwd", "javascript:alert(1)", "b.md", "x" * 3000, "", "//host/a", "%00"]
)
fragments = st.sampled_from(["", "a", "#", "x" * 100_000, "../..", ":~:text=a"])


@st.composite
def corpora(draw: st.DrawFn) -> list[tuple[Document, list[Chunk]]]:
    made = []
    for uri in draw(st.lists(st.sampled_from(["a.md", "b.md", "c/a.md", "c/d.eml", "c/d.eml/e"]), unique=True)):
        found, chunks = document(uri, *draw(st.lists(texts, min_size=1, max_size=4)), title=draw(texts))
        places, few = st.integers(0, len(found.text) - 1), range(draw(st.integers(0, 2)))
        keys = dict.fromkeys(("date", "from", "message_id", "references"), texts)
        found = replace(
            found,
            metadata=draw(st.fixed_dictionaries({}, optional=keys)),
            hyperlinks=tuple(Hyperlink(draw(places), found.n_chars, draw(targets), draw(fragments)) for _ in few),
            anchors=tuple(Anchor(draw(places), draw(fragments)) for _ in few),
        )
        made.append((found, chunks))
    return made


@given(corpora(), st.randoms())
def test_whatever_documents_say_links_join_their_chunks(
    made: list[tuple[Document, list[Chunk]]], order: object
) -> None:
    """Both ends of a link are chunks of the index, and addresses of elsewhere lead nowhere (see `links`)."""
    found = links(*made)
    row_of = {chunk.id: row for row, chunk in enumerate(chunk for _, chunks in made for chunk in chunks)}
    sources, _, weights = link_edges(found, row_of)
    assert len(sources) == len({(link.kind, link.source_id, link.target_id) for link in found})
    assert ((weights >= 0) & (weights <= 1)).all()
