"""A graph whose nodes and edges are texts, and its form as two CSV tables."""

from collections.abc import Sequence
from dataclasses import dataclass

NODE_HEADER = ("node_id", "node_attr")
EDGE_HEADER = ("src", "edge_attr", "dst")


@dataclass(frozen=True, slots=True)
class Table:
    """A header and rows of the same length. Its string form is CSV with line feeds."""

    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        return "".join(",".join(map(_quoted, row)) + "\n" for row in self.rows)


@dataclass(frozen=True, slots=True)
class TextualEdge:
    """One directed edge: `source` and `target` are node numbers from 0, `text` is the edge's text."""

    source: int
    text: str
    target: int


@dataclass(frozen=True, slots=True)
class TextualGraph:
    """Node texts in the order of their numbers (from 0), and directed edges between them; parallel edges are allowed.

    Raises `ValueError` if an edge refers to a missing node. The format of G-Retriever's GraphQA (section 4).
    """

    nodes: tuple[str, ...]
    edges: tuple[TextualEdge, ...]

    def __post_init__(self) -> None:
        count = len(self.nodes)
        for edge in self.edges:
            if not (0 <= edge.source < count and 0 <= edge.target < count):
                raise ValueError(f"an edge joins nodes {edge.source} and {edge.target} of a graph of {count} nodes")

    @property
    def sources(self) -> tuple[int, ...]:
        """The source node of each edge."""
        return tuple(edge.source for edge in self.edges)

    @property
    def targets(self) -> tuple[int, ...]:
        """The target node of each edge."""
        return tuple(edge.target for edge in self.edges)

    def to_text(self) -> str:
        """The two CSV tables, `node_id,node_attr` and `src,edge_attr,dst`, separated by an empty line.

        Texts with a comma, a quote or a line break are quoted by RFC 4180.
        """
        nodes, edges = self.tables()
        return f"{nodes}\n{edges}"

    def tables(self) -> "tuple[Table, Table]":
        """Return the table of nodes and the table of edges, with their headers."""
        nodes = ((str(number), text) for number, text in enumerate(self.nodes))
        edges = ((str(edge.source), edge.text, str(edge.target)) for edge in self.edges)
        return Table((NODE_HEADER, *nodes)), Table((EDGE_HEADER, *edges))

    def part(self, nodes: Sequence[int], edges: Sequence[int]) -> "TextualGraph":
        """The graph of these nodes and edges (positions), with nodes renumbered in the given order.

        Raises `ValueError` if an end of an edge is not in `nodes`.
        """
        place = {node: number for number, node in enumerate(nodes)}
        chosen = [self.edges[edge] for edge in edges]
        missing = [edge for edge in chosen if edge.source not in place or edge.target not in place]
        if missing:
            raise ValueError(f"{len(missing)} edges of the part have an end outside of it")
        return TextualGraph(
            tuple(self.nodes[node] for node in nodes),
            tuple(TextualEdge(place[edge.source], edge.text, place[edge.target]) for edge in chosen),
        )


def _quoted(field: str) -> str:
    # Not `csv.writer`: before Python 3.12 it leaves a lone carriage return bare, which its own reader then refuses.
    return '"' + field.replace('"', '""') + '"' if any(mark in field for mark in ',"\r\n') else field
