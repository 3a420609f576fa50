"""The second hop, without a model: what two linked passages cover together that neither covers alone.

A multi-hop question is answered by passages that need each other: one names the bridge, the other is about it.
Among the best passages of a walk, each is scored by the passages it is linked with.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """The terms of `pair_scores`, each (n,), and the passages (their places, (n,)) that the first two come from.

    Where hop or joint is 0 the passage is linked with none that adds to it, and its partner means nothing.
    """

    hop: Floats
    hop_from: Rows
    joint: Floats
    joint_with: Rows
    alone: Floats

    @property
    def scores(self) -> Floats:
        """What each passage adds or makes up in all."""
        total: Floats = self.hop + np.maximum(self.joint, self.alone)
        return total


def pair_scores(
    walk: Floats,
    closeness: Floats,
    similarity: Floats,
    linked: npt.NDArray[np.bool_],
    held: Floats,
    weights: Floats,
) -> Floats:
    """Return (n,) what each of n passages adds to or makes up with the passages it is linked with.

    `walk` (n,): PageRank scores; `closeness` (n,): cosines with the question; `similarity` (n, n): cosines among
    the passages; `linked` (n, n): symmetric, false on the diagonal; `held` (n, t): 1 where a passage holds a
    term of the question; `weights` (t,): the terms' shares, summing to 1.

    With cover(S) the share of the question's terms that the passages S hold, a passage b scores the sum of

        hop(b)   = max over linked a of (cover(a, b) - cover(a)) * walk(a) / max walk
        joint(b) = max( cover(b) closeness(b), max over linked a of cover(a, b) fit(a, b) )

    where fit(a, b) is the length of the question's projection on the plane of both passages' vectors: how well
    the two together say what the question says.
    """
    return pair_parts(walk, closeness, similarity, linked, held, weights).scores


def pair_parts(
    walk: Floats,
    closeness: Floats,
    similarity: Floats,
    linked: npt.NDArray[np.bool_],
    held: Floats,
    weights: Floats,
) -> Pairs:
    """Return the same term by term, and which passage each pair is made with."""
    cover = held @ weights
    union = cover[:, np.newaxis] + cover[np.newaxis, :] - (held * weights) @ held.T
    first = walk / max(walk.max(initial=0.0), 1e-12)
    hop = np.where(linked, (union - cover[np.newaxis, :]) * first[np.newaxis, :], 0.0)
    joint = np.where(linked, union * _fit(closeness, similarity), 0.0)
    alone = cover * np.clip(closeness, 0, 1)
    return Pairs(*_best(hop), *_best(joint), alone)


def _best(values: Floats) -> tuple[Floats, Rows]:
    """Return the largest value of each row, at least 0, and its column."""
    if not values.size:
        return np.zeros(len(values)), np.zeros(len(values), np.int64)
    return np.maximum(values.max(axis=1), 0.0), values.argmax(axis=1)


def _fit(closeness: Floats, similarity: Floats) -> Floats:
    """Return (n, n) the length of a unit question's projection on the plane of each two passages' unit vectors.

    With cosines x, y to the question and g between the two, its square is (x² + y² - 2 x y g) / (1 - g²).
    """
    between = np.clip(similarity, -0.95, 0.95)  # nearly parallel passages span no stable plane
    squares = closeness**2
    numerator = squares[:, np.newaxis] + squares[np.newaxis, :] - 2 * np.outer(closeness, closeness) * between
    length: Floats = np.sqrt(np.clip(numerator / (1 - between**2), 0.0, 1.0))
    return length
