"""Read mail: messages (.eml, .msg) and mailboxes (.mbox). A message is a text; an attachment is read like a file.

What stands in the streams of a file of Outlook (.msg) becomes a message of the same kind. The streams are named by the
properties of [MS-OXMSG] and [MS-OXPROPS].
"""

import datetime
import mimetypes
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import replace
from email import message_from_bytes
from email.message import EmailMessage
from email.parser import HeaderParser
from email.policy import EmailPolicy
from email.utils import format_datetime
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.archives import Exhausted, Nest, contained, read_part, unique_name
from conspectus.pipelines.readers.encodings import Unreadable, clean, decoded
from conspectus.pipelines.readers.quotations import remove_quoted, written
from conspectus.pipelines.readers.rows import NO_MARKS, Draft, Lost, Row, as_title, strings
from conspectus.pipelines.readers.web.page import add_page, parse_page
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from olefile import OleFileIO

MAX_HEADER, MAX_PART_HEADER = 16_000, 2_000
"""Maximum characters of a header, and of one that describes a part: parsing takes quadratic time."""

_FEW_WORDS = 5
"""An HTML text longer than its plain alternative by this factor is read: the plain text then only refers to it."""

PARSER_ERRORS = (LookupError, ValueError, TypeError, AttributeError, RecursionError)
"""The exceptions of the standard library for some broken headers and bodies, and for deeply nested parts."""

_SIGNATURES = frozenset(
    """application/pgp-signature application/pkcs7-signature application/x-pkcs7-signature message/delivery-status
    message/disposition-notification text/rfc822-headers""".split()
)
"""Types of parts that only describe the message."""

_IDENTIFYING = ("message-id", "in-reply-to", "references")
"""Headers whose message ids identify the messages that are answered (RFC 5322, section 3.6.4)."""

_MESSAGE_ID = re.compile(r"<\s*([^<>\s]+)\s*>")
_ANSWERED = re.compile(r"(?i)\s*(?:\[[^\]]*\]\s*)?(?:re|aw|sv|antw|rép|rif|odp)(?:\[\d+\])?\s?:")
_BROKEN_HEADER = 500
_SEPARATOR = b"From "
_OUTLOOK = {"Subject": "0037", "To": "0E04", "Cc": "0E03", "Message-ID": "1035", "In-Reply-To": "1042"}
_SENT = b"\x40\x00\x39\x00"
"""The tag of the time of sending in the stream of properties, whose values are 16 bytes each."""
_EPOCH = datetime.datetime(1601, 1, 1, tzinfo=datetime.UTC)


class _Policy(EmailPolicy):
    """The default policy with a bound on the length of headers."""

    def header_source_parse(self, sourcelines: Sequence[str]) -> tuple[str, str]:
        """Return name and value of a header."""
        ends = accumulate(map(len, sourcelines))
        lines = [line for line, end in zip(sourcelines, ends, strict=False) if end - len(line) <= MAX_HEADER]
        name, value = super().header_source_parse(lines)
        return name, value[: MAX_PART_HEADER if name.lower().startswith("content-") else MAX_HEADER]


