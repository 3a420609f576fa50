"""Read web pages: the visible text with headings, lists and tables, without scripts, navigation and forms.

Our own walk over the tree of lxml, because libraries that extract text lose the places of headings."""

import re
from collections.abc import Iterator
from html.entities import html5
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.encodings import Unreadable, clean, encoding_of
from conspectus.pipelines.readers.guards import local, refuse_memory
from conspectus.pipelines.readers.rows import NO_MARKS, Draft, Row, folded, sensible_title, without_marks
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

MAX_BYTES = 100_000_000
"""Bytes of a page, embedded pictures included."""

MAX_CHARACTERS = 20_000_000
"""Characters of a page without embedded pictures; its tree takes many times as many bytes."""

MAX_TAGS = 2_000_000
"""Characters < of a page."""

_PICTURE = re.compile(r"(?<=;base64,)[A-Za-z0-9+/=\r\n]{1000,}+")
_LONG_TAG = re.compile(r"""<[A-Za-z](?:=\s*+"[^"]*+"|=\s*+'[^']*+'|[^>])*+""")
_LONGEST_TAG = 100_000
_MOST_ATTRIBUTES = 1_000
"""Characters = of a tag that is so long: the parser compares every attribute with all before it."""

_DECLARES_ENTITY = re.compile(r"<!ENTITY\b")

