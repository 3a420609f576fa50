"""What an explanation consists of, and the graph that its paths show."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from conspectus.query.types import Passage, Step


@dataclass(frozen=True, slots=True)
class Part:
    """One number that goes into a score, under the name that it has in the formula, and what it stands for."""

    name: str
    value: float
    detail: str


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the graph: a passage or an entity, its id (that of its chunk, or its own) and what to call it."""

    kind: Literal["passage", "entity"]
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Hop:
    """A node on a path. `edge` says how it is joined with the one before; `share` of that one's mass came here.

    For the first node they are "" and 1.
    """

    node: Node
    edge: str
    share: float


@dataclass(frozen=True, slots=True)
class Path:
    """A path that carried mass to a passage: why it begins where it does, its nodes, and its share of that mass."""

    why: str
    hops: tuple[Hop, ...]
    share: float


@dataclass(frozen=True, slots=True)
class Explained:
    """One passage. `rank` counts from 1, and is None where the passage was not ranked at all (`note` says why).

    `parts` are what its score is made of. `mass` is what the walk brought to it and `paths` the ways by which most of
    that came, which carry `told` of it together; without a walk there are none, and the numbers are 0.
    """

    rank: int | None
    passage: Passage
    parts: tuple[Part, ...]
    mass: float = 0.0
    told: float = 0.0
    paths: tuple[Path, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a method found these passages. `formula` says how the parts of each make its score."""

    question: str
    method: str
    formula: str
    passages: tuple[Explained, ...]
    trace: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class LayeredNode:
    """A node of paths: the most hops that it is from a seed, and the mass of the paths through it.

    `why` says why the walk begins there, "" where no path does. The passage that is explained comes last of all.
    """

    node: Node
    layer: int
    mass: float
    why: str


@dataclass(frozen=True, slots=True)
class PathEdge:
    """An edge that paths follow from one node (its place in `nodes`) to another, and their mass."""

    source: int
    end: int
    words: str
    mass: float


@dataclass(frozen=True, slots=True)
class PathGraph:
    """Nodes by layer, in each the one with most mass first, ties by id; edges by the places of their ends."""

    nodes: tuple[LayeredNode, ...]
    edges: tuple[PathEdge, ...]


def path_graph(passage: Explained) -> PathGraph:
    """Return the part of the graph that the paths to one passage show, in layers."""
    layer: dict[Node, int] = {}
    mass: defaultdict[Node, float] = defaultdict(float)
    why: dict[Node, str] = {}
    flows: defaultdict[tuple[Node, Node], float] = defaultdict(float)
    verbs: dict[tuple[Node, Node], str] = {}
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
