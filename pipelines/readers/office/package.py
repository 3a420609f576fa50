"""Packages: zip archives of XML parts, as Office files and electronic books are.

Texts and presentations of LibreOffice and others (.odt, .odp), and electronic books (EPUB 2 and 3) are read here.

Only the parts that contain text are read, pictures and fonts are not unpacked. Elements are identified by their local
names.
"""

import posixpath
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote
from zipfile import ZipFile

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.guards import local, member_blocks, open_zip, parse_xml
from conspectus.pipelines.readers.rows import Draft, Lost, Row, sensible_title
from conspectus.pipelines.readers.web.page import add_elements, add_page, decoded_page, parse_page
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


class Package:
    """The parts of an open package, by name."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._members = {member.filename.lstrip("/").casefold(): member for member in archive.infolist()}

    def read(self, name: str) -> bytes | None:
        """Return a member, None if it does not exist."""
        member = self._members.get(name.casefold())
        return None if member is None else b"".join(member_blocks(self._archive, member))

    def part(self, name: str, *, doctype: bool = False) -> "_Element | None":
        """Return the root element of a part, None if it does not exist."""
        content = self.read(name)
        return None if content is None else parse_xml(content, name, doctype=doctype)

    def needed(self, name: str, otherwise: str, *, doctype: bool = False) -> "_Element":
        """Return the root element of a part; raises Unreadable, with the reason `otherwise`, if it does not exist."""
        root = self.part(name, doctype=doctype)
        if root is None:
            raise Unreadable("damaged document", otherwise)
        return root

    def names(self) -> list[str]:
        """Return the names of the parts."""
        return [member.filename for member in self._members.values()]


def described(root: "_Element | None", names: Mapping[str, str]) -> tuple[str | None, dict[str, str]]:
    """Return the title in some elements of metadata, and the other values; `names` are ours by those of elements."""
    found: dict[str, dict[str, None]] = {}
    for node in root.iter() if root is not None else ():
        name, text = names.get(local(node)), " ".join(clean(node.text or "").split())
        if name and text:
            found.setdefault(name, {})[text] = None
    title = next(iter(found.pop("title", {})), None)
    if found.keys() & {"author"} and not found["author"].keys() - _NOBODY:
        del found["author"]
    return sensible_title(title), {name: "; ".join(texts) for name, texts in found.items()}


_NOBODY = frozenset(("python-docx", "Unknown", "Microsoft Office User"))


@contextmanager
def open_package(path: Path, max_bytes: int) -> Iterator[Package]:
    """Open a file as a package of at most `max_bytes` inflated bytes.

    Raises Unreadable if it is encrypted, in a binary format before 2007, or damaged.
    """
    with path.open("rb") as stream:
        head = stream.read(8)
        if head == _OLE:
            if _ENCRYPTED in head + stream.read():
                raise Unreadable("encrypted", "it opens with a password only")
            raise Unreadable("old binary Office format", "save it in the format of today (.docx, .pptx, .xlsx)")
        if not head.startswith(b"PK"):
            raise Unreadable("damaged document", "it is no zip archive")
    with open_zip(path, max_bytes) as archive:
        yield Package(archive)


def value(element: "_Element | None", name: str) -> str | None:
    """Return an attribute by its local name, None for a missing element too."""
    attributes = element.items() if element is not None else ()
    return next((str(text) for key, text in attributes if str(key).rpartition("}")[2] == name), None)


_IN_CELLS = ("table", "tr", "td", "th", "p", "h1", "h2", "h3", "h4", "h5", "h6")


def plain_tables(root: "_Element") -> None:
    """Make the first row of each table its header, and give each column of a row a cell; cells have no inner form."""
    for table in root.iter("table"):
        rows = list(table.iter("tr"))
        for cell in list(table.iter("td", "th")):
            for node in cell.iterdescendants(*_IN_CELLS):
                node.tag = "div"
            for _ in range(1, min(int(cell.get("colspan") or 1), 100)):
                cell.addnext(cell.makeelement("td"))
        for cell in rows[0] if len(rows) > 1 else ():
            cell.tag = "th"


_LEFT_OUT = [
    f"{{*}}{name}" for name in "tracked-changes annotation annotation-end forms sequence-decls table-of-content".split()
]
_NAMES = {"title": "title", "creator": "author", "initial-creator": "author", "language": "language", "date": "date"}
_HTML = {"p": "div", "list": "ul", "list-item": "li", "table-row": "tr", "table-cell": "td", "line-break": "br"}


def read_odt(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a text or a presentation as one row with its headings and slides as places.

    Its elements get the names that HTML has for them, and the reader of web pages does the rest.
    """
    from lxml import etree

    with open_package(path, settings.max_archive_bytes) as package:
        if b"encryption-data" in (package.read("META-INF/manifest.xml") or b""):
            raise Unreadable("encrypted", "the document has a password")
        content = package.needed("content.xml", "content.xml is missing")
        title, metadata = described(package.part("meta.xml"), _NAMES)
    etree.strip_elements(content, *_LEFT_OUT, with_tail=False)
    slides = list(content.iter("{*}page"))
    for node in content.iter():
        name = local(node)
        if name in ("tab", "s"):
            node.tail = f" {node.tail or ''}"
        elif name == "a":
            node.set("href", value(node, "href") or "")
        level = value(node, "outline-level") or "1"
        node.tag = f"h{level if level in '123456' else 6}" if name == "h" else _HTML.get(name, name)
    plain_tables(content)
    draft = Draft()
    for number, slide in enumerate(slides, start=1):
        draft.begin("slide", str(number))
        add_elements(slide, draft)
    if not slides:
        add_elements(content, draft)
    yield draft.row(title or draft.heading(1), metadata)


_PAGES = ("application/xhtml+xml", "text/html", "application/x-dtbook+xml")
_METADATA = {"creator": "author", **{name: name for name in ("title", "language", "publisher", "date", "subject")}}


def read_epub(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield a book as one row with its headings as places; a chapter that is damaged or missing is `Lost`.

    Raises Unreadable for a book whose chapters are encrypted (fonts may be).
    """
    draft = Draft()
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
