"""GraphML (Brandes et al. 2002) as nodes and edges with attributes, from a stream in bounded memory.

The file may be a stranger's: a document type is refused, so that no entity is ever declared, nothing outside the file
is looked up, and depth, values and tags are bounded.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.exchange.kg.files import blocks_of
from conspectus.storage.errors import InputError

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

    reading = _Reading(path)
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


class _Reading:
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
