"""G-Retriever's subgraph retrieval: nearest nodes and edges, prizes by rank, prize-collecting Steiner tree.

He et al. 2024, sections 5.1 to 5.3. All questions share one graph, so the candidate region is cut out first: everything
within `gretriever.hops` of the entities in the question, or of the nearest nodes if it names none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.gretriever.textualise import textualised
from conspectus.query.question.topics import link_topics, rows_of
from conspectus.query.types import Step
from conspectus.query.types.subgraph import NO_PRIZES, CarriedPrizes, RetrievedSubgraph
from conspectus.query.walk.graph import KnowledgeGraph, around, open_graph, predicate_vectors, spoken
from conspectus.storage.arrays import Floats, Ints, Vectors
from conspectus.storage.errors import SettingsError
from conspectus.storage.graph.steiner import prize_collecting_tree
from conspectus.storage.graph.steiner_pruning import SteinerTree
from conspectus.storage.index import per_index
from conspectus.storage.text.names import words

Solver = Literal["auto", "own", "pcst_fast"]

_NO_ROOT = -1
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class Solved:
    """A tree, the solver that found it, and the reason for a fallback ("" without one)."""

    tree: SteinerTree
    solver: str
    why: str = ""


def solve(ends: Ints, costs: Floats, prizes: Floats, solver: Solver = "auto") -> Solved:
    """Return the tree of most prize less cost that a solver finds; shapes and errors as `prize_collecting_tree`.

    `auto` takes pcst_fast where it is installed, and our own where that gives no tree. SettingsError where pcst_fast is
    asked for and is not installed.
    """
    if solver == "own" or (solver == "auto" and find_spec("pcst_fast") is None):
        return Solved(prize_collecting_tree(ends, costs, prizes), "own")
    if find_spec("pcst_fast") is None:
        raise SettingsError("gretriever.solver is `pcst_fast`, and it is not installed: pip install 'conspectus[pcst]'")
    if not prizes.any():
        return Solved(prize_collecting_tree(ends, costs, prizes), "own")
    from pcst_fast import pcst_fast

    nodes, edges = pcst_fast(ends, prizes, costs, _NO_ROOT, 1, "strong", 0)
    return checked(ends, costs, prizes, np.asarray(nodes, np.int64), np.asarray(edges, np.int64))


def checked(ends: Ints, costs: Floats, prizes: Floats, nodes: Ints, edges: Ints) -> Solved:
    """Return pcst_fast's node and edge rows as a tree, or our own solution if they are no valid tree."""
    wrong = _fault(ends, nodes, edges, len(prizes))
    if not wrong:
        profit = float(prizes[nodes].sum() - costs[edges].sum())
        if profit >= float(prizes.max(initial=0.0)) - _CLOSE:
            return Solved(SteinerTree(np.sort(nodes), np.sort(edges), profit), "pcst_fast")
        wrong = "less than one node alone is worth"
    return Solved(
        prize_collecting_tree(ends, costs, prizes), "own", f"pcst_fast gave {wrong} (it does so under numpy 2)"
    )


def _fault(ends: Ints, nodes: Ints, edges: Ints, n_nodes: int) -> str:
    """Return the fault of a tree, "" if it is valid."""
    if not len(nodes) or nodes.min() < 0 or nodes.max() >= n_nodes or len(np.unique(nodes)) != len(nodes):
        return "nodes that are not there, or twice"
    if len(edges) and (edges.min() < 0 or edges.max() >= len(ends) or len(np.unique(edges)) != len(edges)):
        return "edges that are not there, or twice"
    if len(edges) != len(nodes) - 1 or not np.isin(ends[edges], nodes).all():
        return "no tree"
    beside: dict[int, list[int]] = {}
    for one, other in ends[edges].tolist():
        beside.setdefault(one, []).append(other)
        beside.setdefault(other, []).append(one)
    reached = {int(nodes[0])}
    waiting = [int(nodes[0])]
    while waiting:
        for other in beside.get(waiting.pop(), ()):
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    return "" if len(reached) == len(nodes) else "no tree"


