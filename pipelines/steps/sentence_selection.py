"""Which sentences tell most about a community in few tokens: budgeted maximum coverage, made greedily.

What a sentence tells are the members of the community and the words that stand in it; what an earlier choice told
counts no more, so that nothing is said twice. The greedy rule, gain over a power of the cost, is that of Lin and
Bilmes (2010), "Multi-document summarization via budgeted maximization of submodular functions", section 4.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from conspectus.pipelines.steps.sentence_index import Sentences
from conspectus.storage.arrays import Floats, Rows

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_TOKENS_A_MARK = 1
"""Of the hyphen before each sentence of a list."""
_COST_POWER = 0.3
"""A sentence twice as long must tell 1.23 times as much. The power that Lin and Bilmes found best."""
_WORTH_ADDING = 0.2
"""A further sentence must tell at least this share of what the first one did; one that tells less is a scrap."""


def most_telling(sentences: Sentences, of_members: Sequence[Rows], count: int, budget: int) -> list[int]:
    """Return up to `count` rows that together tell most about the members within `budget` tokens, the best first.

    `of_members` holds the rows that mention each member. Half of what can be told are the members, each worth the
    logarithm of its mentions; half are the words that stand in several of the rows, each worth its inverse document
    frequency times the logarithm of how many. Where no sentence fits, the shortest is the only one.
    """
    rows = np.unique(np.concatenate([np.zeros(0, np.int64), *of_members]))
    rows = rows[sentences.quotable[rows]]
    if not len(rows):
        return []
    costs = sentences.n_tokens[rows] + _TOKENS_A_MARK
    if costs.min() > budget:
        return [int(rows[costs.argmin()])]
    told = [_members(rows, of_members), _words(sentences, rows)]
    chosen: list[int] = []
    least = 0.0
    while len(chosen) < count:
        gains = np.sum([holds @ worth for holds, worth in told], axis=0)
        rates = np.where(costs <= budget, gains / costs**_COST_POWER, 0.0)
        best = int(rates.round(9).argmax())  # of equals the first in the text
        if rates[best] <= 0 or gains[best] < least:
            break
        least = least or _WORTH_ADDING * gains[best]
        budget -= int(costs[best])
        for holds, worth in told:
            worth[holds.indices[holds.indptr[best] : holds.indptr[best + 1]]] = 0.0
        chosen.append(best)
    return [int(rows[each]) for each in chosen]


def _members(rows: Rows, of_members: Sequence[Rows]) -> "tuple[csr_array, Floats]":
    """Return which member stands in which row, 1 or 0 (n, members), and what each member is worth, 0.5 in all."""
    from scipy.sparse import csr_array

    found = [np.flatnonzero(np.isin(rows, each)) for each in of_members]
    counts = np.array([len(each) for each in found])
    places = (np.concatenate(found), np.repeat(np.arange(len(found)), counts))
    return csr_array((np.ones(counts.sum()), places), shape=(len(rows), len(found))), _halved(np.log2(1.0 + counts))


def _words(sentences: Sentences, rows: Rows) -> "tuple[csr_array, Floats]":
    """Return which word stands in which row, 1 or 0 (n, words), and what each word is worth, 0.5 in all."""
    from scipy.sparse import csr_array

    own = sentences.weights[rows]
    holds = csr_array((np.ones(own.nnz), own.indices, own.indptr), shape=own.shape)
    counts = np.bincount(own.indices, minlength=own.shape[1])
    return holds, _halved(np.where(counts > 1, np.log2(1.0 + counts), 0.0) * sentences.idf)


def _halved(worth: Floats) -> Floats:
    halved: Floats = 0.5 * worth / max(float(worth.sum()), 1e-12)
    return halved
