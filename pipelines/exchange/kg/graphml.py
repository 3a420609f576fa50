"""Read things and triples from GraphML (Brandes et al. 2002): our own export, LightRAG, nano-graphrag, other programs.

A thing is named by an attribute of its node, or by the node's id; nodes of one file that share a name remain distinct.
An attribute of the edge (predicate, relation, label, ...) is the predicate; LightRAG has keywords instead, and
nano-graphrag has none.

The file is streamed and may be hostile: document types are refused, so entities cannot be declared; external
references are not resolved; and libxml2 bounds depth, values and tags.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from conspectus.pipelines.exchange.kg.builder import (
    ForeignRow,
    GraphBuilder,
    ThingAttributes,
    TripleAttributes,
    details_of,
    strength_of,
    types_of,
    weight_of,
)
from conspectus.pipelines.exchange.kg.files import blocks_of
from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.readers.guards import local
from conspectus.storage.errors import InputError
from conspectus.storage.text.normalise import entity_key

if TYPE_CHECKING:
    from lxml.etree import _Element

MOST_BYTES = 50_000_000
"""Maximum bytes that contain neither the start nor the end of an element."""
_LABELS = {"NodeLabel", "EdgeLabel"}
"""The elements in which yEd stores the displayed label of a node or an edge."""


@dataclass(frozen=True, slots=True)
class GraphmlItem:
    """A node, or an edge with a source and a target. `attributes` are by name; `line` is its first line."""

    id: str
    source: str
    target: str
    line: int
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Graphml:
    """The nodes and edges of a file in file order, and the attribute names that it declares."""

    nodes: list[GraphmlItem]
    edges: list[GraphmlItem]
    declared: frozenset[str]
    hyperedges: int


def parse_graphml(path: Path) -> Graphml:
    """Return the content of a file; InputError if it is not GraphML or exceeds the bounds of libxml2."""
    from lxml import etree

    parser = etree.XMLPullParser(
        ("start", "end"), resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    reading = _GraphmlParser(path)
    waiting = 0
    try:
        for block in blocks_of(path):
            parser.feed(block)
            waiting += len(block)
            for event, element in cast("Iterator[tuple[str, _Element]]", parser.read_events()):
                waiting = 0
                (reading.start if event == "start" else reading.end)(element)
            if waiting > MOST_BYTES:  # libxml2 bounds a value but not the tag that contains it
                raise InputError(f"{path}: more than {MOST_BYTES:,} bytes without an element")
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
        self._open: list[GraphmlItem] = []
        self._items: dict[str, list[GraphmlItem]] = {"node": [], "edge": []}
        self._hyperedges = 0

    def found(self) -> Graphml:
        """Return the nodes and edges; missing attributes of an item get the defaults of the file."""
        for kind, items in self._items.items():
            for item in items:
                item.attributes.update({**self._defaults[kind], **item.attributes})
        return Graphml(self._items["node"], self._items["edge"], frozenset(self._names.values()), self._hyperedges)

    def start(self, element: "_Element") -> None:
        """Take the attributes of an element that starts; InputError if it cannot be a part of GraphML."""
        name, untyped = (
            local(element),
            cast("Any", element),
        )  # stubs of lxml lack `doctype` and type `sourceline` as `...`
        if element.getparent() is None:
            if untyped.getroottree().docinfo.doctype:
                raise InputError(f"{self._path} declares a document type, which GraphML never needs and attacks use")
            if name != "graphml":
                raise InputError(f"{self._path} is not GraphML: its root is not a graphml element")
        elif name == "key":
            key = element.get("id", "")
            self._names[key] = element.get("attr.name") or element.get("yfiles.type") or key
        elif name in self._items:
            id_, source, target = (element.get(end, "") for end in ("id", "source", "target"))
            item = GraphmlItem(id_, source, target, untyped.sourceline or 0)
            self._items[name].append(item)
            self._open.append(item)
        self._hyperedges += name == "hyperedge"

    def end(self, element: "_Element") -> None:
        """Take the texts of an element that ends, and release what it contains."""
        name, parent = local(element), element.getparent()
        if name in self._items:
            self._open.pop()
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
        if parent is not None and previous is not None and local(parent) in {"graph", "graphml"}:
            parent.remove(previous)


SEPARATOR = "<SEP>"
"""The separator of LightRAG and nano-graphrag between texts and ids of several chunks."""

_NAMES = ("name", "label", "title", "nodegraphics")
_TYPES = ("type", "entity_type", "category", "kind")
_DESCRIPTIONS = ("description", "desc", "summary")
_PREDICATES = ("predicate", "relation", "relationship", "label", "edge label", "type", "name")
KEYWORDS = "keywords"


def read_graphml(path: Path, into: GraphBuilder, _language: str = "") -> None:
    """Read a file of nodes and edges; InputError if it is not GraphML.

    A node without a name, a second node with the same id, an edge to a missing node and an invalid weight are failures
    with the line as item. Attributes that our tables have no column for are stored in the table origins.
    """
    graph = parse_graphml(path)
    if not graph.nodes:
        into.fail(path.name, "no nodes")
    if graph.hyperedges:
        into.notes.append(f"{graph.hyperedges:,} hyperedges of {path.name} left out: they join more than two things")
    reading = _GraphmlReader(path, into, is_rag(graph))
    reading.nodes(graph.nodes)
    for ordinal, edge in enumerate(graph.edges):
        reading.edge(edge, ordinal)


def is_rag(graph: Graphml) -> bool:
    """Return whether LightRAG or nano-graphrag wrote the file: their nodes list the chunks that they come from."""
    return {"entity_type", "source_id"} <= graph.declared


class _GraphmlReader:
    """Adds the nodes and edges of one file to the graph."""

    def __init__(self, path: Path, into: GraphBuilder, is_rag: bool) -> None:
        self._path = path
        self._into = into
        self._is_rag = is_rag
        self._number: dict[str, int] = {}

    def nodes(self, nodes: Iterable[GraphmlItem]) -> None:
        """Add the nodes."""
        named = [(node, self._name(node)) for node in nodes]
        bearers = Counter(entity_key(name) for _, name in named)
        for ordinal, (node, name) in enumerate(named):
            if not entity_key(name):
                self._fail(node, "a node without a name")
            elif node.id in self._number:
                self._fail(node, "a second node of one id", node.id)
            else:
                if bearers[entity_key(name)] == 1:
                    number = self._into.name(name)
                else:
                    id_ = f"{self._path.name}#{node.id}"
                    number = self._into.id(id_)
                    self._into.label(id_, name)
                self._number[node.id] = number
                self._into.thing(number, self._thing(node, name, ordinal))

    def edge(self, edge: GraphmlItem, ordinal: int) -> None:
        """Add an edge."""
        source, target = self._number.get(edge.source), self._number.get(edge.target)
        if source is None or target is None:
            missing = edge.source if source is None else edge.target
            self._fail(edge, "an edge to a missing node", missing)
            return
        used = dict(edge.attributes)
        predicate = self._text(used, _PREDICATES)
        if not predicate and self._is_rag:
            predicate = predicate_of_keywords(used.pop(KEYWORDS, ""))
        if used.get("label", "").strip() == predicate.strip():
            used.pop("label", None)
        description = self._text(used, _DESCRIPTIONS)
        item = f"{self._path.name}:{edge.line}"
        weight = self._into.measured(item, "weight", used.pop("weight", "").strip(), weight_of)
        strength = self._into.measured(item, "strength", used.pop("strength", "").strip(), strength_of)
        content = TripleAttributes(
            1.0 if weight is None else weight,
            strength,
            description,
            (self._row(edge.id or f"{edge.source} -> {edge.target}", ordinal, used, description),),
        )
        self._into.add_with_attributes(source, self._into.literal_predicate(clean(predicate)), target, content)

    def _name(self, node: GraphmlItem) -> str:
        if self._is_rag:
            return unquoted(clean(node.id))
        names = {key.lower(): text for key, text in node.attributes.items() if text.strip()}
        return " ".join(clean(next((names[key] for key in _NAMES if key in names), node.id)).split())

    def _thing(self, node: GraphmlItem, name: str, ordinal: int) -> ThingAttributes:
        used = {
            key: text
            for key, text in node.attributes.items()
            if key.lower() not in _NAMES or " ".join(text.split()) != name
        }
        types = types_of(used.pop("types", "")) or tuple(filter(None, [self._text(used, _TYPES)]))
        used.pop("type", None)
        if self._is_rag:
            types = tuple(map(unquoted, types))
        description = self._text(used, _DESCRIPTIONS)
        return ThingAttributes(types, description, (self._row(node.id, ordinal, used, description, types),))

    def _row(
        self, id_: str, ordinal: int, rest: Mapping[str, str], description: str, types: Sequence[str] = ()
    ) -> ForeignRow:
        left = {clean(key): clean(text) for key, text in rest.items() if text.strip()}
        return ForeignRow(self._path.name, clean(id_), ordinal, details_of(left, description, types))

    def _text(self, attributes: dict[str, str], names: Iterable[str]) -> str:
        """Remove and return the first of these attributes that is not empty."""
        by_name = {key.lower(): key for key, text in attributes.items() if text.strip()}
        found = next((by_name[name] for name in names if name in by_name), None)
        text = "" if found is None else attributes.pop(found)
        if not self._is_rag:
            return clean(text)
        # LightRAG stores the texts of several chunks in one field
        parts = (unquoted(clean(part)) for part in text.split(SEPARATOR))
        return " ".join(dict.fromkeys(filter(None, parts)))

    def _fail(self, item: GraphmlItem, reason: str, detail: str = "") -> None:
        self._into.fail(f"{self._path.name}:{item.line}", reason, detail or item.id)


def predicate_of_keywords(text: str) -> str:
    """Return LightRAG's keywords of an edge as a predicate, in lower case.

    >>> predicate_of_keywords("Power<SEP>conflict,  rivalry")
    'power, conflict, rivalry'
    """
    return entity_key(clean(text).replace(SEPARATOR, ", "))


def unquoted(text: str) -> str:
    """Return a text without the surrounding quotes that nano-graphrag and early versions of LightRAG leave."""
    text = " ".join(text.split())
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] == '"' else text
