"""Read XML: articles and books in JATS, DocBook and FictionBook by way of HTML, other XML as its texts without tags.

The elements of an article get the names that HTML has for them, and the reader of web pages does the rest. Of other XML
each element that holds values only is a line, "height: 22; keeper: Ada", and mixed content is a paragraph.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.guards import local, text_in
from conspectus.pipelines.readers.rows import Draft, Row, as_title, labelled
from conspectus.pipelines.readers.web.page import add_elements, decoded_page, parse_page
from conspectus.storage.settings import InputSettings
from conspectus.storage.text.language_tables import by_language

if TYPE_CHECKING:
    from lxml.etree import _Element

_TABLES = by_language("conspectus.pipelines.readers", "xml_documents.txt")
_HTML = {name: html for html, names in _TABLES["html"].items() for name in names.split()}
_DOCUMENTS, _SECTIONS, _LEFT_OUT = (frozenset(names.split()) for names in _TABLES["parts"].values())
_HEADS = _TABLES["headings"]
_MARKS = frozenset("bibr aff fn corresp author-notes".split())
"""Kinds of cross-references whose text is only a number or sign."""
_NAMES = "given-names firstname first-name othername middle-name surname last-name suffix".split()
"""The parts of a person's name, in the order in which they are written."""
_DEEPEST = 6
_DECLARATION = re.compile(r"\s*<\?xml")


def read_xml(path: Path, _: InputSettings) -> Iterator[Row]:
    """Yield an XML document as one row. Entities are never replaced and nothing is fetched.

    JATS and DocBook: the title, authors and the like as metadata and first line, sections as places, references apart.
    """
    markup = decoded_page(path.read_bytes())
    root = parse_page(markup if _DECLARATION.match(markup) else f'<?xml version="1.0"?>{markup}')
    if root is None:
        raise Unreadable("no text", "the document is empty")
    draft = Draft()
    article = next((one for one in root.iter() if local(one) in _DOCUMENTS), root)
    if local(article) not in _DOCUMENTS:
        for text in _values(root):
            draft.add(text)
        yield draft.row(None, {})
        return
    title, metadata = _head(article)
    draft.add_heading(title or "", 1)
    for name, value in metadata.items():
        draft.add(f"{name.capitalize()}: {value}")
    _as_html(article)
    add_elements(article, draft)
    yield draft.row(title, metadata)


def _head(article: "_Element") -> tuple[str | None, Mapping[str, str]]:
    """Return the title of an article and what is known about it; both leave the tree."""
    found: dict[str, str] = {}
    for name, path in _TABLES["metadata"].items():
        elements: Any = article.xpath(path)
        said = map({"author": _name, "date": _date}.get(name, text_in), elements)
        if value := ", ".join(dict.fromkeys(filter(None, said))):
            found[name] = value
        for one in elements:
            _empty(one)
    return as_title(found.pop("title", None)), found


def _empty(element: "_Element") -> None:
    """Remove what is in an element."""
    element.clear(keep_tail=True)  # type: ignore[call-arg]  # unknown to the stubs


def _name(element: "_Element") -> str:
    """Return the name of a person, the given names first."""
    named = sorted((one for one in element.iter() if local(one) in _NAMES), key=lambda one: _NAMES.index(local(one)))
    if any(local(one) in ("surname", "last-name") for one in named):
        return " ".join(map(text_in, named))
    inner = next((one for one in element.iter() if local(one) in ("collab", "personname", "string-name")), element)
    return text_in(inner)


def _date(element: "_Element") -> str:
    parts = {local(one): text_in(one) for one in element}
    given = [parts[name].zfill(2) for name in ("year", "month", "day") if name in parts]
    return "-".join(given) or text_in(element)


def _as_html(root: "_Element") -> None:
    """Give the elements below a root the names that HTML has for them."""
    depths = {root: 1}
    for element in list(root.iter()):
        if not (name := local(element)):
            continue
        parent = element.getparent()
        depth = depths[element] = (
            1 if parent is None or element is root else depths.get(parent, 1) + (name in _SECTIONS)
        )
        if name in _LEFT_OUT or (name == "xref" and element.get("ref-type") in _MARKS):
            _empty(element)
            before = element.getprevious()
            if parent is not None and (element.tail or " ")[0] in ".,;:)":
                if before is not None:
                    before.tail = (before.tail or "").rstrip()
                else:
                    parent.text = (parent.text or "").rstrip()
        if name in _HEADS and not any(local(child) == "title" for child in element):
            element.insert(0, heading := element.makeelement("title"))
            heading.text, heading.tail, element.text = _HEADS[name], element.text, None
            depths[heading], heading.tag = depth, f"h{min(depth, _DEEPEST)}"
        if name == "title" and parent is not None and (local(parent) in ("section", "article")):
            text = " ".join(map(text_in, element))
            if len(element) and all(local(child) in ("p", "empty-line") for child in element):  # of FictionBook
                _empty(element)
                element.text = text
            element.tag = f"h{min(depth, _DEEPEST)}"
        elif name == "entry" and any(local(one) == "thead" for one in element.iterancestors()):
            element.tag = "th"
        elif name in _SECTIONS or name in _DOCUMENTS:
            element.tag = "section"
        elif name in _HTML:
            element.tag = _HTML[name]
        elif not re.fullmatch(r"h[1-6]", name):
            blocks = (local(child) in _HTML or local(child) in _SECTIONS for child in element)
            element.tag = "div" if any(blocks) or name in ("title", "label", "body", "back", "front") else "span"


def _values(root: "_Element") -> Iterator[str]:
    """Yield the texts of an XML document that is no article: a paragraph for each mixed or innermost element."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        children = [child for child in element if local(child)]
        own = {str(name).rpartition("}")[2]: str(value) for name, value in element.attrib.items()}
        if any((text or "").strip() for text in (element.text, *(child.tail for child in children))):
            yield labelled(own | {"" if children else local(element): text_in(element)})
            continue
        for child in (child for child in children if not len(child)):
            name = local(child)
            if (value := text_in(child)) and name in own:
                value = f"{own[name]}, {value}"
            own |= {name: value} if value else {}
        yield labelled(own)
        waiting += reversed([child for child in children if len(child)])
