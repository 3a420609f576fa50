"""Read electronic books (EPUB 2 and 3): the chapters in reading order, as one text."""

import posixpath
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.guards import local
from conspectus.pipelines.readers.office.package import Package, open_package
from conspectus.pipelines.readers.rows import Draft, Lost, Row, sensible_title
from conspectus.pipelines.readers.web.page import add_page, decoded_page, parse_page
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_METADATA = {"creator": "author", **{name: name for name in ("language", "publisher", "date", "subject")}}


def read_epub(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield a book as one row with its headings as places; a chapter that is damaged or missing is `Lost`.

    Raises Unreadable for a book whose chapters are encrypted (fonts may be).
    """
    draft = Draft(settings)
    lost = []
    with open_package(path, settings.max_archive_bytes) as package:
        book = _Book(package)
        for chapter in book.chapters:
            try:
                root = parse_page(decoded_page(book.read(chapter)))
                if root is not None:
                    add_page(root, draft)
            except Unreadable as error:
                if error.reason.startswith("longer than"):
                    raise
                lost.append(Lost(None, f"chapter {chapter} cannot be read", f"{error.reason}: {error.detail}"))
    yield draft.row(book.title, book.metadata)
    yield from lost


class _Book:
    """The content of the package document of a book."""

    def __init__(self, archive: Package) -> None:
        self._archive = archive
        container = self._xml("META-INF/container.xml", "no EPUB")
        name = next(
            (element.get("full-path") or "" for element in container.iter() if local(element) == "rootfile"), ""
        )
        package = self._xml(name, "the book has no package document")
        folder = posixpath.dirname(name)
        manifest = {
            element.get("id"): posixpath.normpath(
                posixpath.join(folder, unquote(element.get("href") or "").partition("#")[0])
            )
            for element in package.iter()
            if local(element) == "item" and element.get("media-type") in _PAGES
        }
        spine = [element.get("idref") for element in package.iter() if local(element) == "itemref"]
        self.chapters = list(dict.fromkeys(manifest[id_] for id_ in spine if id_ in manifest))
        if not self.chapters:
            raise Unreadable("damaged document", "the book has no chapters")
        self._refuse_encrypted()
        values: dict[str, list[str]] = {}
        for element in package.iter():
            text = " ".join(clean(element.text or "").split())
            if (element.tag if isinstance(element.tag, str) else "").startswith("{http://purl.org/dc/") and text:
                values.setdefault(local(element), []).append(text)
        self.title = sensible_title(next(iter(values.get("title", [])), None))
        self.metadata = {ours: "; ".join(values[theirs]) for theirs, ours in _METADATA.items() if theirs in values}

    def read(self, name: str) -> bytes:
        """Return a member of the book."""
        content = self._archive.read(name)
        if content is None:
            raise Unreadable("damaged document", f"{name} is missing")
        return content

    def _xml(self, name: str, otherwise: str) -> "_Element":
        root = self._archive.part(name, doctype=True)
        if root is None:
            raise Unreadable("damaged document", otherwise)
        return root

    def _refuse_encrypted(self) -> None:
        root = self._archive.part("META-INF/encryption.xml", doctype=True)
        if root is None:
            return
        covered = {unquote(element.get("URI") or "") for element in root.iter() if local(element) == "CipherReference"}
        if covered.intersection(self.chapters):
            raise Unreadable("encrypted", "the book is protected against copying")
