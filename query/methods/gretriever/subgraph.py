"""The connected part of a neighbourhood that is worth most: prizes of nodes and edges less the cost of edges.

G-Retriever (He et al. 2024, section 5.3): an edge that is worth more than it costs becomes a node of its own, with what
is left as its prize, which two free edges join to its ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from conspectus.query.methods.gretriever.solver import Solver, solve
from conspectus.query.walk.graph import KnowledgeGraph
from conspectus.storage.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Part:
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
) -> Part:
    """Return the connected part that is worth most.

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
    return Part(everything, np.unique(taken), solved.solver, solved.why)