_MOST_OLD = 5
"""Nodes kept of earlier questions, the best, around which is looked too."""
_MOST_RELATIONS = 10_000
"""Relations of a neighbourhood that are weighed: of more, those nearer to the start and then to the question."""
_ALIKE = 10
"""Relations of one predicate at one thing, in one direction, that may fill the room which the subgraph leaves."""
_BESIDE = 200
"""Relations that may fill it: more than a usual budget holds."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A subgraph, the topic entity rows, and the steps for the trace."""

    subgraph: RetrievedSubgraph
    topics: tuple[int, ...]
    trace: tuple[Step, ...]


def retrieve_subgraph(
    context: Context, question: str, topics: Sequence[str] | None = None, kept: CarriedPrizes = NO_PRIZES
) -> Retrieved:
    """Return the subgraph of a question under the `gretriever` settings; empty if nothing is near.

    `topics` are names of entities that the question is about, None to find them in it. What earlier questions have
    left counts as what the question itself finds.
    """
    graph = open_graph(context)
    rows, told = _topics(context, graph, question, topics)
    chosen = context.settings.gretriever
    bare = without_names(question, [graph.names[row] for row in rows])
    vector, nameless = context.embedder.embed_queries([question, bare])
    near = _near_nodes(context, vector, max(chosen.top_k_nodes, 1))
    prizes = rank_prizes([*rows, *near], max(chosen.top_k_nodes, len(rows)))
    old, old_relations = _rows_kept(context, kept)
    for row, prize in old.items():
        prizes[row] = max(prize, prizes.get(row, 0.0))
    starts = list(dict.fromkeys([*(rows or near), *list(old)[:_MOST_OLD]]))
    relations, distance = around(graph, starts, chosen.hops)
    closeness = edge_closeness(context, graph, vector, nameless, relations)
    relations, closeness = _bounded(graph, relations, closeness, distance)
    worth = edge_prizes(_texts(context, graph, relations), closeness, chosen.top_k_edges)
    if old_relations:
        worth = np.maximum(worth, np.array([old_relations.get(int(relation), 0.0) for relation in relations]))
    cost = lowered(chosen.edge_cost, worth)
    here = {row: prize for row, prize in prizes.items() if distance[row] >= 0}
    part = best_part(graph, relations, here, worth, cost, chosen.solver)
    beside = (len(np.unique(np.concatenate([graph.sources[relations], graph.targets[relations]]))), len(relations))
    by_relation = {int(row): float(prize) for row, prize in zip(relations, worth, strict=True) if prize > 0}
    room = beside_starts(graph, relations, closeness, distance) if chosen.fill else {}
    found = textualised(
        graph, part.nodes.tolist(), part.relations.tolist(), here, by_relation, chosen.context_tokens, beside, room
    )
    return Retrieved(found, rows, (told, *_steps(graph, found, part.nodes, here, cost, part.solver, part.why)))


def without_names(question: str, names: Sequence[str]) -> str:
    """Return a question without the words of some names, or the question itself if no other word remains.

    >>> without_names("what is the capital of South Korea?", ["South_Korea"])
    'what is the capital of'
    """
    held = {word.key for name in names for word in words(spoken(name))}
    left = [question[word.start : word.end] for word in words(question) if word.key not in held]
    return " ".join(left) if held and left else question


def edge_closeness(
    context: Context, graph: KnowledgeGraph, vector: Vectors, nameless: Vectors, relations: Ints
) -> Floats:
    """Return the cosine of each relation with a question's vector, float64 (e,): of its own stored vector.

    A relation without one, which a brought graph has, is as near as its predicate, which says no names: the mean of
    its cosines with the question and with what the question says beside names (`nameless`).
    """
    with_question = predicate_vectors(context) @ np.stack([vector, nameless]).mean(axis=0)
    by_predicate = np.asarray(with_question, np.float64)[graph.stated[relations]]
    stored = context.index.vectors("relations")
    if stored.n_found and len(relations):
        own = np.asarray(stored.scores(vector[np.newaxis], relations)[0], np.float64)
        by_predicate = np.where(own > -1, own, by_predicate)
    rounded: Floats = np.round(by_predicate, 6)  # vectors of one text may differ in their last bits
    return rounded


