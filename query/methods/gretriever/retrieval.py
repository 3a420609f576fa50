"""G-Retriever's subgraph retrieval: nearest nodes and edges, prizes by rank, prize-collecting Steiner tree.

He et al. 2024, sections 5.1 to 5.3. All questions share one graph, so the candidate region is cut out first: everything
within `_HOPS` of the entities in the question, or of the nearest nodes if it names none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.gretriever.textualise import textualised
from conspectus.query.question.topics import find_topics
from conspectus.query.types import Step
from conspectus.query.types.subgraph import NO_PRIZES, CarriedPrizes, RetrievedSubgraph, best_prizes
from conspectus.query.walk.graph import KnowledgeGraph, around, open_graph, predicate_vectors, spoken
from conspectus.storage.arrays import Floats, Ints, Vectors, distinct
from conspectus.storage.graph.pcst import prize_collecting_tree
from conspectus.storage.records import Entity, Relation
from conspectus.storage.text.names import words

_HOPS = 2  # from the starts; a third hop would reach most of a graph
_MOST_CARRIED = 5
"""Most carried-over nodes, best first, used as starts in addition to those of the question."""
_MOST_RELATIONS = 10_000
"""Maximum relations of the candidate region; if there are more, those nearer to the starts, then to the question."""
_PER_PREDICATE = 10
"""Maximum relations of one entity, predicate and direction that may fill the remaining token budget."""
_MOST_FILLING = 200
"""Maximum relations that may fill it, more than a usual budget allows."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A subgraph, the topic entity rows, and the steps for the trace."""

    subgraph: RetrievedSubgraph
    topics: tuple[int, ...]
    trace: tuple[Step, ...]


def retrieve_subgraph(
    context: Context, question: str, topics: Sequence[str] | None = None, kept: CarriedPrizes = NO_PRIZES
) -> Retrieved:
    """Return the subgraph of a question under the `gretriever` settings; empty if nothing is near (section 5.3).

    Args:
        context: The open index.
        question: The question.
        topics: Names of the entities that it is about; None to find them in the question.
        kept: Prizes carried over from earlier questions; the higher prize of a node or edge counts.
    """
    graph = open_graph(context)
    linked = find_topics(context, question, topics)
    rows = linked.rows
    chosen = context.settings.gretriever
    without_topics = without_names(question, [graph.names[row] for row in rows])
    vector, nameless = context.embedder.embed_queries([question, without_topics])
    near = _near_nodes(context, vector, max(chosen.top_k_nodes, 1))
    prizes = rank_prizes([*rows, *near], max(chosen.top_k_nodes, len(rows)))
    carried_nodes, carried_edges = _carried_rows(context, kept)
    for row, prize in carried_nodes.items():
        prizes[row] = max(prize, prizes.get(row, 0.0))
    starts = list(dict.fromkeys([*(rows or near), *list(carried_nodes)[:_MOST_CARRIED]]))
    relations, distance = around(graph, starts, _HOPS)
    closeness = edge_closeness(context, graph, vector, nameless, relations)
    relations, closeness = _bounded(graph, relations, closeness, distance)
    prize_of_edge = edge_prizes(_texts(context, graph, relations), closeness, chosen.top_k_edges)
    if carried_edges:
        carried = np.array([carried_edges.get(int(relation), 0.0) for relation in relations])
        prize_of_edge = np.maximum(prize_of_edge, carried)
    cost = lowered(chosen.edge_cost, prize_of_edge)
    here = {row: prize for row, prize in prizes.items() if distance[row] >= 0}
    part = best_part(graph, relations, here, prize_of_edge, cost)
    searched = (len(distinct(np.concatenate([graph.sources[relations], graph.targets[relations]]))), len(relations))
    by_relation = {int(row): float(prize) for row, prize in zip(relations, prize_of_edge, strict=True) if prize > 0}
    filling = relations_at_starts(graph, relations, closeness, distance) if chosen.fill else {}
    room = context.room("subgraph", chosen.context_tokens)
    found = textualised(graph, part.nodes.tolist(), part.relations.tolist(), here, by_relation, room, searched, filling)
    return Retrieved(found, rows, (linked.step, *_steps(graph, found, part.nodes, here, cost)))


def without_names(question: str, names: Sequence[str]) -> str:
    """Return a question without the words of some names, or the question itself if no other word remains.

    >>> without_names("what is the capital of South Korea?", ["South_Korea"])
    'what is the capital of'
    """
    in_names = {word.key for name in names for word in words(spoken(name))}
    left = [question[word.start : word.end] for word in words(question) if word.key not in in_names]
    return " ".join(left) if in_names and left else question


