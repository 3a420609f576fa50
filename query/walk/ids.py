"""Which names of entities are ids, and say nothing to a reader."""

import numpy as np
import regex
from conspectus.query.context import Context
from conspectus.query.walk.graph import open_graph
from conspectus.storage.arrays import Bools
from conspectus.storage.index import per_index

_ID = regex.compile(r"(?:https?://\S+|_:\S+|Q\d{2,}|/?\p{Ll}{1,3}[./:_](?=\S*\d)[\p{Ll}\d._/-]+)")


def is_id(name: str) -> bool:
    """Tell whether a name is an id, which says nothing to a reader: such an entity only joins others.

    >>> is_id("m.0h3d7qb"), is_id("Q42"), is_id("1999"), is_id("Catch-22"), is_id("7 Up")
    (True, True, False, False, False)
    """
    return _ID.fullmatch(name) is not None


@per_index
def all_ids(context: Context) -> Bools:
    """Return for each entity whether its name is but an id, bool (n,)."""

    return np.array([is_id(name) for name in open_graph(context).names], bool)
