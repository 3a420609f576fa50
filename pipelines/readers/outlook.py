"""Read messages of Outlook (.msg): what stands in the streams of the file becomes a message for the reader of mail.

The streams are named by the properties of [MS-OXMSG] and [MS-OXPROPS].
"""

import datetime
import struct
from collections.abc import Iterator
from email.message import EmailMessage
from email.parser import HeaderParser
from email.utils import format_datetime
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.archives import Nest
from conspectus.pipelines.readers.encodings import Unreadable, clean, decoded
from conspectus.pipelines.readers.mail import PARSER_ERRORS, message_rows
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from olefile import OleFileIO

_HEADERS = {"Subject": "0037", "To": "0E04", "Cc": "0E03", "Message-ID": "1035", "In-Reply-To": "1042"}
_SENT = b"\x40\x00\x39\x00"
"""The tag of the time of sending in the stream of properties, whose values are 16 bytes each."""
_EPOCH = datetime.datetime(1601, 1, 1, tzinfo=datetime.UTC)


def read_msg(path: Path, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the text of a message, then the rows of its attachments, as for other mail; Unreadable if it is damaged."""
    from olefile import OleFileIO

    if path.stat().st_size == 0:
        raise Unreadable("empty")
    try:
        with OleFileIO(path) as file:
            message = _message(file, [])
    except (OSError, IndexError, OverflowError, struct.error, *PARSER_ERRORS) as error:
        raise Unreadable("damaged message", type(error).__name__) from error
    yield from message_rows(message, settings, nest)


def _message(file: "OleFileIO", inside: list[str]) -> EmailMessage:
    message = EmailMessage()
    sender = f"{_text(file, inside, '0C1A')} <{_text(file, inside, '5D01') or _text(file, inside, '0C1F')}>"
    known = {name: _text(file, inside, tag) for name, tag in _HEADERS.items()} | {"From": sender.removesuffix(" <>")}
    known["Date"] = _sent(file, inside)
    for name, value in HeaderParser().parsestr(_text(file, inside, "007D")).items():
        known[name.title().replace("-Id", "-ID")] = value
    for name in ("Subject", "From", "To", "Cc", "Date", "Message-ID", "In-Reply-To", "References"):
        if value := " ".join(clean(known.get(name, "")).split()):
            message[name] = value.replace(";", ",") if name in ("To", "Cc") else value
    text, page = _text(file, inside, "1000"), _text(file, inside, "1013")
    if text or not page:
        message.set_content(clean(text))
    if page:
        (message.add_alternative if text else message.set_content)(clean(page), subtype="html")
    names = [entry[len(inside)] for entry in file.listdir(streams=False, storages=True) if entry[:-1] == inside]
    for part in ([*inside, name] for name in names if name.startswith("__attach_")):
        name = _text(file, part, "3707") or _text(file, part, "3704") or "attachment"
        if file.exists([*part, "__substg1.0_3701000D"]):
            message.add_attachment(_message(file, [*part, "__substg1.0_3701000D"]))
        elif content := _stream(file, [*part, "__substg1.0_37010102"]):
            message.add_attachment(content, "application", "octet-stream", filename=" ".join(name.split()))
    return message


def _stream(file: "OleFileIO", name: list[str]) -> bytes:
    return bytes(file.openstream(name).read()) if file.exists(name) else b""


def _text(file: "OleFileIO", inside: list[str], tag: str) -> str:
    """Return a property that is a text: UTF-16, or in an encoding that must be detected."""
    if content := _stream(file, [*inside, f"__substg1.0_{tag}001F"]):
        return content.decode("utf-16-le", "replace").rstrip("\0")
    coded = _stream(file, [*inside, f"__substg1.0_{tag}001E"]) or _stream(file, [*inside, f"__substg1.0_{tag}0102"])
    return decoded(coded.rstrip(b"\0")) if coded.rstrip(b"\0") else ""


def _sent(file: "OleFileIO", inside: list[str]) -> str:
    at = (content := _stream(file, [*inside, "__properties_version1.0"])).find(_SENT)
    if at < 0 or len(content) < at + 16:
        return ""
    (ticks,) = struct.unpack_from("<Q", content, at + 8)
    return format_datetime(_EPOCH + datetime.timedelta(microseconds=ticks // 10))