def edge_closeness(
    context: Context, graph: KnowledgeGraph, vector: Vectors, nameless: Vectors, relations: Ints
) -> Floats:
    """Return the similarity of each relation to a question, float64 (e,), -1 to 1.

    For a relation with a stored vector it is its cosine with the question. Relations of an imported graph have none;
    theirs is the cosine of their predicate with the mean of `vector` and `nameless`, as a predicate contains no names.

    Args:
        context: The open index.
        graph: Its graph.
        vector: float32 (d,), the question.
        nameless: float32 (d,), the question without the names of its topics.
        relations: int64 (e,), relation rows.
    """
    with_question = predicate_vectors(context) @ np.stack([vector, nameless]).mean(axis=0)
    by_predicate = np.asarray(with_question, np.float64)[graph.stated[relations]]
    stored = context.index.vectors("relations")
    if stored.n_found and len(relations):
        own = np.asarray(stored.scores(vector[np.newaxis], relations)[0], np.float64)
        by_predicate = np.where(own > -1, own, by_predicate)
    rounded: Floats = np.round(by_predicate, 6)  # equal texts may have vectors that differ in the last bits
    return rounded


def relations_at_starts(graph: KnowledgeGraph, relations: Ints, closeness: Floats, distance: Ints) -> dict[int, float]:
    """Return the relations of the start entities with their similarity, most similar first.

    At most `_PER_PREDICATE` of each entity, predicate and direction, and `_MOST_FILLING` in all.
    """
    sources, targets = graph.sources[relations], graph.targets[relations]
    at = np.flatnonzero((distance[sources] == 0) | (distance[targets] == 0))
    at = at[np.lexsort((relations[at], -closeness[at]))]
    outgoing = distance[sources[at]] == 0
    kind = np.stack([np.where(outgoing, sources[at], targets[at]), graph.stated[relations[at]], outgoing], axis=1)
    _, group = np.unique(kind, axis=0, return_inverse=True)
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], group[order])
    few = np.sort(order[np.arange(len(at)) - first < _PER_PREDICATE])[:_MOST_FILLING]
    return {int(relations[place]): float(closeness[place]) for place in at[few]}


def _texts(context: Context, graph: KnowledgeGraph, relations: Ints) -> Ints:
    """Return text numbers of relations: unique for those with a vector, shared by predicate for the others."""
    stored = context.index.vectors("relations")
    texts = graph.stated[relations].astype(np.int64)
    if not stored.n_found:
        return texts
    own = np.isin(relations, np.asarray(stored.table_rows))
    return np.where(own, len(graph.predicates) + relations, texts)


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


def _carried_rows(context: Context, kept: CarriedPrizes) -> tuple[dict[int, float], dict[int, float]]:
    """Return the carried-over prizes by entity and relation row, best first, without ids that no longer exist."""
    if not kept.nodes and not kept.relations:
        return {}, {}
    entities, relations = context.index.ids(Entity), context.index.ids(Relation)
    return (
        {entities[id_]: prize for id_, prize in kept.nodes if id_ in entities},
        {relations[id_]: prize for id_, prize in kept.relations if id_ in relations},
    )


def _steps(
    graph: KnowledgeGraph, found: RetrievedSubgraph, before: Ints, prizes: Mapping[int, float], cost: float
) -> tuple[Step, ...]:
    best = sorted(prizes.items(), key=lambda prize: (-prize[1], prize[0]))
    named = ", ".join(f"{spoken(graph.names[row])} ({prize:g})" for row, prize in best[:5])
    size = f"{len(found.nodes)} nodes and {len(found.relations)} edges of {found.searched[0]} and {found.searched[1]}"
    left = len(np.setdiff1d(before, found.nodes))
    cut = f"; {left} lowest-valued nodes omitted: token budget reached" if left > 0 else ""
    return (
        Step("prizes", f"nodes: {named or 'none'}; edge cost {cost:g}"),
        Step("subgraph", f"{size}{cut}"),
    )


_LESS = 0.01
"""Each rank's prize is lower than the previous by at least this share, as in the published code."""


def rank_prizes(best: Sequence[int], k: int) -> dict[int, float]:
    """Return the prizes of the first k: k, k - 1, ..., 1.

    >>> rank_prizes([7, 3, 9], 2)
    {7: 2.0, 3: 1.0}
    """
    return {item: float(k - rank) for rank, item in enumerate(list(dict.fromkeys(best))[:k])}


