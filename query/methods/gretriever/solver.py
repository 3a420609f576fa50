"""Choice of the prize-collecting Steiner tree solver: pcst_fast if installed and valid, otherwise our own.

pcst_fast (GPL, the extra `pcst`) is imported here and nowhere else. Its wheel of version 1.0.10 gives wrong
arrays under numpy 2 (fraenkel-lab/pcst_fast issue 25), so every result is checked.
"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

import numpy as np
from conspectus.storage.arrays import Floats, Ints
from conspectus.storage.errors import SettingsError
from conspectus.storage.graph.steiner import prize_collecting_tree
from conspectus.storage.graph.steiner_pruning import SteinerTree

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
