"""Guards against hostile XML and zip archives, and the time that a long file may take.

An archive's directory is checked before anything is inflated, and reading is bounded afterwards.

A small archive can declare, or hide, any amount of data: in one member, in many that share their bytes, or in
members that contain more than they declare.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING

from conspectus.pipelines.readers.encodings import Unreadable

if TYPE_CHECKING:
    from lxml.etree import _Element

_DOCTYPE = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.I)


def parse_xml(content: bytes, name: str, *, doctype: bool = False) -> "_Element":
    """Return the root of an XML document, without comments and processing instructions.

    Entities that a document declares are never replaced; a document with a document type is refused unless `doctype`.
    libxml2's limits apply: 256 levels, 10 million characters a text. Raises Unreadable, naming `name`.
    """
    from lxml import etree

    if not doctype and _DOCTYPE.search(content[: 1 << 16]):
        raise Unreadable("damaged document", f"{name} declares a document type, which no such file does")
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, dtd_validation=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    try:
        return etree.fromstring(content, parser)
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        refuse_memory(error)
        raise Unreadable("damaged document", f"{name}: {error}") from error


def refuse_memory(error: Exception) -> None:
    """Raise Unreadable if a parser ran out of memory, which is not an error of the markup."""
    from lxml import etree

    if isinstance(error, etree.XMLSyntaxError) and getattr(error, "code", None) == etree.ErrorTypes.ERR_NO_MEMORY:
        raise Unreadable("takes too much memory", "its markup is too large") from error


def local(element: "_Element") -> str:
    """Return the local name of an element, "" for a comment or processing instruction."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


at_progress: list[Callable[[], None]] = []
"""What a reader calls when a part of a long file is read: the process has `input.max_seconds` for the next then."""

MAX_BYTES = 2_000_000_000
"""Maximum bytes of all inflated members together."""

MAX_ENTRIES = 100_000
"""Maximum number of members of an archive."""

MAX_RATIO = 200
"""Highest compression ratio of a large member: that of text is 3 to 50, that of a zip bomb nearly 1000."""

LARGE = 10_000_000
"""Bytes above which the ratio of a member is checked: a megabyte of blanks is harmless."""

ZIP_ERRORS = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)
"""The exceptions of zipfile for damaged archives."""

_LOCAL_HEADER = 30
_BLOCK = 1 << 20
_ENCRYPTED = 0x1 | 0x40
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DRIVE = re.compile(r"[A-Za-z]:")


@contextmanager
def open_zip(
    source: Path | IO[bytes], max_bytes: int = MAX_BYTES, max_entries: int = MAX_ENTRIES
) -> Iterator[zipfile.ZipFile]:
    """Open an archive. Raises Unreadable if it is none, or may be harmful, judged by its directory.

    It refuses too many members, too much declared data, large members with a high compression ratio, encrypted ones,
    compression methods whose output zipfile cannot bound, names that lead out of the archive's folder, and members that
    share bytes. Nothing is inflated.
    """
    try:
        archive = zipfile.ZipFile(source)
    except ZIP_ERRORS as error:
        raise Unreadable("damaged archive", str(error)) from error
    with archive:
        members = archive.infolist()
        if len(members) > max_entries:
            raise Unreadable("archive too large", f"{len(members)} members; the limit is {max_entries}")
        total = sum(member.file_size for member in members)
        if total > max_bytes:
            raise Unreadable("archive too large", f"{total} bytes when inflated; the limit is {max_bytes}")
        for member in members:
            if leads_elsewhere(member.orig_filename):
                raise Unreadable("archive member whose name points elsewhere", repr(member.orig_filename))
            if why := bad_member(member):
                raise Unreadable(why[0], f"archive member {member.orig_filename} {why[1]}".rstrip())
        _check_overlaps(members, archive.start_dir)
        yield archive


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return the bytes of a member, never more than its directory entry declares.

    Raises Unreadable if it is damaged (a member that contains more than it declares has a wrong checksum).
    """
    blocks = []
    try:
        with archive.open(info) as stream:
            while block := stream.read(_BLOCK):  # a plain read() would inflate everything in one go
                blocks.append(block)
    except ZIP_ERRORS as error:
        raise Unreadable("damaged archive", f"{info.filename}: {error}") from error
    content = b"".join(blocks)
    if len(content) != info.file_size:
        raise Unreadable("damaged archive", f"{info.filename}: {len(content)} bytes of {info.file_size}")
    return content


def bad_member(info: zipfile.ZipInfo) -> tuple[str, str] | None:
    """Return why a member may be harmful: encrypted, compressed in a way that zipfile cannot bound, or a bomb."""
    if info.flag_bits & _ENCRYPTED:
        return "encrypted", ""
    if info.compress_type not in _METHODS:
        return "unsupported compression", f"method {info.compress_type}"
    if info.file_size > max(LARGE, MAX_RATIO * info.compress_size):
        return "extreme compression ratio", f"{info.compress_size} bytes inflate to {info.file_size}"
    return None


def leads_elsewhere(name: str) -> bool:
    """Return whether the name of a member leads out of the archive's folder."""
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or parts[0] == "" or _DRIVE.match(name) is not None or "\0" in name


def _check_overlaps(members: Sequence[zipfile.ZipInfo], end: int) -> None:
    spans = sorted(
        (member.header_offset, member.header_offset + _LOCAL_HEADER + len(member.orig_filename) + member.compress_size)
        for member in members
    )
    if spans and spans[0][0] < 0:
        raise Unreadable("damaged archive", "a member begins before the archive")
    if any(stop > start for (_, stop), (start, _) in pairwise([*spans, (end, end)])):
        raise Unreadable("damaged archive", "members overlap")
