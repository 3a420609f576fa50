"""The part of the graph that the paths to one passage show, in layers."""

from collections import defaultdict
from dataclasses import dataclass

from conspectus.query.explain.types import Explained, Node


@dataclass(frozen=True, slots=True)
class Placed:
    """A node of the subgraph: the most hops that it is from a seed, and the mass of the paths through it.

    `why` says why the walk begins there, "" where no path does. The passage that is explained comes last of all.
    """

    node: Node
    layer: int
    mass: float
    why: str


@dataclass(frozen=True, slots=True)
class Joined:
    """An edge that paths follow from one node (its place in `nodes`) to another, and their mass."""

    source: int
    end: int
    words: str
    mass: float


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Nodes by layer, in each the one with most mass first, ties by id; edges by the places of their ends."""

    nodes: tuple[Placed, ...]
    edges: tuple[Joined, ...]


def subgraph(passage: Explained) -> Subgraph:
    """Return the union of the paths to a passage."""
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
    edges = [Joined(place_of[a], place_of[b], verbs[a, b], flow) for (a, b), flow in flows.items()]
    return Subgraph(
        tuple(Placed(node, layer[node], mass[node], why.get(node, "")) for node in order),
        tuple(sorted(edges, key=lambda edge: (edge.source, edge.end))),
    )
