"""Explanation types: score parts, paths, and the layered graph that the paths form."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from conspectus.query.types import Passage, Step
from conspectus.query.types.html_display import explanation_html


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One term of a score: its name in the formula, its value and its meaning."""

    name: str
    value: float
    detail: str


@dataclass(frozen=True, slots=True)
class PathNode:
    """A node of the graph: a passage (with its chunk id) or an entity (with its own id), and its label."""

    kind: Literal["passage", "entity"]
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class PathHop:
    """A node on a path. `edge` labels the edge from the previous node, `share` is the fraction of that node's mass.

    For the first node they are "" and 1.
    """

    node: PathNode
    edge: str
    share: float


@dataclass(frozen=True, slots=True)
class Path:
    """A path that carried mass to a passage: the reason for its seed, its nodes, and its share of that mass."""

    why: str
    hops: tuple[PathHop, ...]
    share: float


@dataclass(frozen=True, slots=True)
class Explained:
    """One passage. `rank` counts from 1, and is None if the passage was not ranked at all (`note` gives the reason).

    `parts` are the terms of its score. `mass` is its PageRank mass, `paths` are the paths that contribute most of it,
    and `told` is the mass that these paths carry together. Without a walk there are no paths and both numbers are 0.
    """

    rank: int | None
    passage: Passage
    parts: tuple[ScorePart, ...]
    mass: float = 0.0
    told: float = 0.0
    paths: tuple[Path, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a ranking. `formula` states how the parts of a score combine."""

    question: str
    method: str
    formula: str
    passages: tuple[Explained, ...]
    trace: tuple[Step, ...]

    def _repr_html_(self) -> str:
        return explanation_html(self)


@dataclass(frozen=True, slots=True)
class LayeredNode:
    """A node on paths: its greatest distance from a seed in hops, and the mass of the paths through it.

    `why` is the reason for a seed, "" for other nodes. The explained passage comes last.
    """

    node: PathNode
    layer: int
    mass: float
    why: str


@dataclass(frozen=True, slots=True)
class PathEdge:
    """An edge that paths follow from one node (its position in `nodes`) to another, and their mass."""

    source: int
    end: int
    words: str
    mass: float


@dataclass(frozen=True, slots=True)
class PathGraph:
    """Nodes by layer, in each by descending mass, ties by id; edges by the positions of their ends."""

    nodes: tuple[LayeredNode, ...]
    edges: tuple[PathEdge, ...]


def path_graph(passage: Explained) -> PathGraph:
    """Return the part of the graph covered by the paths to one passage, in layers."""
    layer: dict[PathNode, int] = {}
    mass: defaultdict[PathNode, float] = defaultdict(float)
    why: dict[PathNode, str] = {}
    flows: defaultdict[tuple[PathNode, PathNode], float] = defaultdict(float)
    verbs: dict[tuple[PathNode, PathNode], str] = {}
    for path in passage.paths:
        carried = path.share * passage.mass
        why.setdefault(path.hops[0].node, path.why)
        for place, hop in enumerate(path.hops):
            layer[hop.node] = max(place, layer.get(hop.node, 0))
            mass[hop.node] += carried
            if place:
                ends = (path.hops[place - 1].node, hop.node)
                flows[ends] += carried
                verbs[ends] = hop.edge
    if len(layer) > 1:
        target = passage.paths[0].hops[-1].node
        layer[target] = 1 + max(depth for node, depth in layer.items() if node != target)
    order = sorted(layer, key=lambda node: (layer[node], -mass[node], node.kind, node.id))
    place_of = {node: place for place, node in enumerate(order)}
    edges = [PathEdge(place_of[a], place_of[b], verbs[a, b], flow) for (a, b), flow in flows.items()]
    return PathGraph(
        tuple(LayeredNode(node, layer[node], mass[node], why.get(node, "")) for node in order),
        tuple(sorted(edges, key=lambda edge: (edge.source, edge.end))),
    )
