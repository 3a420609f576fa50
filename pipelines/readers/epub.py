"""Read electronic books (EPUB 2 and 3): the chapters in reading order, as one text."""

import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.office.package import described, open_package
from conspectus.pipelines.readers.rows import Draft, Lost, Row
from conspectus.pipelines.readers.web.page import add_page, decoded_page, parse_page
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_METADATA = {"creator": "author", **{name: name for name in ("title", "language", "publisher", "date", "subject")}}


def read_epub(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield a book as one row with its headings as places; a chapter that is damaged or missing is `Lost`.

    Raises Unreadable for a book whose chapters are encrypted (fonts may be).
    """
    draft = Draft(settings)
    lost = []
    with open_package(path, settings.max_archive_bytes) as package:
        container = package.needed("META-INF/container.xml", "no EPUB", doctype=True)
        name = next((element.get("full-path") or "" for element in container.iter("{*}rootfile")), "")
        book = package.needed(name, "the book has no package document", doctype=True)
        chapters = _chapters(book, posixpath.dirname(name))
        encryption = package.part("META-INF/encryption.xml", doctype=True)
        covered = encryption.iter("{*}CipherReference") if encryption is not None else ()
        if not {unquote(element.get("URI") or "") for element in covered}.isdisjoint(chapters):
            raise Unreadable("encrypted", "the book is protected against copying")
        for chapter in chapters:
            try:
                if (content := package.read(chapter)) is None:
                    raise Unreadable("damaged document", f"{chapter} is missing")
                root = parse_page(decoded_page(content))
                if root is not None:
                    add_page(root, draft)
            except Unreadable as error:
                if error.reason.startswith("longer than"):
                    raise
                lost.append(Lost(None, f"chapter {chapter} cannot be read", f"{error.reason}: {error.detail}"))
    yield draft.row(*described(next(book.iter("{*}metadata"), None), _METADATA))
    yield from lost


def _chapters(book: "_Element", folder: str) -> list[str]:
    """Return the names of the chapters in reading order; raises Unreadable if there is none."""
    manifest = {
        element.get("id"): posixpath.normpath(
            posixpath.join(folder, unquote(element.get("href") or "").partition("#")[0])
        )
        for element in book.iter("{*}item")
        if element.get("media-type") in _PAGES
    }
    spine = [element.get("idref") for element in book.iter("{*}itemref")]
    chapters = list(dict.fromkeys(manifest[id_] for id_ in spine if id_ in manifest))
    if not chapters:
        raise Unreadable("damaged document", "the book has no chapters")
    return chapters
