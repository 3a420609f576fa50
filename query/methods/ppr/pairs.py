"""What two linked passages say together that neither says alone.

A multi-hop question is answered by passages that need each other: one names the bridge, the other is about it. Among
the best passages of a walk, each is scored by the passages it is linked with.
"""

from dataclasses import dataclass

import numpy as np
from conspectus.storage.arrays import Bools, Floats, Rows


@dataclass(frozen=True, slots=True)
class Pairs:
    """What each of n passages makes up with the passages it is linked with, each (n,).

    With cover(S) the share of the question's terms that the passages S hold:

        joint(b) = max over linked a of cover(a, b) fit(a, b)
        alone(b) = cover(b) closeness(b)
        proof(b) = max over joined a of cover(a, b)

    where fit(a, b) is the length of the question's projection on the plane of both passages' vectors: how well the two
    together say what the question says. `joint_with` and `proof_with` are the places of the partners a, which mean
    nothing where the value is 0.
    """

    joint: Floats
    joint_with: Rows
    alone: Floats
    proof: Floats
    proof_with: Rows

    @property
    def together(self) -> Floats:
        """What each passage says by itself or with its best partner."""
        total: Floats = np.maximum(self.joint, self.alone)
        return total


def pair_parts(
    closeness: Floats, similarity: Floats, linked: Bools, joined: Bools, held: Floats, weights: Floats
) -> Pairs:
    """Return what n passages make up in pairs.

    `closeness` (n,): cosines with the question; `similarity` (n, n): cosines among the passages; `linked` (n, n):
    which share a name; `joined` (n, n): which are joined by a title, in one's text or of both; both symmetric and
    false on the diagonal; `held` (n, t): 1 where a passage holds a term of the question; `weights` (t,): the terms'
    shares, summing to 1.
    """
    cover = held @ weights
    union = cover[:, np.newaxis] + cover[np.newaxis, :] - (held * weights) @ held.T
    joint = np.where(linked, union * _fit(closeness, similarity), 0.0)
    alone = cover * np.clip(closeness, 0, 1)
    joint_best, joint_with = _best(joint)
    proof_best, proof_with = _best(np.where(joined, union, 0.0))
    return Pairs(joint_best, joint_with, alone, proof_best, proof_with)


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
