from email.message import EmailMessage
from pathlib import Path
from unittest.mock import patch

import pytest
from conspectus.pipelines.readers import archives
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.settings import InputSettings

from tests.pipelines.readers.reading import read, read_apart, texts


def message(subject: str | None = "Greetings", text: str | None = "Hello.\n", html: str | None = None) -> EmailMessage:
    made = EmailMessage()
    if subject:
        made["Subject"] = subject
    made["From"] = "Zoë <zoe@example.org>"
    made["To"] = "Bob <bob@example.org>, eve@example.org"
    made["Date"] = "Mon, 01 Jan 2024 10:00:00 +0100"
    if text is not None:
        made.set_content(text)
    if html is not None and text is not None:
        made.add_alternative(html, subtype="html")
    elif html is not None:
        made.set_content(html, subtype="html")
    return made


def put(path: Path, content: EmailMessage | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.as_bytes())
    return path


def test_a_message_is_a_text_with_a_subject(tmp_path: Path) -> None:
    rows, lost = read(put(tmp_path / "a.eml", message("Grüße aus Köln", "Plain.\n", "<p>Page</p>")))
    assert lost == {}
    row = rows[""]
    assert (row.number, row.title, row.text) == (None, "Grüße aus Köln", "Plain.")
    assert row.metadata == {
        "from": "Zoë <zoe@example.org>",
        "to": "Bob <bob@example.org>, eve@example.org",
        "date": "2024-01-01T10:00:00+01:00",
    }


def test_the_ids_that_make_threads_are_kept(tmp_path: Path) -> None:
    made = message()
    made["Message-ID"] = "<3@example.org>"
    made["In-Reply-To"] = 'Your message of "Mon, 1 Jan" <2@example.org>'
    made["References"] = "<1@example.org> <2@example.org> <2@example.org>"
    metadata = read(put(tmp_path / "a.eml", made))[0][""].metadata
    assert (metadata["message_id"], metadata["in_reply_to"]) == ("3@example.org", "2@example.org")
    assert metadata["references"] == "1@example.org 2@example.org"


REPLY = """Hello Bob,

On Mon, 1 Jan 2024 at 10:00, Ada Ruiz
<ada@example.org> wrote:
> Which valve leaks?
>> All of them?

The third. I ran

diff --git a/valves b/valves
> third

-Bob

[*] The tool of last week.
--\x20
Bob, keeper of pumps
_______________________________________________
pumps mailing list
"""


def test_what_a_reply_quotes_and_its_signature_are_not_what_it_says(tmp_path: Path) -> None:
    said = "The third. I ran\n\ndiff --git a/valves b/valves\n> third\n\n-Bob\n\n[*] The tool of last week."
    rows, _ = read(put(tmp_path / "a.eml", message("Re: Valves", REPLY)))
    assert rows[""].text == f"Hello Bob,\n\n{said}"
    first = read(put(tmp_path / "b.eml", message("Valves", REPLY)))[0][""].text
    assert "> Which valve leaks?" in first, "a message that answers none can only show a prompt"
    assert first.endswith("last week.")
    only = read(put(tmp_path / "c.eml", message("Re: Valves", "> Which valve leaks?\n")))[0][""]
    assert only.text == "> Which valve leaks?"
    outlook = f"Yes.\n\n{'_' * 32}\nFrom: Ada\nSent: Monday\nTo: Bob\nSubject: Valves\n\nWhich valve leaks?\n"
    assert read(put(tmp_path / "d.eml", message("AW: Valves", outlook)))[0][""].text.strip("_\n") == "Yes."
    page = (
        '<p>Yes: <a href="v.html">here</a>.</p><div class="gmail_quote">On Monday<blockquote>Which?</blockquote></div>'
    )
    row = read(put(tmp_path / "e.eml", message("Re: Valves", None, page)))[0][""]
    assert (row.text, row.text[row.hyperlinks[0].start : row.hyperlinks[0].end]) == ("Yes: here.", "here")


