"""Two names that may be one thing's, and what speaks for it."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """Two entity ids, `left` < `right`. `reason` is for a reader, `score` 0-1; `told`: a text says it in words.

    `short` is the id of the one that is only a short form, and so never what both are called; "" where neither is.
    """

    left: str
    right: str
    reason: str
    score: float
    short: str = ""
    told: bool = False
    vote: str | None = None


def pair_of(one: str, other: str, reason: str, score: float, *, short: str = "", told: bool = False) -> Pair:
    """Return a pair, its ends in order."""
    left, right = sorted((one, other))
    return Pair(left, right, reason, round(score, 4), short, told)


def best_of(pairs: Iterable[Pair]) -> dict[tuple[str, str], Pair]:
    """Return, by its ends, the pair with the highest score; of those with the same the first reason."""
    best: dict[tuple[str, str], Pair] = {}
    for each in pairs:
        ends = (each.left, each.right)
        held = best.get(ends)
        if held is None or (-each.score, each.reason) < (-held.score, held.reason):
            best[ends] = each
    return best
