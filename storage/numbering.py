"""Numbers for texts, in the order in which they are first asked for."""

from collections import defaultdict
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
from conspectus.storage.arrays import SmallInts

if TYPE_CHECKING:
    import pyarrow as pa

PARTS = 32
"""Parts into which rows are divided by a number (see `PartedRows`)."""
_MOST = 1 << 16
"""Texts that have their numbers in memory."""


def numbering() -> defaultdict[str, int]:
    """Return a mapping that gives each new key the next number, from 0.

    >>> numbers = numbering()
    >>> [numbers[word] for word in ("ferry", "fern", "ferry")]
    [0, 1, 0]
    """
    return defaultdict(count().__next__)


class ManyNumbers(dict[str, int]):
    """Numbers for millions of texts, of which only recent ones are in the dictionary: the others are an Arrow column.

    A text that is asked for again after others have displaced it gets another number. `settled` says which numbers
    are of one text. All numbers of a text have the same remainder by `PARTS`, so that rows divided by it stay together.

    Args:
        most: The number of texts in the dictionary.

    >>> numbers = ManyNumbers(most=2)
    >>> given = [numbers[word] for word in ("ferry", "fern", "fir", "ferry")]
    >>> number_of, texts = numbers.settled
    >>> number_of[given].tolist(), texts.to_pylist()
    ([0, 1, 2, 0], ['ferry', 'fern', 'fir'])
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._next = list(range(PARTS))
        self._texts: list[pa.Array] = []
        self._numbers: list[SmallInts] = []

    def __missing__(self, text: str) -> int:
        if len(self) == self._most:
            self._put_away()
        part = crc32(text.encode("utf-8", "surrogatepass")) % PARTS
        number = self[text] = self._next[part]
        self._next[part] += PARTS
        return number

    @cached_property
    def settled(self) -> "tuple[SmallInts, pa.Array]":
        """The final number of each number given, and the texts by their final numbers, once all have numbers.

        int32 (largest number + 1,), the place among the texts, -1 for numbers that no text has; and the texts, in the
        order in which they were first asked for.
        """
        import pyarrow as pa

        self._put_away()
        encoded = pa.chunked_array(self._texts, pa.large_string()).combine_chunks().dictionary_encode()
        final = np.full(max(self._next), -1, np.int32)
        final[np.concatenate(self._numbers)] = encoded.indices.to_numpy()
        self._texts, self._numbers = [], []
        return final, encoded.dictionary

    def _put_away(self) -> None:
        import pyarrow as pa

        self._texts.append(pa.array(self, pa.large_string(), size=len(self)))
        self._numbers.append(np.fromiter(self.values(), np.int32, len(self)))
        self.clear()
