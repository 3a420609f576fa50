"""Things and triples from GraphML: our own export's, LightRAG's and nano-graphrag's, and any other program's.

A thing is a node's name, which is an attribute of it or its id; nodes of one file that share a name stay as many. What
an edge says (predicate, relation, label, ...) is the predicate; LightRAG has keywords in its place, nano-graphrag none.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.exchange.kg.builder import (
    Collector,
    ForeignRow,
    ToldThing,
    ToldTriple,
    details_of,
    strength_of,
    types_of,
    weight_of,
)
from conspectus.pipelines.exchange.kg.files import blocks_of
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage.errors import InputError
from conspectus.storage.text.normalise import entity_key

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

MOST_SIGNS = 10_000_000
"""Characters of one value, and bytes of one tag."""
DEEPEST = 256
_LABELS = {"NodeLabel", "EdgeLabel"}
"""Where yEd has what is shown, within the graphics of a node or an edge."""


@dataclass(frozen=True, slots=True)
class GraphmlItem:
    """A node, or an edge where it has a source and a target. `attributes` are by name; `line` is where it begins."""

    id: str
    source: str
    target: str
    is_edge: bool
    line: int
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Graphml:
    """A file's nodes and edges in its order, and the names of the attributes that it declares."""

    nodes: list[GraphmlItem]
    edges: list[GraphmlItem]
    declared: frozenset[str]
    hyperedges: int


def parse_graphml(path: Path) -> Graphml:
    """Return what a file holds; InputError where it is no GraphML, or goes beyond the bounds."""
    from xml.parsers import expat

    reading = _GraphmlParser(path)
    fed = 0
    try:
        parser = expat.ParserCreate()
        reading.watch(parser)
        for block in _blocks(path):
            fed += len(block)
            parser.Parse(block, not block)
            if fed - parser.CurrentByteIndex > MOST_SIGNS:  # a tag that does not end
                raise InputError(f"{path}: a tag of more than {MOST_SIGNS:,} bytes")
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise InputError(f"{path} is no XML: {error}") from error
    if not reading.is_graphml:
        raise InputError(f"{path} is no GraphML: its root is no graphml element")
    return reading.found()


def _blocks(path: Path) -> Iterator[bytes]:
    yield from blocks_of(path)
    yield b""