_UNSEEN = frozenset(
    """head script style noscript template iframe object embed applet svg canvas audio video map datalist nav
    select textarea button rp""".split()
)
_BLOCKS = frozenset(
    """address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure
    footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu ol optgroup option p pre search section
    summary table tbody td tfoot th thead tr ul""".split()
)
_LISTS = ("ul", "ol", "menu", "dir")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_INVISIBLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.I)
_CHARSET = re.compile(
    rb"""<(?:meta\b[^>]{0,500}?\bcharset|\?xml\b[^>]{0,200}?\bencoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I
)
_CHARSETS = re.compile(
    r"""(?:windows|cp|x-cp)-?(?:125\d|874)|iso-?8859-\d+|latin-?1|koi8-[ru]|gbk|gb2312|gb18030|big5(?:-hkscs)?|euc-jp
    |(?:x-)?s(?:hift)?[_-]?jis|iso-2022-jp|euc-kr|ks_c_5601-1987|tis-620|macintosh|ibm866""",
    re.I | re.X,
)
_WIDER = {
    "iso-8859-1": "cp1252", "latin1": "cp1252", "latin-1": "cp1252", "gb2312": "gb18030", "gbk": "gb18030",
    "shift_jis": "cp932", "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "tis-620": "cp874", "iso-8859-9": "cp1254",
    "macintosh": "mac_roman",
}  # fmt: skip
"""The actual encodings of pages that declare the keys (WHATWG Encoding Standard)."""

_HEAD = 4096
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_META = {
    "author": "author", "dc.creator": "author", "dcterms.creator": "author", "article:author": "author",
    "description": "description", "dc.description": "description", "og:description": "description",
    "keywords": "keywords",
    "date": "date", "dc.date": "date", "dcterms.date": "date", "article:published_time": "date", "pubdate": "date",
}  # fmt: skip


def read_html(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a web page as one row, its headings as places.

    Broken markup is read as browsers do. Left out are scripts, navigation (<nav>), forms' controls, and what is
    hidden. The encoding is that of a byte order mark; UTF-8 where the bytes are; the one that the page names, if
    they are; else what they look like. Nothing is fetched.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise Unreadable("file too large", f"{size} bytes; the limit for web pages is {MAX_BYTES}")
    markup = decoded_page(path.read_bytes())
    root = parse_page(markup)
    if root is None:
        raise Unreadable("no text", "the page is empty")
    draft = Draft(settings)
    add_page(root, draft)
    heading = next((place.label for place in draft.places if place.level == 1), None)
    yield draft.row(_title(root) or heading, _metadata(root))


def parse_page(markup: str) -> "_Element | None":
    """Return the root of a page: parsed as XML if it is declared and well-formed XML, else as browsers parse it.

    None for an empty page. Raises Unreadable where a page would take too much to parse, or declares entities.
    """
    from lxml import etree

    markup = _PICTURE.sub("", clean(markup))
    _refuse_costly(markup)
    declaration = _XML_DECLARATION.match(markup)
    if declaration or "http://www.w3.org/1999/xhtml" in markup[:_HEAD]:
        if _DECLARES_ENTITY.search(markup):
            raise Unreadable("not a readable web page", "it declares entities of its own, which are never replaced")
        body = markup[declaration.end() if declaration else 0 :].lstrip()
        strict = etree.XMLParser(
            resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True,
            remove_pis=True, encoding="utf-8",
        )  # fmt: skip
        try:
            return etree.fromstring(_ENTITY.sub(_replaced, body).encode("utf-8"), strict)
        except (etree.XMLSyntaxError, ValueError) as error:  # ValueError: signs that no XML may hold
            refuse_memory(error)
            markup = body
    lenient = etree.HTMLParser(  # huge_tree: 2,048 levels instead of 256, which old pages with unclosed tags pass
        no_network=True, huge_tree=True, remove_comments=True, remove_pis=True, encoding="utf-8", recover=True
    )
    try:
        root = etree.fromstring(markup.encode("utf-8"), lenient)
        if any("depth" in item.message.lower() for item in lenient.error_log):
            raise Unreadable("not a readable web page", "its elements are nested too deeply")
        return root
    except (etree.XMLSyntaxError, ValueError) as error:
        refuse_memory(error)
        if not markup.strip():
            return None
        raise Unreadable("not a readable web page", str(error)) from error


def _refuse_costly(markup: str) -> None:
    if len(markup) > MAX_CHARACTERS:
        raise Unreadable("file too large", f"{len(markup)} characters; the limit for web pages is {MAX_CHARACTERS}")
    if markup.count("<") > MAX_TAGS:
        raise Unreadable("not a readable web page", f"more than {MAX_TAGS} tags")
    for found in _LONG_TAG.finditer(markup):
        start, end = found.span()
        if end - start > _LONGEST_TAG and markup.count("=", start, end) > _MOST_ATTRIBUTES:
            raise Unreadable("not a readable web page", f"a tag of {end - start} characters with too many attributes")


def add_page(root: "_Element", draft: Draft) -> None:
    """Add the visible text of a page to a draft."""
    from lxml import etree

    writer = _Writer(draft)
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "start":
            if not isinstance(element.tag, str) or _is_unseen(element):
                walk.skip_subtree()
                continue
            writer.open(local(element).lower(), element)
            writer.write(element.text)
        else:
            if isinstance(element.tag, str) and not _is_unseen(element):
                writer.close(local(element).lower())
            writer.write(element.tail if element is not root else None)
    writer.end_block()


class _Writer:
    """Turns the elements of a page, in document order, into blocks of a draft."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._pending: list[str] = []
        self._joint = "\n\n"
        self._mark = ""
        self._tables: list[bool] = []  # of each open table, whether it holds data (and not the page's layout)
        self._row: list[str] | None = None
        self._lists = 0
        self._pre = 0
        self._link = ""  # the mark of the open link

    def open(self, name: str, element: "_Element") -> None:
        """Begin an element. An anchor stands in the block that the element begins."""
        self._open(name, element)
        names = {element.get("id"), element.get("name") if name == "a" else None}
        self._pending += [self._draft.anchor(clean(one)) for one in sorted(filter(None, names))]
        if name == "a" and element.get("href") is not None:
            self._end_link()
            self._link = self._draft.opening(element.get("href") or "")
            self._pending.append(self._link)

    def _end_link(self) -> None:
        if self._link:
            self._pending.append(self._draft.closing(self._link))
            self._link = ""

    def _open(self, name: str, element: "_Element") -> None:
        if name == "table" and self._row is None:
            self.end_block()
            self._tables.append(not _is_layout(element))
        elif name == "br":
            self._pending.append("\n" if self._row is None else " ")
        elif name == "tr" and self._row is None and self._tables and self._tables[-1]:
            self.end_block()
            self._row = []
        elif name in _BLOCKS:
            self._boundary(name, closing=False)
            self._lists += name in _LISTS
            if name == "li" and self._row is None:
                self._mark = "- "
            self._pre += name == "pre"

    def close(self, name: str) -> None:
        """End an element."""
        if name == "a":
            self._end_link()
        elif name == "table" and self._row is None and self._tables:
            self.end_block()
            self._tables.pop()
            self._joint = "\n\n"
        elif name in ("td", "th") and self._row is not None:
            self._row.append(self._take().replace("\n", " "))
        elif name == "tr" and self._row is not None:
            cells, self._row = [*self._row, *([rest] if (rest := self._take()) else [])], None
            if any(map(without_marks, cells)) and self._draft.add(" | ".join(cells), self._joint):
                self._joint = "\n"
        elif name in _HEADINGS and self._row is None:
            self._draft.add_heading(self._take().replace("\n", " "), _HEADINGS[name])
            self._joint = "\n\n"
        elif name in _BLOCKS:
            self._boundary(name, closing=True)
            self._lists -= name in _LISTS
            self._pre -= name == "pre"
            if name in _LISTS and not self._lists:
                self._joint = "\n\n"

    def write(self, text: str | None) -> None:
        if text:
            text = text.translate(NO_MARKS)
            self._pending.append(text if self._pre and self._row is None else " ".join(_with_edges(text)))

    def end_block(self) -> None:
        """Add the text since the last block."""
        text = self._take()
        mark = self._mark if without_marks(text) else ""
        if text and self._draft.add(mark + text, self._joint):
            self._joint, self._mark = "\n\n", ""

    def _boundary(self, name: str, *, closing: bool) -> None:
        if self._row is not None:
            self._pending.append(" ")
            return
        self.end_block()
        if name in ("dd", "dt") or (self._lists and (closing or name in _LISTS)):
            self._joint = "\n"

    def _take(self) -> str:
        text = folded("".join(self._pending)) if not self._pre else "".join(self._pending).strip("\n")
        self._pending.clear()
        return text


def _with_edges(text: str) -> list[str]:
    """Return the words of a text, with an empty one at an end that is whitespace."""
    words = text.split()
    if not words:
        return ["", ""]
    return [*([""] if text[0].isspace() else []), *words, *([""] if text[-1].isspace() else [])]


def _is_unseen(element: "_Element") -> bool:
    if local(element).lower() in _UNSEEN:
        return True
    hidden = element.get("hidden")
    return (hidden is not None and hidden != "until-found") or bool(_INVISIBLE.search(element.get("style") or ""))


def _is_layout(table: "_Element") -> bool:
    """Return whether a table only arranges the page: its cells contain tables, headings or several paragraphs."""
    for element in table.iterdescendants():
        name = local(element).lower()
        if name in ("table", "h1", "h2", "h3", "h4"):
            return True
        if name == "td" and sum(local(item).lower() == "p" for item in element) > 1:
            return True
    return False


def decoded_page(content: bytes) -> str:
    """Decode a page: by its byte order mark, as UTF-8 if valid, in its declared encoding, or in a detected one."""
    named = _named_charset(content)
    try:
        encoding = encoding_of(content)
    except Unreadable as error:
        if named is None or error.reason != "unknown encoding":
            raise
        encoding = named
    if named and (encoding not in ("utf-8", "utf-8-sig", "utf-16", "utf-32") or content.isascii()):
        try:
            return content.decode(named)
        except UnicodeDecodeError:
            pass  # it names what it is not
    return content.decode(encoding, errors="replace")


def _named_charset(content: bytes) -> str | None:
    found = _CHARSET.search(content[:_HEAD])
    name = found[1].decode("ascii", "replace").lower() if found else ""
    return _WIDER.get(name, name) if _CHARSETS.fullmatch(name) and _exists(_WIDER.get(name, name)) else None


def _exists(codec: str) -> bool:
    import codecs

    try:
        codecs.lookup(codec)
    except LookupError:
        return False
    return True


def _replaced(entity: "re.Match[str]") -> str:
    name = entity[1]
    if name in ("amp", "lt", "gt", "quot", "apos"):
        return entity[0]
    return html5.get(f"{name};", entity[0])


def _title(root: "_Element") -> str | None:
    for element in root.iter():
        if local(element).lower() == "title":
            return sensible_title("".join(_texts(element)))
    return None


def _texts(element: "_Element") -> list[str]:
    return [str(text) for text in element.itertext()]


def _metadata(root: "_Element") -> dict[str, str]:
    found: dict[str, str] = {}

    def put(name: str | None, text: str | None) -> None:
        stored = " ".join((text or "").split())
        if name and stored:
            found.setdefault(name, stored)

    put("language", root.get("lang") or root.get("{http://www.w3.org/XML/1998/namespace}lang"))
    for element in root.iter():
        if local(element).lower() == "meta":
            put(_META.get((element.get("name") or element.get("property") or "").lower()), element.get("content"))
    return found
