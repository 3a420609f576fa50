"""Repeatable chance: every draw is a hash of what it is drawn for, so it depends on no other draw."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")

_RANGE = 2.0**64


def unit(*parts: object) -> float:
    """Return a number in [0, 1) that depends on the parts only (as they print), evenly spread over different parts."""
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest(), "big") / _RANGE


class Dice:
    """A sequence of draws that depends on a key only."""

    def __init__(self, *key: object) -> None:
        self._key = key
        self._drawn = 0

    def unit(self) -> float:
        """Return a number in [0, 1)."""
        self._drawn += 1
        return unit(self._key, self._drawn)

    def whole(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both possible."""
        return min(high, low + int(self.unit() * (high - low + 1)))

    def choice(self, among: Sequence[T]) -> T:
        """Return one of the given, which must not be empty."""
        return among[self.whole(0, len(among) - 1)]