def beside_starts(graph: KnowledgeGraph, relations: Ints, closeness: Floats, distance: Ints) -> dict[int, float]:
    """Return the relations at the start entities, closest first, and their closeness.

    At most ten for each entity, predicate and direction; 200 in all.
    """
    sources, targets = graph.sources[relations], graph.targets[relations]
    at = np.flatnonzero((distance[sources] == 0) | (distance[targets] == 0))
    at = at[np.lexsort((relations[at], -closeness[at]))]
    outgoing = distance[sources[at]] == 0
    said = np.stack([np.where(outgoing, sources[at], targets[at]), graph.stated[relations[at]], outgoing], axis=1)
    _, group = np.unique(said, axis=0, return_inverse=True)
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], group[order])
    few = np.sort(order[np.arange(len(at)) - first < _ALIKE])[:_BESIDE]
    return {int(relations[place]): float(closeness[place]) for place in at[few]}


def _texts(context: Context, graph: KnowledgeGraph, relations: Ints) -> Ints:
    """Return text numbers of relations: unique for those with a vector, shared by predicate for the others."""
    stored = context.index.vectors("relations")
    texts = graph.stated[relations].astype(np.int64)
    if not stored.n_found:
        return texts
    own = np.isin(relations, np.asarray(stored.table_rows))
    return np.where(own, len(graph.predicates) + relations, texts)


def _topics(
    context: Context, graph: KnowledgeGraph, question: str, topics: Sequence[str] | None
) -> tuple[tuple[int, ...], Step]:
    if topics is None:
        rows = link_topics(context, question)
        names = ", ".join(spoken(graph.names[row]) for row in rows)
        return rows, Step("topics", f"names of the graph in the question: {names or 'none'}")
    rows, missing = rows_of(context, topics)
    lacks = f"; the graph lacks {', '.join(missing)}" if missing else ""
    return rows, Step("topics", f"given: {', '.join(topics)}{lacks}")


def _near_nodes(context: Context, vector: Vectors, k: int) -> list[int]:
    stored = context.index.vectors("entities")
    if not stored.n_found:
        return []
    _, rows = stored.search(vector[np.newaxis], k)
    return [int(row) for row in rows[0]]


def _bounded(graph: KnowledgeGraph, relations: Ints, closeness: Floats, distance: Ints) -> tuple[Ints, Floats]:
    if len(relations) <= _MOST_RELATIONS:
        return relations, closeness
    ends = np.stack([distance[graph.sources[relations]], distance[graph.targets[relations]]])
    reach = np.where(ends < 0, np.iinfo(np.int64).max, ends).min(axis=0)
    order = np.sort(np.lexsort((relations, -closeness, reach))[:_MOST_RELATIONS])
    return relations[order], closeness[order]


def _rows_kept(context: Context, kept: CarriedPrizes) -> tuple[dict[int, float], dict[int, float]]:
    """Return the carried-over prizes by entity and relation row, best first, without ids that no longer exist."""
    if not kept.nodes and not kept.relations:
        return {}, {}
    entities, relations = _rows_by_id(context)
    return (
        {entities[id_]: prize for id_, prize in kept.nodes if id_ in entities},
        {relations[id_]: prize for id_, prize in kept.relations if id_ in relations},
    )


@per_index
def _rows_by_id(context: Context) -> tuple[dict[str, int], dict[str, int]]:
    """Return the rows of entities and of relations by their ids."""
    graph = open_graph(context)
    return (
        {id_: row for row, id_ in enumerate(graph.entity_ids)},
        {id_: row for row, id_ in enumerate(graph.relation_ids)},
    )


def _steps(
    graph: KnowledgeGraph,
    found: RetrievedSubgraph,
    before: Ints,
    prizes: Mapping[int, float],
    cost: float,
    solver: str,
    why: str,
) -> tuple[Step, ...]:
    best = sorted(prizes.items(), key=lambda prize: (-prize[1], prize[0]))
    named = ", ".join(f"{spoken(graph.names[row])} ({prize:g})" for row, prize in best[:5])
    size = f"{len(found.nodes)} nodes and {len(found.relations)} edges of {found.beside[0]} and {found.beside[1]}"
    left = len(np.setdiff1d(before, found.nodes))
    cut = f"; {left} nodes of least worth left out for want of room" if left > 0 else ""
    return (
        Step("prizes", f"nodes: {named or 'none'}; an edge costs {cost:g}"),
        Step("subgraph", f"{size} ({solver}){f': {why}' if why else ''}{cut}"),
    )


