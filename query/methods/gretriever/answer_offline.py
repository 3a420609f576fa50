"""G-Retriever's answer without a language model: the best supported node, with its edges."""

from collections.abc import Sequence

from conspectus.query.abstention import NO_ANSWER
from conspectus.query.context import Context
from conspectus.query.methods.gretriever.retrieval import Retrieved
from conspectus.query.types import Answer, Step
from conspectus.query.types.subgraph import RetrievedSubgraph
from conspectus.query.walk.graph import KnowledgeGraph, is_id, open_graph, spoken
from conspectus.query.walk.provenance import numbers_of, open_grounds


def best_supported(context: Context, found: Retrieved) -> Answer:
    """Return the best supported node, and the nodes with the same relation to the same neighbour.

    Topics of the question and nodes with a bare id are no answers.
    """
    graph, subgraph = open_graph(context), found.subgraph
    ranked = supported(graph, subgraph, found.topics)
    if not ranked:
        return Answer("", "", NO_ANSWER, trace=(Step("answer", "no edge speaks for any node"),))
    best = ranked[0]
    edge = _speaks_most(subgraph, best, found.topics)
    alike = [best, *(node for node in _alike(graph, subgraph, edge, best) if node in set(ranked) and node != best)]
    edges = [_edge_between(graph, subgraph, edge, node) for node in alike]
    names = tuple(graph.names[subgraph.nodes[node]] for node in alike)
    rows = [subgraph.relations[edge] for edge in dict.fromkeys(edges)]
    grounds = open_grounds(context)
    return Answer(
        "",
        "",
        f"{', '.join(map(spoken, names))} {numbers_of(len(rows))}",
        citations=grounds.citations(rows),
        trace=(Step("answer", f"the edges around it speak for {spoken(names[0])} most"),),
        names=names,
        triples=grounds.triples(rows),
    )


def supported(graph: KnowledgeGraph, subgraph: RetrievedSubgraph, topics: Sequence[int]) -> list[int]:
    """Return the nodes (numbers in the subgraph) at the far ends of edges with a prize, best supported first.

    The prize of an edge supports its end that is farther from the topics. A node's support is its best edge; ties go to
    the nearer node, then to the larger sum of prizes.
    """
    support: dict[int, list[float]] = {}
    far = _distances(subgraph, topics)
    for edge, prize in zip(subgraph.text.edges, subgraph.edge_prizes, strict=True):
        if prize > 0 and far[edge.source] != far[edge.target]:
            end = max(edge.source, edge.target, key=far.__getitem__)
            support.setdefault(end, []).append(prize)
    left = [
        node for node in support if subgraph.nodes[node] not in topics and not is_id(graph.names[subgraph.nodes[node]])
    ]
    return sorted(
        left, key=lambda node: (-round(max(support[node]), 9), far[node], -round(sum(support[node]), 9), node)
    )


def _distances(subgraph: RetrievedSubgraph, topics: Sequence[int]) -> list[int]:
    """Return each node's distance in edges from the topics, or else from the first node; unreachable ones last."""
    beside: dict[int, list[int]] = {}
    for edge in subgraph.text.edges:
        beside.setdefault(edge.source, []).append(edge.target)
        beside.setdefault(edge.target, []).append(edge.source)
    starts = [node for node, row in enumerate(subgraph.nodes) if row in topics] or [0]
    far = dict.fromkeys(starts, 0)
    for node in starts:
        for other in beside.get(node, ()):
            if other not in far:
                far[other] = far[node] + 1
                starts.append(other)
    return [far.get(node, len(subgraph.nodes)) for node in range(len(subgraph.nodes))]


def _speaks_most(subgraph: RetrievedSubgraph, node: int, topics: Sequence[int]) -> int:
    """Return the best edge with a prize that joins a node to a topic, or None."""
    at = [
        place
        for place, edge in enumerate(subgraph.text.edges)
        if node in (edge.source, edge.target) and subgraph.edge_prizes[place] > 0
    ]

    def rank(place: int) -> tuple[bool, float, int]:
        edge = subgraph.text.edges[place]
        other = edge.target if edge.source == node else edge.source
        return subgraph.nodes[other] not in topics, -subgraph.edge_prizes[place], place

    return min(at, key=rank)


def _alike(graph: KnowledgeGraph, subgraph: RetrievedSubgraph, edge: int, node: int) -> list[int]:
    """Return the nodes that an edge of the same predicate and direction joins to the same other end."""
    one = subgraph.text.edges[edge]
    outgoing = one.target == node
    other = one.source if outgoing else one.target
    said = graph.stated[subgraph.relations[edge]]
    return [
        item.target if outgoing else item.source
        for item, row in zip(subgraph.text.edges, subgraph.relations, strict=True)
        if graph.stated[row] == said and other == (item.source if outgoing else item.target)
    ]


def _edge_between(graph: KnowledgeGraph, subgraph: RetrievedSubgraph, edge: int, node: int) -> int:
    """Return the edge that joins a node as `edge` joins another."""
    one = subgraph.text.edges[edge]
    said = graph.stated[subgraph.relations[edge]]
    return next(
        (
            place
            for place, (item, row) in enumerate(zip(subgraph.text.edges, subgraph.relations, strict=True))
            if graph.stated[row] == said
            and node in (item.source, item.target)
            and {item.source, item.target} & {one.source, one.target}
        ),
        edge,
    )
