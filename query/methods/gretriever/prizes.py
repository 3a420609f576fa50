"""What nodes and edges are worth to a question: by their rank, as in G-Retriever (He et al. 2024, section 5.2)."""

from collections.abc import Sequence

import numpy as np
from conspectus.storage.arrays import Floats, Ints

_LESS = 0.01
"""The published code's constant: a rank is worth at least this part less than the rank before it."""


def rank_prizes(best: Sequence[int], k: int) -> dict[int, float]:
    """Return the prizes of the first k: k, k - 1, ..., 1.

    >>> rank_prizes([7, 3, 9], 2)
    {7: 2.0, 3: 1.0}
    """
    return {each: float(k - rank) for rank, each in enumerate(list(dict.fromkeys(best))[:k])}


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
    """Return the cost of an edge: lower than the best prize, so that at least its edges are worth taking.

    >>> lowered(0.5, np.array([3.0])), lowered(0.5, np.array([0.1])), lowered(0.5, np.array([0.0]))
    (0.5, 0.0995, 0.5)
    """
    most = float(prizes.max(initial=0.0))
    return min(edge_cost, most * (1 - _LESS / 2)) if most > 0 else edge_cost
