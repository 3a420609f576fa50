"""Boosted decision trees whose splits are learned by a command and stored beside the code that uses them.

A tree asks one feature after another whether it is above a threshold; the values of the leaves of all trees add up to a
logit (gradient boosting; Friedman 2001, Annals of Statistics 29). So a feature may count only together with others,
which a logistic regression cannot learn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from conspectus.storage.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class BoostedTrees:
    """Trees of one depth d; the children of node i are 2i + 1, and 2i + 2 for features above the threshold.

    Attributes:
        features: The feature that each inner node asks, (trees, 2^d - 1).
        thresholds: Its threshold, (trees, 2^d - 1).
        values: The values of the leaves, (trees, 2^d).
        constant: The logit before any tree.
    """

    features: Ints
    thresholds: Floats
    values: Floats
    constant: float

    @classmethod
    def of(cls, stored: Mapping[str, Any], features: Sequence[str]) -> "BoostedTrees":
        """Return trees from the names of their features, their thresholds and values; `features` are in order."""
        place = {name: at for at, name in enumerate(features)}
        asked = np.array([[place[name] for name in tree] for tree in stored["features"]])
        return cls(asked, np.array(stored["thresholds"]), np.array(stored["values"]), stored["constant"])

    def logit(self, row: Floats) -> float:
        """Return the logit of one row of features, (f,).

        >>> tree = {"features": [["rank"]], "thresholds": [[2.0]], "values": [[0.5, -1.0]], "constant": 0.25}
        >>> BoostedTrees.of(tree, ["words", "rank"]).logit(np.array([9.0, 3.0]))
        -0.75
        """
        trees, inner = np.arange(len(self.features)), self.features.shape[1]
        node = np.zeros(len(trees), np.int64)
        while node[0] < inner:
            node = 2 * node + 1 + (row[self.features[trees, node]] > self.thresholds[trees, node])
        return self.constant + float(self.values[trees, node - inner].sum())