def test_attachments_are_read_by_their_own_format(tmp_path: Path) -> None:
    made = message()
    for name, content in {"t.csv": b"id,text\n1,Row.\n", "n.txt": b"Note.", "photo.gif": b"\xff\xd8\xff"}.items():
        made.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    made.add_attachment(b"Another.", maintype="text", subtype="plain", filename="n.txt")
    made.add_attachment(b"Up.", maintype="text", subtype="plain", filename="../../etc/up.txt")
    made.add_attachment(b"# Unnamed", maintype="text", subtype="markdown")
    made.add_attachment(message("Inner", None, "<p>Inner page.</p>"))
    rows, lost = read(put(tmp_path / "a.eml", made))
    assert texts(rows) == {
        "": "Hello.",
        "t.csv#1": "Row.",
        "n.txt": "Note.",
        "n (2).txt": "Another.",
        "up.txt": "Up.",
        "part.md": "Unnamed",
        "Inner.eml": "Inner page.",
    }
    assert rows["Inner.eml"].title == "Inner"
    assert lost == {"photo.gif": "unsupported format .gif"}


def test_pictures_of_the_page_and_signatures_are_passed_over(tmp_path: Path) -> None:
    made = message(html='<p>Page <img src="cid:logo"></p>')
    page = made.get_payload()[1]  # type: ignore[index]
    page.add_related(b"\x89PNG\r\n", maintype="image", subtype="png", cid="<logo>")  # type: ignore[union-attr]
    made.add_attachment(b"signed", maintype="application", subtype="pgp-signature", filename="signature.asc")
    assert read(put(tmp_path / "a.eml", made)) == ({"": read(tmp_path / "a.eml")[0][""]}, {})


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        (b"Content-Type: text/plain; charset=koi8-r", "Москва".encode("koi8-r"), "Москва"),
        (
            b"Content-Type: text/plain; charset=utf-8",
            "El niño comió mañana en casa.".encode("latin-1"),
            "El niño comió mañana en casa.",
        ),
        (b"Content-Type: text/plain; charset=idna", b"Plain.", "Plain."),
        (b"Content-Transfer-Encoding: base64", b"UGxhaW4u", "Plain."),
        (b"Content-Transfer-Encoding: base64", b"UGxhaW4u=!broken", None),
        (b"Content-Transfer-Encoding: quoted-printable", b"Plain=2E =zz", "Plain. =zz"),
        (b"Content-Transfer-Encoding: no-such", b"Plain.", "Plain."),
    ],
)
def test_broken_encodings_are_made_the_best_of(tmp_path: Path, headers: bytes, body: bytes, text: str | None) -> None:
    rows, lost = read(put(tmp_path / "a.eml", b"Subject: s\n" + headers + b"\n\n" + body))
    assert lost == ({} if text else {"!": "unknown encoding"})
    assert not text or rows[""].text.strip() == text


def test_messages_in_messages_are_read_to_a_bounded_depth(tmp_path: Path) -> None:
    made = message("0")
    for depth in range(1, 5):
        outer = message(str(depth))
        outer.add_attachment(made)
        made = outer
    rows, lost = read(put(tmp_path / "a.eml", made))
    assert list(rows) == ["", "3.eml", "3.eml/2.eml"]
    assert lost == {"3.eml/2.eml/1.eml": "nested too deeply"}
    with patch.object(archives, "MOST_NESTED", 9):
        assert len(read(tmp_path / "a.eml")[0]) == 5


