"""Read nodes and edges from GraphML (Brandes et al. 2002), and from GEXF, the format of Gephi.

The file is streamed and may be hostile: document types are refused, so entities cannot be declared; external
references are not resolved; and libxml2 bounds depth and values.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from conspectus.pipelines.exchange.kg.files import blocks_of
from conspectus.pipelines.exchange.kg.nodes_and_edges import Item, NodesAndEdges, read_nodes_and_edges
from conspectus.pipelines.exchange.kg.statements import Statements
from conspectus.pipelines.readers.guards import local
from conspectus.storage.errors import InputError
from conspectus.storage.settings import KgSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_LABELS = {"NodeLabel", "EdgeLabel"}
"""The elements in which yEd stores the displayed label of a node or an edge."""
_LISTS = {"graph", "graphml", "gexf", "nodes", "edges"}
"""The elements that contain nodes and edges."""
_OF_GEXF = ("label", "weight", "kind")
"""Attributes that GEXF writes in the tag of a node or an edge."""


def read_graphml(path: Path, into: Statements, _settings: KgSettings) -> None:
    """Read a file of nodes and edges; InputError if it is neither GraphML nor GEXF."""
    read_nodes_and_edges(parse_graphml(path), path, into)


def parse_graphml(path: Path) -> NodesAndEdges:
    """Return the content of a file; InputError if it is neither GraphML nor GEXF, or exceeds the bounds of libxml2."""
    from lxml import etree

    parser = etree.XMLPullParser(
        ("start", "end"), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    reading = _GraphmlParser(path)
    try:
        for block in blocks_of(path):
            parser.feed(block)
            for event, element in cast("Iterator[tuple[str, _Element]]", parser.read_events()):
                (reading.start if event == "start" else reading.end)(element)
        parser.close()
    except (etree.XMLSyntaxError, ValueError, LookupError) as error:
        raise InputError(f"{path} is not XML: {' '.join(str(error).split())}") from error
    return reading.found()


class _GraphmlParser:
    """Collects nodes and edges from elements as they start and end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: dict[str, str] = {}
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
        self._open: list[Item] = []
        self._items: dict[str, list[Item]] = {"node": [], "edge": []}
        self._hyperedges = 0

    def found(self) -> NodesAndEdges:
        """Return the nodes and edges; missing attributes of an item get the defaults of the file."""
        for kind, items in self._items.items():
            for item in items:
                item.attributes.update({**self._defaults[kind], **item.attributes})
        return NodesAndEdges(
            self._items["node"], self._items["edge"], frozenset(self._names.values()), self._hyperedges
        )

    def start(self, element: "_Element") -> None:
        """Take the attributes of an element that starts; InputError if it cannot be a part of GraphML."""
        name, untyped = (
            local(element),
            cast("Any", element),
        )  # stubs of lxml lack `doctype` and type `sourceline` as `...`
        if element.getparent() is None:
            if untyped.getroottree().docinfo.doctype:
                raise InputError(f"{self._path} declares a document type, which GraphML never needs and attacks use")
            if name not in {"graphml", "gexf"}:
                raise InputError(f"{self._path} is not GraphML or GEXF: its root is a {name} element")
        elif name == "key":
            key = element.get("id", "")
            self._names[key] = element.get("attr.name") or element.get("yfiles.type") or key
        elif name == "attribute" and (parent := element.getparent()) is not None:
            key = f"{parent.get('class')} {element.get('id')}"
            self._names[key] = element.get("title") or key
        elif name in self._items:
            id_, source, target = (element.get(end, "") for end in ("id", "source", "target"))
            item = Item(id_, source, target, untyped.sourceline or 0)
            item.attributes.update((key, text) for key in _OF_GEXF if (text := element.get(key)))
            self._items[name].append(item)
            self._open.append(item)
        self._hyperedges += name == "hyperedge"

    def end(self, element: "_Element") -> None:
        """Take the texts of an element that ends, and release what it contains."""
        name, parent = local(element), element.getparent()
        if name in self._items:
            self._open.pop()
        elif name == "attvalue" and self._open:
            key = f"{'edge' if self._open[-1].target else 'node'} {element.get('for')}"
            self._open[-1].attributes[self._names.get(key, key)] = element.get("value", "")
        elif name == "data" and self._open:
            key = element.get("key", "")
            # Markup within a value is an editor's drawing, of which only the displayed label is read.
            for part in element.iter():
                if local(part) in _LABELS and part.text:
                    self._open[-1].attributes.setdefault("label", part.text)
            if len(element) == 0:
                self._open[-1].attributes[self._names.get(key, key)] = element.text or ""
        elif name == "default" and parent is not None and local(parent) == "key":
            for kind, defaults in self._defaults.items():
                if parent.get("for", "all") in {kind, "all"}:
                    defaults[self._names[parent.get("id", "")]] = element.text or ""
        previous = element.getprevious()
        if parent is not None and previous is not None and local(parent) in _LISTS:
            parent.remove(previous)