class _GraphmlParser:
    """Takes the events of a parser."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parser: XMLParserType | None = None
        self._depth = 0
        self._names: dict[str, str] = {}
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
        self._key: tuple[str, str] | None = None
        self._open: list[GraphmlItem] = []
        self._data: str | None = None
        self._text: list[str] | None = None
        self._signs = 0
        self._nodes: list[GraphmlItem] = []
        self._edges: list[GraphmlItem] = []
        self._hyperedges = 0
        self.is_graphml = False

    def watch(self, parser: "XMLParserType") -> None:
        """Take the events of this parser."""
        self._parser = parser
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters

    def found(self) -> Graphml:
        """Return what was read; what an item does not say, the defaults of the file do."""
        for item in (*self._nodes, *self._edges):
            for name, value in self._defaults["edge" if item.is_edge else "node"].items():
                item.attributes.setdefault(name, value)
        return Graphml(self._nodes, self._edges, frozenset(self._names.values()), self._hyperedges)

    def _doctype(self, *_: object) -> None:
        raise InputError(f"{self._path} declares a document type, which no GraphML needs and a trap may")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise InputError(f"{self._path}: elements stand more than {DEEPEST} deep in each other")
        name = tag.rpartition(":")[2]
        if self._depth == 1:
            self.is_graphml = name == "graphml"
        elif name == "key":
            key = attributes.get("id", "")
            self._names[key] = attributes.get("attr.name") or attributes.get("yfiles.type") or key
            self._key = attributes.get("for", "all"), self._names[key]
        elif name in {"node", "edge"}:
            self._begin(name == "edge", attributes)
        elif name == "hyperedge":
            self._hyperedges += 1
        elif name == "data" and self._open and self._data is None:
            key = attributes.get("key", "")
            self._data = self._names.get(key, key)
            self._listen()
        elif name == "default" and self._key:
            self._listen()
        elif self._data is not None:
            # Markup within a value is some editor's drawing: of that only what is shown counts.
            if name in _LABELS:
                self._listen()
            else:
                self._text = None

    def _begin(self, is_edge: bool, attributes: dict[str, str]) -> None:
        assert self._parser
        item = GraphmlItem(
            attributes.get("id", ""),
            attributes.get("source", ""),
            attributes.get("target", ""),
            is_edge,
            self._parser.CurrentLineNumber,
        )
        (self._edges if is_edge else self._nodes).append(item)
        self._open.append(item)
        self._data = None

    def _listen(self) -> None:
        self._text = []
        self._signs = 0

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._signs += len(text)
            if self._signs > MOST_SIGNS:
                raise InputError(f"{self._path}: a value of more than {MOST_SIGNS:,} characters")
            self._text.append(text)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        name = tag.rpartition(":")[2]
        text = "".join(self._text) if self._text is not None else None
        if name in {"node", "edge"} and self._open:
            self._open.pop()
        elif name == "data" and self._data is not None:
            if text is not None and self._open:
                self._open[-1].attributes[self._data] = text
            self._data = self._text = None
        elif name in _LABELS and self._data is not None and self._open:
            if text:
                self._open[-1].attributes.setdefault("label", text)
            self._text = None
        elif name == "default" and self._key:
            domain, attribute = self._key
            for kind in ("node", "edge") if domain == "all" else (domain,):
                if text is not None and kind in self._defaults:
                    self._defaults[kind][attribute] = text
            self._text = None
        elif name == "key":
            self._key = None


SEPARATOR = "<SEP>"
"""What LightRAG and nano-graphrag write between texts and ids of several chunks."""

_NAMES = ("name", "label", "title", "nodegraphics")
_TYPES = ("type", "entity_type", "category", "kind")
_DESCRIPTIONS = ("description", "desc", "summary")
_PREDICATES = ("predicate", "relation", "relationship", "label", "edge label", "type", "name")
KEYWORDS = "keywords"


def read_graphml(path: Path, into: Collector, language: str = "") -> None:
    """Read a file of nodes and edges; InputError where it is no GraphML.

    A node without a name, a second one of an id, an edge to a node that is not there, and a weight that is none are
    failures, whose item is the line; what the tables have no column for is kept with the rows' origins.
    """
    graph = parse_graphml(path)
    if not graph.nodes:
        into.fail(path.name, "no node of GraphML")
    if graph.hyperedges:
        into.notes.append(f"{graph.hyperedges:,} hyperedges of {path.name} left out: they join more than two things")
    reading = _GraphmlReader(path, into, is_rag(graph))
    reading.nodes(graph.nodes)
    for ordinal, edge in enumerate(graph.edges):
        reading.edge(edge, ordinal)


def is_rag(graph: Graphml) -> bool:
    """Tell whether LightRAG or nano-graphrag made it: their nodes name the chunks that they come from."""
    return {"entity_type", "source_id"} <= graph.declared


class _GraphmlReader:
    """Gives the nodes and edges of one file to a collector."""

    def __init__(self, path: Path, into: Collector, is_rag: bool) -> None:
        self._path = path
        self._into = into
        self._is_rag = is_rag
        self._number: dict[str, int] = {}

    def nodes(self, nodes: Iterable[GraphmlItem]) -> None:
        """Take the nodes."""
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
                self._into.thing(number, self._thing(node, ordinal))

    def edge(self, edge: GraphmlItem, ordinal: int) -> None:
        """Take an edge."""
        source, target = self._number.get(edge.source), self._number.get(edge.target)
        if source is None or target is None:
            missing = edge.source if source is None else edge.target
            self._fail(edge, "an edge to a node that is not there", missing)
            return
        used = dict(edge.attributes)
        predicate = self._text(used, _PREDICATES)
        if not predicate and self._is_rag:
            predicate = predicate_of_keywords(used.pop(KEYWORDS, ""))
        if used.get("label", "").strip() == predicate.strip():
            used.pop("label", None)
        description = self._text(used, _DESCRIPTIONS)
        weight = self._measured(edge, used, "weight", weight_of)
        strength = self._measured(edge, used, "strength", strength_of)
        told = ToldTriple(
            1.0 if weight is None else weight,
            strength,
            description,
            (self._row(edge.id or f"{edge.source} -> {edge.target}", ordinal, used, description),),
        )
        self._into.add_told(source, self._into.literal_predicate(clean(predicate)), target, told)

    def _name(self, node: GraphmlItem) -> str:
        """Return what a node is called."""
        if not self._is_rag:
            names = {key.lower(): text for key, text in node.attributes.items()}
            for attribute in _NAMES:
                if names.get(attribute, "").strip():
                    return " ".join(clean(names[attribute]).split())
        return unquoted(clean(node.id)) if self._is_rag else " ".join(clean(node.id).split())

    def _thing(self, node: GraphmlItem, ordinal: int) -> ToldThing:
        name = self._name(node)
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
        return ToldThing(types, description, (self._row(node.id, ordinal, used, description, types),))

    def _row(
        self, id_: str, ordinal: int, rest: Mapping[str, str], description: str, types: Sequence[str] = ()
    ) -> ForeignRow:
        left = {clean(key): clean(text) for key, text in rest.items() if text.strip()}
        return ForeignRow(self._path.name, clean(id_), ordinal, details_of(left, description, types))

    def _text(self, attributes: dict[str, str], names: Iterable[str]) -> str:
        """Return the first of these attributes that says something, and take it out."""
        by_name = {key.lower(): key for key in attributes}
        for name in names:
            if name in by_name and attributes[by_name[name]].strip():
                return self._joined(attributes.pop(by_name[name]))
        return ""

    def _joined(self, text: str) -> str:
        """Return a text; of several in one field each once."""
        if not self._is_rag:
            return clean(text)
        parts = (unquoted(clean(part)) for part in text.split(SEPARATOR))
        return " ".join(dict.fromkeys(filter(None, parts)))

    def _measured(
        self, edge: GraphmlItem, attributes: dict[str, str], name: str, read: Callable[[str], float | None]
    ) -> float | None:
        text = attributes.pop(name, "").strip()
        value = read(text) if text else None
        if text and value is None:
            self._fail(edge, f"a {name} that is none", text)
        return value

    def _fail(self, item: GraphmlItem, reason: str, detail: str = "") -> None:
        self._into.fail(f"{self._path.name}:{item.line}", reason, detail or item.id)


def predicate_of_keywords(text: str) -> str:
    """Return what LightRAG's keywords of an edge say as its predicate, in small letters as those of documents compare.

    >>> predicate_of_keywords("Power<SEP>conflict,  rivalry")
    'power, conflict, rivalry'
    """
    return entity_key(clean(text).replace(SEPARATOR, ", "))


def unquoted(text: str) -> str:
    """Return a text without the quotes around it that nano-graphrag and early LightRAG leave there."""
    text = " ".join(text.split())
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] == '"' else text
