"""Draw an explanation, a walk over the graph or a subgraph as SVG: what their nodes and edges are in a diagram."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from conspectus.query.explain.types import Explained, Explanation, path_graph
from conspectus.query.types.subgraph import RetrievedSubgraph
from conspectus.query.types.textual_graph import TextualGraph
from conspectus.query.types.trace import WalkTrace
from conspectus.query.walk.graph import WalkGraph, spoken
from conspectus.render.node_link import NOTE, Edge, Kind, Node, drawing, wrapped
from conspectus.rows import EntityDetail
from conspectus.storage.errors import UsageError

_THIN, _THICK = 1.2, 8.0
_AROUND = 9
"""Maximum number of entities on each side of one."""
_FACTS = 6
"""Maximum number of relations shown inside a community."""


def explanation_svg(found: Explanation, width: int | None = None) -> str:
    """Return the drawing of the paths to each passage of an explanation, with lines as thick as the mass they carry.

    `width` is for a page, see `node_link.drawing`; so it is in the other drawings.

    Raises:
        UsageError: No walk was made, or it reached none of the passages.
    """
    shown = [passage for passage in found.passages if passage.paths]
    if not shown:
        raise UsageError(f"there is no path to draw: {_reason(found)}")
    titles = "; ".join(item.passage.title or item.passage.text[:40] for item in shown)
    return drawing(
        [_paths(passage) for passage in shown],
        found.question,
        f"paths of {found.method}",
        f"How the walk came to: {titles}",
        f"Paths of {found.method} for the question: {found.question}",
        width,
    )


def _reason(found: Explanation) -> str:
    if found.method != "ppr":
        return f"the method {found.method!r} walks over no graph; ask with ppr"
    return "the walk did not reach the passage" if found.passages else found.trace[-1].detail


def _paths(passage: Explained) -> tuple[list[Node], list[Edge]]:
    graph = path_graph(passage)
    nodes, edges = [Node(0, Kind.QUESTION, "the question", ("the question",))], list[Edge]()
    for place, item in enumerate(graph.nodes, start=1):
        name, kind = item.node.name, Kind.PASSAGE if item.node.kind == "passage" else Kind.ENTITY
        if place == len(graph.nodes):
            name, kind = f"{passage.rank}. {name}" if passage.rank else name, Kind.EXPLAINED
        below = item.why or item.node.kind
        entity = (item.node.id,) if item.node.kind == "entity" else ()
        nodes.append(Node(item.layer + 1, kind, f"{name} ({below})", (name,), (below,), entities=entity))
        if item.why:
            edges.append(Edge((0, 0), (place, 0), "", item.why, _THIN, dashed=True))
    most = max((edge.mass for edge in graph.edges), default=1.0)
    for edge in graph.edges:
        title = f"{graph.nodes[edge.source].node.name} {edge.words} {graph.nodes[edge.end].node.name}"
        width = _THIN + (_THICK - _THIN) * edge.mass / most
        edges.append(Edge((edge.source + 1, 0), (edge.end + 1, 0), edge.words, title, width))
    return nodes, edges


def walk_svg(
    walk: WalkTrace,
    graph: WalkGraph,
    question: str,
    method: str,
    answers: Sequence[str] = (),
    width: int | None = None,
) -> str:
    """Return the drawing of the chains of a walk; what several chains begin with is drawn once.

    A node is a community (or a single entity): its members, the relations inside it, and the chains that end there with
    the reason. `answers` are names of entities to distinguish by colour. UsageError if the walk has no chain.
    """
    if not walk.chains:
        raise UsageError("there is no walk to draw: it found nothing to start from")
    steps: dict[tuple[int, tuple[int, ...]], tuple[int, int, dict[str, None], list[str]]] = {}
    edges: dict[Edge, None] = {}
    for number, chain in enumerate(walk.chains, start=1):
        step, places, ends = -1, dict[int, tuple[int, int]](), list[str]()
        for column, members in enumerate(chain.communities):
            before, earlier = step, places
            step, _, facts, ends = steps.setdefault((before, members), (len(steps), column, {}, []))
            places = {member: (step, row) for row, member in enumerate(members)}
            joining = list[Edge]()
            for hop in chain.hops if column else ():
                source, target = (hop.start, hop.end) if hop.outgoing else (hop.end, hop.start)
                said = spoken(graph.predicates[graph.stated[hop.relation]].rsplit(".", 1)[-1])
                fact = f"{spoken(graph.names[source])} {said} {spoken(graph.names[target])}"
                if source in places and target in places:
                    facts[fact] = None
                elif source in earlier and target in places:
                    joining.append(Edge(earlier[source], places[target], said, fact))
                elif source in places and target in earlier:
                    joining.append(Edge(places[source], earlier[target], said, fact))
            if column:
                edges |= dict.fromkeys(joining or [Edge((before, 0), (step, 0), "", "", dashed=True)])
        ends.append(f"chain {number} ended: {chain.ended}" if chain.ended else f"chain {number}")
    named, nodes = frozenset(map(spoken, answers)), []
    for (_, members), (_, column, facts, ends) in steps.items():
        rows, known = tuple(spoken(graph.names[member]) for member in members), list(facts)
        more = [f"and {len(known) - _FACTS + 1} more"] if len(known) > _FACTS else []
        notes = [*known[: _FACTS - len(more)], *more, *(line for end in ends for line in wrapped(end, NOTE, 2))]
        kind = Kind.STEP if column else Kind.START
        ids = tuple(graph.entity_ids[member] for member in members)
        nodes.append(Node(column, kind, "; ".join([*rows, *known, *ends]), rows, tuple(notes), named, ids))
    return drawing(
        [(nodes, list(edges))],
        question,
        _told(method, answers),
        f"How {method} walked: {question}",
        "; ".join(decision.outcome for decision in walk.decisions if decision.outcome),
        width,
    )


def _told(method: str, answers: Sequence[str]) -> str:
    more = f" and {len(answers) - 5} more" if len(answers) > 5 else ""
    return f"{method}: {', '.join(map(spoken, answers[:5])) or 'no answer'}{more}"


def subgraph_svg(
    found: RetrievedSubgraph, question: str, method: str, answers: Sequence[str] = (), width: int | None = None
) -> str:
    """Return the drawing of a subgraph, in columns by distance in edges from the node with the highest prize.

    `answers` are names of nodes to distinguish by colour. UsageError if the subgraph has no node.
    """
    if not found.nodes:
        raise UsageError("there is no subgraph to draw: nothing in the graph is near to the question")
    names, named = found.text.nodes, {spoken(answer).casefold() for answer in answers}
    marked = frozenset(name for name in names if name.casefold() in named)
    nodes = []
    for number, (name, prize, column) in enumerate(zip(names, found.node_prizes, _columns(found.text), strict=True)):
        kind, notes = (Kind.PRIZED, (f"prize {prize:g}",)) if prize else (Kind.OTHER, ())
        nodes.append(Node(column, kind, f"{number}: {name}", (name,), notes, marked, (name,)))
    edges = [
        Edge((edge.source, 0), (edge.target, 0), edge.text, f"{names[edge.source]} {edge.text} {names[edge.target]}")
        for edge in found.text.edges
    ]
    size = f"{len(found.nodes)} nodes and {len(found.relations)} edges of {found.searched[0]} and {found.searched[1]}"
    told = f"{_told(method, answers)}; {size}"
    return drawing([(nodes, edges)], question, told, f"The subgraph of {method} for: {question}", told, width)


def entity_svg(entity: EntityDetail, width: int | None = None) -> str:
    """Return the drawing of an entity with what points at it on its left and what it points at on its right.

    Without relations it is drawn with what is named beside it. UsageError if there is nothing around it.
    """
    nodes = [Node(1, Kind.ANSWER, entity.name, (entity.name,), (entity.type.lower(),) if entity.type else ())]
    edges, places = list[Edge](), dict[tuple[int, str], int]()

    def join(column: int, id_: str, name: str, said: str, *, dashed: bool = False) -> None:
        if (column, id_) not in places:
            if sum(each == column for each, _ in places) == _AROUND:
                return
            places[column, id_] = len(nodes)
            nodes.append(Node(column, Kind.ENTITY, name, (name,), entities=(id_,)))
        ends = ((0, 0), (places[column, id_], 0))
        source, target = ends if column else ends[::-1]
        edges.append(Edge(source, target, said, said, dashed=dashed))

    for each in entity.neighbours:
        if each.entity_id != entity.id:
            join(2 * each.outgoing, each.entity_id, each.name, spoken(each.predicate) or each.description)
    for place, other in enumerate(() if entity.neighbours else entity.beside[: 2 * _AROUND]):
        join(2 * (place % 2), other.entity_id, other.name, f"{other.passages} together", dashed=True)
    if not edges:
        raise UsageError(f"there is nothing around {entity.name}")
    if not any(node.column == 0 for node in nodes):
        nodes = [replace(node, column=node.column - 1) for node in nodes]
    told = f"What is around {entity.name}"
    return drawing([(nodes, edges)], entity.name, told, told, "; ".join(node.title for node in nodes[1:]), width)


def _columns(graph: TextualGraph) -> list[int]:
    """Return the distance in edges of each node from the first of its component."""
    beside: defaultdict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        beside[edge.source].append(edge.target)
        beside[edge.target].append(edge.source)
    column: dict[int, int] = {}
    for start in range(len(graph.nodes)):
        waiting = [start] if column.setdefault(start, 0) == 0 else []
        for node in waiting:
            for other in beside[node]:
                if other not in column:
                    column[other] = column[node] + 1
                    waiting.append(other)
    return [column[node] for node in range(len(graph.nodes))]
