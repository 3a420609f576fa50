"""Read things and triples from the nodes and edges of a file, whatever its format.

A thing is named by an attribute of its node, or by the node's id; nodes of one file that share a name remain distinct.
An attribute of the edge (predicate, relation, label, ...) is the predicate. LightRAG has keywords instead, and
nano-graphrag has none. The other attributes of a node are triples, except in files of these two and our own.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path

from conspectus.pipelines.exchange.kg.builder import ForeignRow, ThingAttributes, TripleAttributes, types_of
from conspectus.pipelines.exchange.kg.statements import Statements, Thing, literal, suffix_of, thing_with_id
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage.errors import InputError
from conspectus.storage.settings import KgSettings
from conspectus.storage.text.normalise import entity_key


@dataclass(frozen=True, slots=True)
class Item:
    """A node, or an edge with a source and a target; `attributes` are by name, `place` is its number in the file."""

    id: str
    source: str
    target: str
    place: int
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodesAndEdges:
    """The nodes and edges of a file in file order."""

    nodes: list[Item]
    edges: list[Item]
    is_directed: bool

    def has_attributes(self, names: frozenset[str]) -> bool:
        """Return whether nodes have all these attributes."""
        return names <= set(chain.from_iterable(node.attributes for node in self.nodes))


SEPARATOR = "<SEP>"
"""The separator of LightRAG and nano-graphrag between texts and ids of several chunks."""
CONNECTED = "connected to"
"""The predicate of an edge that states none; one without a direction is stated in both."""
_NAMES = ("name", "label", "title", "nodegraphics")
_TYPES = ("type", "entity_type", "category", "kind", "labels")
_DESCRIPTIONS = ("description", "desc", "summary")
_PREDICATES = ("predicate", "relation", "relationship", "label", "edge label", "type", "name", "kind")
_DRAWING = frozenset("x y z r g b a size color colour shape position viz image nodegraphics timeset interval".split())
"""Attributes that only a drawing has."""
KEYWORDS = "keywords"
BETWEEN = "\x1f"
"""What separates the texts of a list in one text."""
NETWORKS = (".graphml", ".gexf", ".gml", ".net", ".pajek", ".adjlist", ".edgelist")
"""Formats that networkx reads."""


def read_network(path: Path, into: Statements, _settings: KgSettings) -> None:
    """Read GraphML, GEXF, GML, Pajek's format, or an adjacency or edge list of networkx.

    Raises:
        InputError: networkx cannot read the file.
    """
    read_nodes_and_edges(network_of(path), path, into)


def network_of(path: Path) -> NodesAndEdges:
    """Return the nodes and edges of a file that networkx reads; InputError if it cannot."""
    import networkx as nx

    readers: dict[str, Callable[[], nx.Graph]] = {
        ".graphml": lambda: nx.read_graphml(path),
        ".gexf": lambda: nx.read_gexf(path),
        ".gml": lambda: nx.read_gml(path, label=None),
        ".adjlist": lambda: nx.read_adjlist(path),
        ".edgelist": lambda: nx.read_edgelist(path),
    }
    try:
        try:
            graph = readers.get(suffix_of(path), lambda: nx.read_pajek(path))()
        except TypeError:  # the third column of an edge list is a number
            graph = nx.read_weighted_edgelist(path)
    except (nx.NetworkXException, SyntaxError, ValueError, TypeError, LookupError, EOFError, OSError) as error:
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    of_nodes, of_edges = (graph.graph.get(f"{kind}_default", {}) for kind in ("node", "edge"))
    nodes = [
        Item(str(id_), "", "", place, _texts({**of_nodes, **told}))
        for place, (id_, told) in enumerate(graph.nodes.items())
    ]
    edges = [
        Item(str(told.get("id", "")), str(source), str(target), place, _texts({**of_edges, **told}))
        for place, (source, target, told) in enumerate(graph.edges(data=True))
    ]
    return NodesAndEdges(nodes, edges, graph.is_directed())


def _texts(attributes: Mapping[str, object]) -> dict[str, str]:
    return {str(key): text_of_value(value) for key, value in attributes.items() if key != "id"}


def read_nodes_and_edges(graph: NodesAndEdges, path: Path, into: Statements) -> None:
    """State what the nodes and edges of a file are.

    A node without a name, a second node with the same id, an edge to a missing node and an invalid weight are failures
    with the place as item. Attributes that our tables have no column for are stored in the table origins.
    """
    into.form(f"{path.name}: {len(graph.nodes):,} nodes, {len(graph.edges):,} edges")
    if not graph.nodes:
        into.fail(path.name, "no nodes")
    reading = _Reader(path, into, graph)
    reading.nodes(graph.nodes)
    for edge in graph.edges:
        reading.edge(edge)


def is_rag(graph: NodesAndEdges) -> bool:
    """Return whether LightRAG or nano-graphrag wrote the file: their nodes list the chunks that they come from."""
    return graph.has_attributes(frozenset(("entity_type", "source_id")))


_OWN = frozenset(("types", "frequency", "degree"))
"""Attributes of nodes in our own export."""


def text_of_value(value: object) -> str:
    """Return a value of JSON or of networkx as a text; the texts of a list have `BETWEEN` between them."""
    if isinstance(value, list):
        return BETWEEN.join(text_of_value(each) for each in value if isinstance(each, str | int | float))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None or isinstance(value, dict) else str(value)


class _Reader:
    """Adds the nodes and edges of one file to the graph."""

    def __init__(self, path: Path, into: Statements, graph: NodesAndEdges) -> None:
        self._path = path
        self._into = into
        self._is_rag = is_rag(graph)
        self._has_own_columns = self._is_rag or graph.has_attributes(_OWN)
        self._is_directed = graph.is_directed
        self._thing_of: dict[str, Thing] = {}

    def nodes(self, nodes: Iterable[Item]) -> None:
        """Add the nodes."""
        named = [(node, self._name(node)) for node in nodes]
        bearers = Counter(entity_key(name) for _, name in named)
        for node, name in named:
            if not entity_key(name):
                self._fail(node, "a node without a name")
            elif node.id in self._thing_of:
                self._fail(node, "a second node of one id", node.id)
            else:
                thing: Thing = name
                if bearers[entity_key(name)] > 1:
                    thing = thing_with_id(id_ := f"{self._path.name}#{node.id}")
                    self._into.label(id_, name)
                self._thing_of[node.id] = thing
                self._node(node, thing, name)

    def edge(self, edge: Item) -> None:
        """Add an edge."""
        source, target = self._thing_of.get(edge.source), self._thing_of.get(edge.target)
        if source is None or target is None:
            missing = edge.source if source is None else edge.target
            self._fail(edge, "an edge to a missing node", missing)
            return
        used = dict(edge.attributes)
        predicate = self._text(used, _PREDICATES)
        if not predicate and self._is_rag:
            predicate = predicate_of_keywords(used.pop(KEYWORDS, ""))
        if not self._has_own_columns and predicate.lower() in {"", "directed", "undirected"}:
            predicate = CONNECTED
        if used.get("label", "").strip() == predicate.strip():
            used.pop("label", None)
        description = self._text(used, _DESCRIPTIONS)
        item = f"{self._path.name}#{edge.place}"
        measures = self._into.measures(item, {name: used.pop(name, "") for name in ("weight", "strength")})
        row = self._row(edge.id or f"{edge.source} -> {edge.target}", edge.place, used).of(description)
        content = TripleAttributes(*measures, description, (row,))
        ends = (source, target) if self._is_directed or predicate != CONNECTED else (source, target, source)
        for one, other in pairwise(ends):
            self._into.add(one, self._into.shown_predicate(clean(predicate)), other, content)

    def _name(self, node: Item) -> str:
        if self._is_rag:
            return unquoted(clean(node.id))
        names = {key.lower(): text for key, text in node.attributes.items() if text.strip()}
        return " ".join(clean(next((names[key] for key in _NAMES if key in names), node.id)).split())

    def _node(self, node: Item, thing: Thing, name: str) -> None:
        used = {
            key: text
            for key, text in node.attributes.items()
            if key.lower() not in _NAMES or " ".join(text.split()) != name
        }
        kind = self._text(used, _TYPES)
        types = types_of(used.pop("types", "")) or tuple(filter(None, kind.split(BETWEEN)))
        used.pop("type", None)
        if self._is_rag:
            types = tuple(map(unquoted, types))
        description = self._text(used, _DESCRIPTIONS)
        row = self._row(node.id, node.place, used).of(description, types)
        self._into.thing(thing, ThingAttributes(types, description, (row,)))
        if self._has_own_columns:
            return
        for kind in types:
            self._into.add(thing, "type", kind)
        for key, text in used.items():
            if text.strip() and key.lower() not in _DRAWING and text.strip() != node.id:
                for value in clean(text).split(BETWEEN):
                    self._into.add(thing, self._into.shown_predicate(clean(key)), literal(" ".join(value.split())))

    def _row(self, id_: str, ordinal: int, rest: Mapping[str, str]) -> ForeignRow:
        left = {clean(key): clean(text) for key, text in rest.items() if text.strip()}
        return ForeignRow(self._path.name, clean(id_), ordinal, left)

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

    def _fail(self, item: Item, reason: str, detail: str = "") -> None:
        self._into.fail(f"{self._path.name}#{item.place}", reason, detail or item.id)


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
