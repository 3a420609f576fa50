"""Guards against hostile XML and zip archives, and the time that a long file may take.

A small archive can declare any amount of data, so its directory is checked before anything is inflated. What a member
contains beyond what it declares is not read. Memory and time are limited by the process that reads (`process`).
"""

import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

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
        raise Unreadable("damaged document", f"{name}: {error}") from error


def local(element: "_Element") -> str:
    """Return the local name of an element, "" for a comment or processing instruction."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def text_in(element: "_Element") -> str:
    """Return the text of an element and those in it, on one line."""
    return " ".join("".join(map(str, element.itertext())).split())


at_progress: list[Callable[[], None]] = []
"""What a reader calls when a part of a long file is read: the process has `input.max_seconds` for the next then."""

MAX_RATIO, LARGE = 200, 10_000_000
"""Highest compression ratio of a member above so many bytes: text has 3 to 50, a zip bomb nearly 1000."""

_DAMAGED = (
    zipfile.BadZipFile, zipfile.LargeZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError,
    NotImplementedError, OverflowError, RuntimeError, ValueError,
)  # fmt: skip
"""The exceptions of the standard library for damaged archives."""

_BLOCK = 1 << 20
_ENCRYPTED = 0x1 | 0x40
_DRIVE = re.compile(r"[A-Za-z]:")


def zip_of(source: Path | IO[bytes]) -> zipfile.ZipFile:
    """Return an archive, its members unchecked; raises Unreadable if it is none."""
    try:
        return zipfile.ZipFile(source)
    except _DAMAGED as error:
        raise Unreadable("damaged archive", str(error)) from error


@contextmanager
def open_zip(source: Path | IO[bytes], max_bytes: int) -> Iterator[zipfile.ZipFile]:
    """Open an archive of which every member can be read. Raises Unreadable if it is none, or may be harmful.

    It refuses too much declared data, large members with a high compression ratio, encrypted ones, and names that lead
    out of the archive's folder. Nothing is inflated.
    """
    with zip_of(source) as archive:
        total = sum(member.file_size for member in archive.infolist())
        if total > max_bytes:
            raise Unreadable("archive too large", f"{total} bytes when inflated; the limit is {max_bytes}")
        for member in archive.infolist():
            if leads_elsewhere(member.orig_filename):
                raise Unreadable("archive member whose name points elsewhere", repr(member.orig_filename))
            if why := bad_member(member):
                raise Unreadable(why[0], f"archive member {member.orig_filename} {why[1]}".rstrip())
        yield archive


def member_blocks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the bytes of a member in blocks; raises Unreadable where it is damaged."""
    size = 0
    for block in unpacked(partial(archive.open, info), info.filename):
        size += len(block)
        yield block
    if size != info.file_size:
        raise Unreadable("damaged archive member", f"{info.filename}: {size} bytes of {info.file_size}")


def unpacked(opened: Callable[[], Any], member: str = "") -> Iterator[bytes]:
    """Yield what a stream of an archive, or of a member of one, unpacks to, in blocks of a megabyte.

    `opened` opens it. Raises Unreadable where it is damaged.
    """
    try:
        with opened() as stream:
            while block := stream.read(_BLOCK):
                yield block
    except (*_DAMAGED, OSError) as error:
        if member:
            raise Unreadable("damaged archive member", f"{member}: {error}") from error
        raise Unreadable("damaged archive", str(error)) from error


def bad_member(info: zipfile.ZipInfo) -> tuple[str, str] | None:
    """Return why a member is not read: it is encrypted, or a bomb."""
    if info.flag_bits & _ENCRYPTED:
        return "encrypted", ""
    if info.file_size > max(LARGE, MAX_RATIO * info.compress_size):
        return "extreme compression ratio", f"{info.compress_size} bytes inflate to {info.file_size}"
    return None


def leads_elsewhere(name: str) -> bool:
    """Return whether the name of a member leads out of the archive's folder."""
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or parts[0] == "" or _DRIVE.match(name) is not None or "\0" in name