def edge_prizes(texts: Ints, closeness: Floats, k: int) -> Floats:
    """Return the prizes of edges, float64 (e,): the k best texts have prizes k, k - 1, ..., 1 (section 5.2).

    Edges with the same text divide its prize. The prize of an edge is always below that of a better rank.

    Args:
        texts: int64 (e,), a number for the text of each edge; ties in similarity go to the smaller number.
        closeness: float64 (e,), similarity to the question, equal for edges with the same text.
        k: Number of texts with a prize.
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
    """Entity rows and relation rows, both ascending; the entities include both ends of every relation."""

    nodes: Ints
    relations: Ints


def best_part(
    graph: KnowledgeGraph,
    relations: Ints,
    prizes: Mapping[int, float],
    edge_prizes: Floats,
    edge_cost: float,
) -> BestSubgraph:
    """Return a connected subgraph with a high sum of prizes minus costs (section 5.3).

    A prize-collecting Steiner tree has prizes on nodes only. As in the paper, an edge with a prize below its cost costs
    the difference, and an edge with a higher prize becomes a node with that difference, joined by two free edges.

    Args:
        graph: The whole graph.
        relations: int64 (e,), rows of the relations that may be part of it.
        prizes: Prizes by entity row; the entities need not be ends of `relations`.
        edge_prizes: float64 (e,), prizes of the relations.
        edge_cost: Cost of each relation.
    """
    sources, targets = graph.sources[relations], graph.targets[relations]
    prized = np.fromiter(prizes, np.int64, len(prizes))
    nodes = distinct(np.concatenate([sources, targets, prized]))
    node_prizes = np.zeros(len(nodes))
    node_prizes[np.searchsorted(nodes, prized)] = np.fromiter(prizes.values(), np.float64, len(prizes))
    ends = np.stack([np.searchsorted(nodes, sources), np.searchsorted(nodes, targets)], axis=1)
    paying = np.flatnonzero(edge_prizes > edge_cost)
    costly = np.flatnonzero(edge_prizes <= edge_cost)
    virtual = len(nodes) + np.arange(len(paying))
    tree = prize_collecting_tree(
        np.concatenate(
            [ends[costly], np.stack([ends[paying, 0], virtual], axis=1), np.stack([virtual, ends[paying, 1]], axis=1)]
        ),
        np.concatenate([edge_cost - edge_prizes[costly], np.zeros(2 * len(paying))]),
        np.concatenate([node_prizes, edge_prizes[paying] - edge_cost]),
    )
    through = tree.nodes[tree.nodes >= len(nodes)] - len(nodes)
    taken = relations[np.concatenate([costly[tree.edges[tree.edges < len(costly)]], paying[through]])]
    chosen = nodes[tree.nodes[tree.nodes < len(nodes)]]
    everything = distinct(np.concatenate([chosen, graph.sources[taken], graph.targets[taken]]))
    return BestSubgraph(everything, np.unique(taken))


_ANSWERED = 1.0
"""Minimum prize of an answer node: a follow-up is likely to be about it."""


def kept_of(
    found: RetrievedSubgraph, entity_ids: Iterable[str], relation_ids: Iterable[str], answers: Iterable[str]
) -> CarriedPrizes:
    """Return the carry-over of a subgraph from the ids of its nodes and edges; `answers` are the answer entities."""
    answered = {answer.replace("_", " ").casefold() for answer in answers}
    nodes = []
    for id_, prize, name in zip(entity_ids, found.node_prizes, found.text.nodes, strict=True):
        value = max(prize, _ANSWERED) if name.casefold() in answered else prize
        if value > 0:
            nodes.append((id_, value))
    relations = [(id_, prize) for id_, prize in zip(relation_ids, found.edge_prizes, strict=True) if prize > 0]
    return CarriedPrizes(best_prizes(nodes), best_prizes(relations))


def with_kept(context: Context, subgraph: RetrievedSubgraph, answers: Iterable[str]) -> RetrievedSubgraph:
    """Return a subgraph with its carry-over for later questions; `answers` are the answer entities."""
    graph = open_graph(context)
    entities = [graph.entity_ids[row] for row in subgraph.nodes]
    relations = [graph.relation_ids[row] for row in subgraph.relations]
    return replace(subgraph, kept=kept_of(subgraph, entities, relations, answers))
