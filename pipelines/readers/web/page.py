"""Read web pages: the visible text with headings, lists, tables, code and links, without navigation and forms.

We walk the tree of lxml ourselves, because libraries that extract text lose the places of headings and links.

Links in documents of any format are resolved here: an address becomes the name of another document and an anchor in it.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from html import unescape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from conspectus.pipelines.readers.encodings import Unreadable, clean, decoded, encoding_of
from conspectus.pipelines.readers.formats import storable
from conspectus.pipelines.readers.guards import local, parse_xml
from conspectus.pipelines.readers.rows import Draft, Row, sensible_title
from conspectus.pipelines.readers.web.boilerplate import is_unseen, parts_beside_text, relations
from conspectus.pipelines.readers.web.writer import PageWriter
from conspectus.storage.records import Hyperlink
from conspectus.storage.settings import InputSettings
from conspectus.storage.text.language_tables import by_language

if TYPE_CHECKING:
    from lxml.etree import _Element

_DECLARES_ENTITY = re.compile(r"<!ENTITY\b")

_CHARSET = re.compile(
    rb"""<(?:meta\b[^>]{0,500}?\bcharset|\?xml\b[^>]{0,200}?\bencoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I
)
_ENCODINGS = by_language("conspectus.pipelines.readers", "encodings.txt")["declared"]
_WIDER = {declared: actual for actual, names in _ENCODINGS.items() for declared in names.split()}
_HEAD = 4096
_ENTITY = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,31};")
_XML_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_TOLD = by_language("conspectus.pipelines.readers.web", "elements.txt")["metadata"]
_META = {name: ours for ours, names in _TOLD.items() for name in names.split()}


def read_html(path: Path, _: InputSettings) -> Iterator[Row]:
    """Yield a web page as one row, its headings as places.

    Broken markup is read as browsers do. Scripts, navigation, tables of contents (`boilerplate`), form controls and
    hidden parts are left out. The encoding is that of a byte order mark; UTF-8 if the bytes are valid; the declared one
    if the bytes are valid in it; else a detected one. Nothing is fetched.
    """
    markup = decoded_page(path.read_bytes())
    root = parse_page(markup)
    if root is None:
        raise Unreadable("no text", "the page is empty")
    draft = Draft()
    title = sensible_title(root.findtext(".//{*}title"))
    add_page(root, draft, title, path.name)
    yield draft.row(title or draft.heading(1), _metadata(root))


def parse_page(markup: str) -> "_Element | None":
    """Return the root of a page: parsed as XML if it is declared and well-formed XML, else as browsers parse it.

    None for an empty page. Raises Unreadable if it declares entities or is nested too deeply.
    """
    from lxml import etree

    markup = clean(markup)
    declaration = _XML_DECLARATION.match(markup)
    if declaration or "http://www.w3.org/1999/xhtml" in markup[:_HEAD]:
        if _DECLARES_ENTITY.search(markup):
            raise Unreadable("not a readable web page", "it declares entities of its own, which are never replaced")
        markup = markup[declaration.end() if declaration else 0 :].lstrip()
        with suppress(Unreadable):
            return parse_xml(
                _ENTITY.sub(lambda found: unescape(found[0]), markup).encode("utf-8"), "the page", doctype=True
            )
    lenient = etree.HTMLParser(  # huge_tree: 2,048 levels instead of 256, which old pages with unclosed tags exceed
        no_network=True, huge_tree=True, remove_comments=True, remove_pis=True, encoding="utf-8", recover=True
    )
    try:
        root = etree.fromstring(markup.encode("utf-8"), lenient)
        if any("depth" in item.message.lower() for item in lenient.error_log):
            raise Unreadable("not a readable web page", "its elements are nested too deeply")
        return root
    except (etree.XMLSyntaxError, ValueError) as error:
        if not markup.strip():
            return None
        raise Unreadable("not a readable web page", str(error)) from error


def add_page(root: "_Element", draft: Draft, title: str | None = None, name: str = "") -> None:
    """Add the text of a page to a draft; a block with the same text as the title is its first heading."""
    add_elements(root, draft, title, parts_beside_text(root, title, name))


def add_elements(
    root: "_Element", draft: Draft, title: str | None = None, beside: "Mapping[_Element, str] | None" = None
) -> None:
    """Add the text of all elements to a draft but those beside the text; `beside` gives their kinds."""
    from lxml import etree

    beside = beside or {}
    writer = PageWriter(draft, title)
    for kind, address in relations(root):
        writer.link_without_text(address, kind)
    skipped = set()
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            if element not in skipped:
                writer.close(local(element).lower())
            writer.write(element.tail if element is not root else None)
        elif element in beside or not isinstance(element.tag, str) or is_unseen(element):
            walk.skip_subtree()
            skipped.add(element)
            if element in beside:
                writer.pass_over(element, beside[element])
        else:
            writer.open(local(element).lower(), element)
            writer.write(element.text)
    writer.end()


def decoded_page(content: bytes) -> str:
    """Decode a page: by its byte order mark, as UTF-8 if valid, in its declared encoding, or in a detected one."""
    found = _CHARSET.search(content[:_HEAD])
    name = found[1].decode("ascii", "replace").lower() if found else ""
    try:
        encoding = encoding_of(BytesIO(content))
    except Unreadable as error:
        if error.reason != "unknown encoding":
            raise
        encoding = ""
    is_certain = encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32") and not content.isascii()
    return content.decode(encoding, "replace") if is_certain else decoded(content, _WIDER.get(name, name))


def _metadata(root: "_Element") -> dict[str, str]:
    told = [("language", root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang"))]
    for element in root.iter("{*}meta"):
        name = _META.get((element.get("name") or element.get("property") or "").lower(), "")
        told.append((name, element.get("content")))
    found: dict[str, str] = {}
    for name, text in told:
        if name and (stored := " ".join((text or "").split())):
            found.setdefault(name, stored)
    return found


_WEB = ("http", "https", "ftp")
_LONGEST = 2_000
"""Maximum characters of an address; longer ones contain data."""


def resolved(uri: str, links: Sequence[Hyperlink]) -> Iterator[Hyperlink]:
    """Yield the links of a document whose targets are addresses as written, with targets as `Hyperlink` describes them.

    Relative addresses start from the folder of `uri`, the document. Non-web schemes (mailto, ...) are left out.

    >>> links = [Hyperlink(0, 1, "../b%20c.html#top"), Hyperlink(2, 3, "mailto:x@y.z")]
    >>> [one.target for one in resolved("docs/a.html", links)]
    ['b c.html']
    """
    for link in links:
        found = _resolved(uri, link.target.strip()) if len(link.target) <= _LONGEST else None
        if found:
            yield replace(link, target=found[0], anchor=found[1])


def _resolved(uri: str, address: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    anchor = clean(storable(unquote(parts.fragment)))
    if parts.scheme or parts.netloc:
        known = (parts.scheme or "https").lower() in _WEB and parts.netloc
        return (clean(parts._replace(scheme=parts.scheme or "https", fragment="").geturl()), anchor) if known else None
    path = clean(storable(unquote(parts.path)))
    if not path:
        return (uri, anchor) if anchor or not parts.query else None
    return posixpath.normpath(posixpath.join(posixpath.dirname(uri), path)), anchor