@pytest.mark.parametrize(
    "header",
    [
        b"From: " + b"(" * 1_000_000,
        b"To: " + b"<@" * 100_000,
        b"Subject: " + b"=?utf-8?q?a?= " * 100_000,
        b"Content-Type: text/plain; " + b"a=b; " * 100_000,
        b"Content-Disposition: inline; filename*0=" + b"a; filename*1=b" * 100_000,
        b"\xff\xfe: \x00",
    ],
)
def test_hostile_headers_do_no_harm(tmp_path: Path, header: bytes) -> None:
    (found,) = read_apart(put(tmp_path / "a.eml", b"X: y\n" + header + b"\n\nBody.\n"), seconds=5)
    assert found.text.strip() == "Body." if isinstance(found, Row) else found.reason


def test_messages_that_cannot_be_read(tmp_path: Path) -> None:
    deep = b"".join(b'Content-Type: multipart/mixed; boundary="%d"\n\n--%d\n' % (each, each) for each in range(2_000))
    assert read(put(tmp_path / "a.eml", b"X: y\n" + deep))[1] == {"!": "damaged message"}
    work = b"Content-Type: multipart/mixed; boundary=x\n" * 200 + b"\n" * 1_000_000
    assert [type(each) for each in read_apart(put(tmp_path / "d.eml", work))] == [Lost]
    assert read(put(tmp_path / "e.eml", b"just words\n"))[1] == {"!": "not a message"}
    assert read(put(tmp_path / "f.eml", b""))[1] == {"!": "empty"}
    assert read(put(tmp_path / "g.eml", message(text=" \n")))[1] == {"!": "empty"}
    long = put(tmp_path / "h.eml", message(text="word " * 99))
    assert read(long, InputSettings(max_characters=99))[1] == {"": "longer than input.max_characters (99)"}


def test_each_message_of_a_mailbox_is_a_row(tmp_path: Path) -> None:
    second = message("Second", "Two.\n\nFrom here on it is text? No: a new message.\n")
    second.add_attachment(b"Note.", maintype="text", subtype="plain", filename="n.txt")
    whole = b"".join(
        b"From x@example.org Mon Jan  1 10:00:00 2024\n" + content + b"\n"
        for content in (message().as_bytes(), second.as_bytes().replace(b"\nFrom here", b"\n>From here"), b"no headers")
    )
    rows, lost = read(put(tmp_path / "a.mbox", whole))
    assert [(name, row.title) for name, row in rows.items()] == [
        ("#1", "Greetings"),
        ("#2", "Second"),
        ("2/n.txt", None),
    ]
    assert lost == {"#3": "not a message"}
    assert read(put(tmp_path / "b.mbox", b"words\n"))[1] == {"!": "not a mailbox"}
    assert read(put(tmp_path / "c.mbox", b""))[1] == {"!": "empty"}


def test_long_headers_lose_their_end(tmp_path: Path) -> None:
    folded = put(tmp_path / "a.eml", b"Subject: n\nX-Long: a\n" + b" b\n" * 50_000 + b"\nText.")
    assert texts(read(folded)[0]) == {"": "Text."}
    part = b"--x\nContent-Type: text/plain; n=%d;" + b' a*0="x";' * 200 + b"\n\nText.\n"
    parts = b"".join(part % number for number in range(4))
    many = put(tmp_path / "b.eml", b"Content-Type: multipart/mixed; boundary=x\n\n" + parts + b"--x--\n")
    assert texts(read(many)[0])[""].count("Text.") == 4


PICTURE = '<p><img src="cid:a"></p>'


@pytest.mark.parametrize(
    ("plain", "page", "text"),
    [
        ("", "<p>The content.</p>", "The content."),
        ("Needs HTML.\n", f"<p>{'The real content. ' * 9}</p>", ("The real content. " * 9).strip()),
        ("All is said here.\n", "<p>All is said here.</p>" + "<!-- x -->" * 99, "All is said here."),
        ("The text.\n", PICTURE, "The text."),
    ],
)
def test_of_alternatives_the_one_that_says_something_is_read(tmp_path: Path, plain: str, page: str, text: str) -> None:
    assert texts(read(put(tmp_path / "a.eml", message(text=plain, html=page)))[0]) == {"": text}