_LESS = 0.01
"""The published code's constant: a rank is worth at least this part less than the rank before it."""


def rank_prizes(best: Sequence[int], k: int) -> dict[int, float]:
    """Return the prizes of the first k: k, k - 1, ..., 1.

    >>> rank_prizes([7, 3, 9], 2)
    {7: 2.0, 3: 1.0}
    """
    return {item: float(k - rank) for rank, item in enumerate(list(dict.fromkeys(best))[:k])}


def edge_prizes(texts: Ints, closeness: Floats, k: int) -> Floats:
    """Return the prizes of edges, float64 (e,): the k best texts have k, k - 1, ..., 1, which their edges share.

    `texts` (e,) numbers what each edge says, `closeness` (e,) is the same for edges of one text. An edge of a rank is
    worth less than one of the rank before, however few share it. Ties go to the smaller number.
    """
    numbers, first, which, counts = np.unique(texts, return_index=True, return_inverse=True, return_counts=True)
    order = np.lexsort((numbers, -closeness[first]))[:k]
    last = np.inf
    of = np.zeros(len(numbers))
    for rank, place in enumerate(order.tolist()):
        last = min((k - rank) / int(counts[place]), last * (1 - _LESS))
        of[place] = last
    return of[which]


def lowered(edge_cost: float, prizes: Floats) -> float:
    """Return the edge cost, lowered below the best prize so that its edges are profitable.

    >>> lowered(0.5, np.array([3.0])), lowered(0.5, np.array([0.1])), lowered(0.5, np.array([0.0]))
    (0.5, 0.0995, 0.5)
    """
    most = float(prizes.max(initial=0.0))
    return min(edge_cost, most * (1 - _LESS / 2)) if most > 0 else edge_cost


@dataclass(frozen=True, slots=True, eq=False)
class BestSubgraph:
    """Entity rows and relation rows, each ascending; every relation has both of its ends among the entities."""

    nodes: Ints
    relations: Ints
    solver: str
    why: str = ""


def best_part(
    graph: KnowledgeGraph,
    relations: Ints,
    prizes: Mapping[int, float],
    edge_prizes: Floats,
    edge_cost: float,
    solver: Solver = "auto",
) -> BestSubgraph:
    """Return the connected subgraph of greatest prize less cost.

    Args:
        graph: the whole graph.
        relations: rows (e,) of those that may be taken.
        prizes: of entities by their rows; those beside no relation may be taken alone.
        edge_prizes: float (e,), of the relations.
        edge_cost: what each relation takes.
        solver: see `solve`.
    """
    sources, targets = graph.sources[relations], graph.targets[relations]
    prized = np.fromiter(prizes, np.int64, len(prizes))
    nodes = np.unique(np.concatenate([sources, targets, prized]))
    worth = np.zeros(len(nodes))
    worth[np.searchsorted(nodes, prized)] = np.fromiter(prizes.values(), np.float64, len(prizes))
    ends = np.stack([np.searchsorted(nodes, sources), np.searchsorted(nodes, targets)], axis=1)
    dear = np.flatnonzero(edge_prizes > edge_cost)
    plain = np.flatnonzero(edge_prizes <= edge_cost)
    made = len(nodes) + np.arange(len(dear))
    solved = solve(
        np.concatenate([ends[plain], np.stack([ends[dear, 0], made], axis=1), np.stack([made, ends[dear, 1]], axis=1)]),
        np.concatenate([edge_cost - edge_prizes[plain], np.zeros(2 * len(dear))]),
        np.concatenate([worth, edge_prizes[dear] - edge_cost]),
        solver,
    )
    tree = solved.tree
    through = tree.nodes[tree.nodes >= len(nodes)] - len(nodes)
    taken = relations[np.concatenate([plain[tree.edges[tree.edges < len(plain)]], dear[through]])]
    held = nodes[tree.nodes[tree.nodes < len(nodes)]]
    everything = np.unique(np.concatenate([held, graph.sources[taken], graph.targets[taken]]))
    return BestSubgraph(everything, np.unique(taken), solved.solver, solved.why)
