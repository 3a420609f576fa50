"""What of a question the steps of a walk have matched, and what is left of it, without a language model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.query.methods.tog.question_predicates import Asked
from conspectus.storage.arrays import Bools, Floats, Ints

_JOINS = frozenset("also the both a an their its his her that".split())


@dataclass(frozen=True, slots=True, eq=False)
class Match:
    """What a path has matched: words taken, how well each word is explained (t,), and what was held against it."""

    taken: Bools
    explained: Floats
    held: float = 0.0

    def coverage(self, asked: Asked) -> float:
        """Return the share of the question's weight that is explained, 0 to 1."""
        return float((self.explained * asked.weight).sum()) / asked.total


def free_gains(asked: Asked, match: Match, out_of_turn: float) -> tuple[Floats, Floats, Ints]:
    """Return for every predicate its best gain, what of that the order took away, and the span or -1, each (p,).

    The gain of a span is the share of the question's weight that its words have, times how it compares with the span's
    nearest predicate, less `out_of_turn` of the unmatched weight that stands before it.
    """
    free = ~(asked.spans & match.taken[None, :]).any(axis=1)
    n_predicates = asked.near.shape[1]
    if not free.any():
        return np.zeros(n_predicates), np.zeros(n_predicates), np.full(n_predicates, -1)
    rows = np.flatnonzero(free)
    spans = asked.spans[rows]
    worth = (spans @ asked.weight)[:, None] * asked.beside[rows] / asked.total
    left = asked.weight * (1 - match.explained) * ~match.taken
    first = np.where(spans[:, :, None], asked.before[None, :, :], True).all(axis=1) & ~spans
    skipped = out_of_turn * (first @ left) / asked.total
    gains = np.where(worth > 0, worth - skipped[:, None], -np.inf)
    best = gains.argmax(axis=0)
    columns = np.arange(n_predicates)
    found = gains[best, columns]
    held = np.where(np.isfinite(found), skipped[best], 0.0)
    return np.where(np.isfinite(found), found, 0.0), held, np.where(np.isfinite(found), rows[best], -1)


def taking(asked: Asked, match: Match, predicate: int, span: int, held: float, *, everywhere: bool) -> Match | None:
    """Return the match after a step along a predicate took a span; None where `everywhere` adds nothing.

    Words next to the span that mean the same predicate are taken with it ("the director who directed"), with
    `everywhere` all that do, but not beyond "of" and "'s", which begin another step.
    """
    taken, explained = match.taken.copy(), match.explained.copy()
    inside = np.flatnonzero(asked.spans[span])
    taken[inside] = True
    explained[inside] = np.maximum(explained[inside], asked.beside[span, predicate])
    same = [
        place
        for place in np.flatnonzero((asked.single >= 0) & ~taken).tolist()
        if asked.beside[asked.single[place], predicate] > 0.8 and not asked.apart[place, inside[0]]
    ]
    if everywhere:
        added = same
        if len(added) == len(_beside(asked, taken, inside, same)):
            return None
    else:
        added = _beside(asked, taken, inside, same)
    for place in added:
        taken[place] = True
        explained[place] = max(explained[place], float(asked.beside[asked.single[place], predicate]))
    return Match(taken, explained, match.held + held)


def _beside(asked: Asked, taken: Bools, inside: Ints, same: Sequence[int]) -> list[int]:
    found: list[int] = []
    for start, step in ((int(inside[0]), -1), (int(inside[-1]), 1)):
        place = start + step
        while 0 <= place < len(asked.words) and not asked.topic[place]:
            if asked.content[place]:
                if place not in same:
                    break
                found.append(place)
            elif asked.words[place] not in _JOINS:
                break
            place += step
    return found
