"""Messages of Outlook: text, sender, time, attachments, messages within messages."""

import datetime
import struct
from pathlib import Path

from tests.pipelines.readers.compound_file import Tree, compound_file
from tests.pipelines.readers.reading import read, texts

SENT = datetime.datetime(2024, 5, 3, 10, 30, tzinfo=datetime.UTC)
TICKS = (SENT - datetime.datetime(1601, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1) * 10


def prop(tag: str, text: str) -> dict[str, bytes]:
    return {f"__substg1.0_{tag}001F": text.encode("utf-16-le")}


def message(subject: str = "Valves", text: str = "Oil the valve.\r\n", **more: "bytes | Tree") -> Tree:
    properties = bytes(32) + bytes.fromhex("1f003700") + bytes(12) + b"\x40\x00\x39\x00" + bytes(4)
    return {
        "__properties_version1.0": properties + struct.pack("<Q", TICKS),
        **prop("0037", subject), **prop("0C1A", "Ada Holm"), **prop("5D01", "ada@example.org"),
        **prop("0E04", "Bo Ek; Cy Dee"),
        **(prop("1000", text) if text else {}), **more,
    }  # fmt: skip


def put(path: Path, tree: Tree) -> Path:
    path.write_bytes(compound_file(tree))
    return path


def test_a_message_has_its_sender_time_and_attachments(tmp_path: Path) -> None:
    attached: Tree = {
        **prop("3707", "list.csv"),
        "__substg1.0_37010102": b"id,text\n1,A valve.\n" + b"2,Another.\n" * 500,
    }
    inner: Tree = {"__substg1.0_3701000D": message("Inner", "Inside.")}
    parts = {"__attach_version1.0_#00000000": attached, "__attach_version1.0_#00000001": inner}
    rows, lost = read(put(tmp_path / "a.msg", message(**parts)))
    assert lost == {}
    row = rows[""]
    assert (row.title, row.text) == ("Valves", "Oil the valve.")
    assert row.metadata == {
        "from": "Ada Holm <ada@example.org>",
        "to": '"Bo Ek", "Cy Dee"',
        "date": "2024-05-03T10:30:00+00:00",
    }
    assert texts(rows)["list.csv#1"] == "A valve."
    assert len(rows) == 2 + 501
    assert (rows["Inner.eml"].title, rows["Inner.eml"].text) == ("Inner", "Inside.")


def test_a_page_and_headers_of_the_way_here(tmp_path: Path) -> None:
    headers = (
        "Message-ID: <a@x>\r\nIn-Reply-To: <b@x>\r\nFrom: Cy <cy@x.org>\r\nDate: Fri, 3 May 2024 08:00:00 +0200\r\n"
    )
    page = {"__substg1.0_10130102": "<p>Oil it – <b>daily</b>.</p>".encode()}
    row = read(put(tmp_path / "a.msg", message(text="", **prop("007D", headers), **page)))[0][""]
    assert row.text == "Oil it – daily."
    assert (row.metadata["from"], row.metadata["message_id"], row.metadata["in_reply_to"]) == (
        "Cy <cy@x.org>",
        "a@x",
        "b@x",
    )
    assert row.metadata["date"] == "2024-05-03T08:00:00+02:00"


def test_what_is_no_message(tmp_path: Path) -> None:
    whole = compound_file(message())
    for name, content in (
        ("empty", b""),
        ("junk", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)),
        ("text", b"Hello."),
        ("cut", whole[:700]),
    ):
        (tmp_path / f"{name}.msg").write_bytes(content)
        assert read(tmp_path / f"{name}.msg")[1]["!"] in ("empty", "damaged message"), name
    assert read(put(tmp_path / "bare.msg", {"other": b"x"}))[1] == {"!": "empty"}
