"""Office Open XML packages (ECMA-376 part 2): zip archives of XML parts that point at one another.

Only the parts that hold text are read, each once and in bounds; pictures and fonts stay packed. Elements are known
by their local names, so that the strict and the transitional form of the standard read alike.
"""

import posixpath
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote
from zipfile import ZipFile

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.guards import local, open_zip, parse_xml, read_member
from conspectus.pipelines.readers.rows import sensible_title

if TYPE_CHECKING:
    from lxml.etree import _Element

MAX_PART = 64_000_000
"""Bytes that one XML part may have: a thousand pages have about ten million."""

MAX_READ = 4 * MAX_PART
"""Bytes that all parts that are read may have together."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_SEARCHED = 16_000_000
_PROPERTIES = {
    "creator": "author",
    "subject": "subject",
    "keywords": "keywords",
    "description": "description",
    "created": "created",
    "modified": "modified",
    "language": "language",
}


@dataclass(frozen=True, slots=True)
class Relation:
    """What a part points at: the last word of the kind of relation, and the part's name."""

    kind: str
    target: str


class Package:
    """The parts of an open package, by name."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._left = MAX_READ
        self._members = {each.filename.lstrip("/").casefold(): each for each in archive.infolist()}

    def part(self, name: str) -> "_Element | None":
        """Return the root element of a part; None where it does not exist. Unreadable where too much was read."""
        member = self._members.get(name.casefold())
        if member is None:
            return None
        if member.file_size > self._left:
            raise Unreadable("document too large", f"its parts have more than {MAX_READ} bytes")
        self._left -= member.file_size
        return parse_xml(read_member(self._archive, member, MAX_PART), name)

    def relations(self, name: str) -> dict[str, Relation]:
        """Return what a part points at inside the package ("" for the package itself), by relation id."""
        folder, base = posixpath.split(name)
        root = self.part(posixpath.join(folder, "_rels", f"{base}.rels"))
        found = {}
        for each in root if root is not None else ():
            target, id_ = each.get("Target"), each.get("Id")
            if local(each) == "Relationship" and target and id_ and each.get("TargetMode") != "External":
                path = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
                found[id_] = Relation((each.get("Type") or "").rpartition("/")[2], path)
        return found

    def main_part(self, expected: str) -> tuple[str, "_Element"]:
        """Return the name and root of the part that the package is about; Unreadable where that is not `expected`."""
        name = next((each.target for each in self.relations("").values() if each.kind == "officeDocument"), "")
        root = self.part(name) if name else None
        if root is None:
            raise Unreadable("damaged document", "the package has no main part")
        if local(root) != expected:
            raise Unreadable("damaged document", f"the main part is a {local(root)}, not a {expected}")
        return name, root

    def properties(self) -> tuple[str | None, dict[str, str]]:
        """Return the title and the other core properties that say something; none where they are damaged."""
        try:
            name = next((each.target for each in self.relations("").values() if each.kind == "core-properties"), "")
            root = self.part(name) if name else None
        except Unreadable:
            return None, {}
        values = {local(each): " ".join(clean(each.text or "").split()) for each in root} if root is not None else {}
        known = {ours: values[theirs] for theirs, ours in _PROPERTIES.items() if values.get(theirs)}
        if known.get("author") in ("python-docx", "Unknown", "Microsoft Office User"):
            del known["author"]
        return sensible_title(values.get("title")), known


@contextmanager
def open_package(path: Path, max_bytes: int) -> Iterator[Package]:
    """Give the package that a file is, of at most `max_bytes` when inflated.

    Raises Unreadable: encrypted, of the binary formats before 2007, or damaged.
    """
    with path.open("rb") as stream:
        head = stream.read(8)
        if not head:
            raise Unreadable("empty")
        if head == _OLE:
            if _ENCRYPTED in head + stream.read(_SEARCHED):
                raise Unreadable("encrypted", "it opens with a password only")
            raise Unreadable("old binary Office format", "save it in the format of today (.docx, .pptx, .xlsx)")
        if not head.startswith(b"PK"):
            raise Unreadable("damaged document", "it is no zip archive")
    with open_zip(path, max_bytes) as archive:
        yield Package(archive)


def shown(element: "_Element") -> Iterator["_Element"]:
    """Yield an element's children; of alternatives for programs of different age, those of the first."""
    for child in element:
        if local(child) == "AlternateContent":
            yield from next(([*each] for each in child if local(each) == "Choice"), [])
        else:
            yield child


def value(element: "_Element", name: str) -> str | None:
    """Return an attribute by its local name."""
    return next((str(text) for key, text in element.items() if str(key).rpartition("}")[2] == name), None)


def child(element: "_Element", *names: str) -> "_Element | None":
    """Return the first descendant along a path of local names."""
    found: _Element | None = element
    for name in names:
        found = next((each for each in found if local(each) == name), None) if found is not None else None
    return found