def read_mail(path: Path, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the text of a message, then the rows of its attachments; `within` is the name of the attachment.

    The title is the subject; from, to, cc, date, message_id, in_reply_to and references are metadata, the last three as
    message ids without angle brackets, separated by blanks. The text is the plain one if there is one, else that of
    the HTML, without quotations and signature. Pictures that are part of the page and cryptographic signatures are
    ignored. An attached message is read in the same way. Raises Unreadable for a message with neither text nor
    attachments.
    """
    yield from message_rows(_parsed(path.read_bytes()), settings, nest)


def read_mailbox(path: Path, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the rows of the messages of a mailbox, numbered from 1; for an attachment, `within` is NUMBER/NAME."""
    number = 0
    for number, content in enumerate(_messages(path), start=1):
        try:
            for row in message_rows(_parsed(content), settings, nest):
                if row.within:
                    yield replace(row, within=f"{number}/{row.within}")
                else:
                    yield replace(row, number=number)
        except Exhausted:
            raise
        except Unreadable as error:
            yield Lost(number, error.reason, error.detail)
    if not number:
        raise Unreadable("not a mailbox", "no line begins with 'From '")


def _messages(path: Path) -> Iterator[bytes]:
    """Yield the messages of a mailbox. Every message follows a line "From ..."."""
    lines: list[bytes] | None = None
    blank = True
    with path.open("rb") as stream:
        for line in stream:
            if blank and line.startswith(_SEPARATOR):
                if lines is not None:
                    yield b"".join(lines)
                lines = []
            elif lines is not None:
                lines.append(line)
            blank = not line.strip()
    if lines is not None:
        yield b"".join(lines)


def _parsed(content: bytes) -> EmailMessage:
    if not content.strip():
        raise Unreadable("empty")
    try:
        message = message_from_bytes(content, policy=_Policy())
    except PARSER_ERRORS as error:
        raise Unreadable("damaged message", str(error)) from error
    assert isinstance(message, EmailMessage)
    if not message.keys():
        raise Unreadable("not a message", "it has no headers")
    return message


def message_rows(message: EmailMessage | None, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the text of a message and the rows of its attachments; Unreadable if it has neither, or is missing."""
    nest.refuse_too_deep()
    if message is None:
        raise Unreadable("damaged message", "it is declared but missing")
    try:
        leaves = list(_leaves(message, True))
    except RecursionError as error:
        raise Unreadable("damaged message", "its parts are nested too deeply") from error
    attached = [part for part, is_text in leaves if not is_text]
    try:
        row = _text_row(message, [part for part, is_text in leaves if is_text])
        if row:
            yield row
        elif not attached:
            raise Unreadable("empty", "the message has neither text nor attachments")
    except Unreadable as error:
        if not attached:
            raise
        yield Lost(None, error.reason, error.detail)
    names: set[str] = set()
    for part in attached:
        yield from _attachment_rows(part, names, settings, nest)


def _leaves(part: EmailMessage, wanted: bool) -> Iterator[tuple[EmailMessage, bool]]:
    """Yield the parts of a message, and whether they are its text; of alternatives only one is `wanted` as text."""
    kind = part.get_content_type()
    if kind in _SIGNATURES:
        return
    if kind.startswith("multipart/") and part.is_multipart():
        children = [child for child in part.iter_parts() if isinstance(child, EmailMessage)]
        best = _best(children) if wanted and kind == "multipart/alternative" else None
        for child in children:
            yield from _leaves(child, wanted and (best is None or child is best))
    elif kind in {"text/plain", "text/html"} and not (part.get_filename() or part.is_attachment()):
        if wanted:
            yield part, True
    elif part.get_content_maintype() != "image" or (part["content-id"] is None and part.is_attachment()):
        yield part, False  # and no picture within the text, such as a logo


def _best(alternatives: Sequence[EmailMessage]) -> EmailMessage | None:
    """Return the plain alternative, or the HTML page if the plain one is blank or far shorter."""
    plain = next((alternative for alternative in alternatives if alternative.get_content_type() == "text/plain"), None)
    page = next((other for other in reversed(alternatives) if _length(other, "text/html") is not None), None)
    if plain is None or page is None:
        return page or plain
    length = _length(plain, "text/plain") or 0
    return page if not length or (_length(page, "text/html") or 0) > _FEW_WORDS * length else plain


def _length(part: EmailMessage, kind: str) -> int | None:
    """Return the characters of the last text of a kind in a part, 0 if it cannot be read, None if there is none."""
    texts = [each for each in part.walk() if isinstance(each, EmailMessage) and each.get_content_type() == kind]
    draft = Draft()
    try:
        for text in texts[-1:]:
            _add_text(draft, text, False, whole=True)
    except Unreadable:
        pass  # what cannot be read has no characters
    return len(draft.text()) if draft else 0 if texts else None


def _text_row(message: EmailMessage, parts: Sequence[EmailMessage]) -> Row | None:
    """Return the joined text of the parts of a message, None if they have none."""
    metadata = {name: _header(message, name) for name in ("from", "to", "cc", "date")}
    metadata |= {name.replace("-", "_"): _message_ids(message, name) for name in _IDENTIFYING}
    subject = _header(message, "subject") or ""
    is_reply = bool(metadata["in_reply_to"] or metadata["references"] or _ANSWERED.match(subject))
    for whole in (False, True):  # the quotations of a message without other text are its text
        draft = Draft()
        for part in parts:
            _add_text(draft, part, is_reply, whole=whole)
        if draft:
            return draft.row(as_title(subject), strings(metadata))
    return None


def _add_text(draft: Draft, part: EmailMessage, is_reply: bool, *, whole: bool) -> None:
    """Add the written text of a part, without signature and, of a reply, quotations; with both if it is `whole`."""
    content = _content(part)
    if not content.strip():
        return
    text = clean(decoded(content, part.get_content_charset()))
    if part.get_content_type() != "text/html":
        draft.add((text if whole else written(text, is_reply)).translate(NO_MARKS))
    elif (root := parse_page(text)) is not None:
        if is_reply and not whole:
            remove_quoted(root)
        add_page(root, draft)


def _content(part: EmailMessage) -> bytes:
    try:
        content = part.get_payload(decode=True)
    except PARSER_ERRORS as error:
        raise Unreadable("damaged message", str(error)) from error
    return content if isinstance(content, bytes) else b""


def _header(message: EmailMessage, name: str) -> str | None:
    try:
        value = message[name]
        when = getattr(value, "datetime", None)
        return when.isoformat() if isinstance(when, datetime.datetime) else (str(value) if value else None)
    except PARSER_ERRORS:
        # Part of a header that cannot be parsed is stored unparsed.
        raw = next((value for key, value in message.raw_items() if key.lower() == name), "")
        return " ".join(str(raw)[:_BROKEN_HEADER].encode("ascii", "replace").decode("ascii").split())


def _message_ids(message: EmailMessage, name: str) -> str | None:
    """Return the message ids of a header, in order, without their angle brackets separated by blanks."""
    raw = str(next((value for key, value in message.raw_items() if key.lower() == name), ""))[:MAX_HEADER]
    found = _MESSAGE_ID.findall(clean(raw)) or (raw.split() if name == "message-id" else [])
    return " ".join(dict.fromkeys(found)) or None


def _attachment_rows(part: EmailMessage, names: set[str], settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    if part.get_content_type() != "message/rfc822":
        name = unique_name(_file_name(part) or f"part{mimetypes.guess_extension(part.get_content_type()) or ''}", names)
        yield from read_part(name, (_content(each) for each in (part,)), settings, nest)
        return
    inner = next((child for child in part.iter_parts() if isinstance(child, EmailMessage)), None)
    title = as_title(_header(inner, "subject")) if inner else None
    name = unique_name(_file_name(part) or f"{(title or 'message')[:100]}.eml", names)
    yield from contained(name, message_rows(inner, settings, nest.inside()))


def _file_name(part: EmailMessage) -> str | None:
    try:
        name = part.get_filename()
    except PARSER_ERRORS:
        return None
    return PurePosixPath(clean(name).replace("\\", "/")).name[-200:] or None if name else None


def read_msg(path: Path, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the text of a message, then the rows of its attachments, as for other mail; Unreadable if it is damaged."""
    from olefile import OleFileIO

    try:
        with OleFileIO(path) as file:
            message = _message(file, [])
    except (OSError, IndexError, OverflowError, struct.error, *PARSER_ERRORS) as error:
        raise Unreadable("damaged message", type(error).__name__) from error
    yield from message_rows(message, settings, nest)


def _message(file: "OleFileIO", inside: list[str]) -> EmailMessage:
    message = EmailMessage()
    sender = f"{_property(file, inside, '0C1A')} <{_property(file, inside, '5D01') or _property(file, inside, '0C1F')}>"
    known = {name: _property(file, inside, tag) for name, tag in _OUTLOOK.items()} | {
        "From": sender.removesuffix(" <>")
    }
    known["Date"] = _sent(file, inside)
    for name, value in HeaderParser().parsestr(_property(file, inside, "007D")).items():
        known[name.title().replace("-Id", "-ID")] = value
    for name in ("Subject", "From", "To", "Cc", "Date", "Message-ID", "In-Reply-To", "References"):
        if value := " ".join(clean(known.get(name, "")).split()):
            message[name] = value.replace(";", ",") if name in ("To", "Cc") else value
    text, page = _property(file, inside, "1000"), _property(file, inside, "1013")
    if text or not page:
        message.set_content(clean(text))
    if page:
        (message.add_alternative if text else message.set_content)(clean(page), subtype="html")
    names = [entry[len(inside)] for entry in file.listdir(streams=False, storages=True) if entry[:-1] == inside]
    for part in ([*inside, name] for name in names if name.startswith("__attach_")):
        name = _property(file, part, "3707") or _property(file, part, "3704") or "attachment"
        if file.exists([*part, "__substg1.0_3701000D"]):
            message.add_attachment(_message(file, [*part, "__substg1.0_3701000D"]))
        elif content := _stream(file, [*part, "__substg1.0_37010102"]):
            message.add_attachment(content, "application", "octet-stream", filename=" ".join(name.split()))
    return message


def _stream(file: "OleFileIO", name: list[str]) -> bytes:
    return bytes(file.openstream(name).read()) if file.exists(name) else b""


def _property(file: "OleFileIO", inside: list[str], tag: str) -> str:
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
