"""Cutting a text into overlapping pieces that a model can read whole."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence


def cut(
    text: str,
    starts: Sequence[int],
    words: Sequence[int | None],
    *,
    room: int,
    overlap: int,
    fits: Callable[[str], bool],
) -> list[str]:
    """Return pieces of the text, in order, that together hold every character and each satisfy `fits`.

    `starts[i]` is the offset at which token i begins and `words[i]` the number of the word it belongs to
    (None where the tokenizer knows no words). A piece has at most `room` tokens and repeats at most the
    last `overlap` tokens of the one before; it begins with a word except inside a word that is longer
    than a piece. `fits` is asked because a piece may be tokenized differently from the whole; a single
    token is taken to fit.

    >>> cut("a b c d e", [0, 2, 4, 6, 8], [0, 1, 2, 3, 4], room=3, overlap=1, fits=lambda piece: True)
    ['a b c ', 'c d e']
    """
    n_tokens = len(starts)
    word_starts = [i for i in range(n_tokens) if i == 0 or words[i] is None or words[i] != words[i - 1]]
    pieces = []
    first = 0
    while True:
        last = min(first + room, n_tokens)
        if last < n_tokens:
            last = _at_or_before(word_starts, last, above=first + overlap)
        while not fits(piece := _between(text, starts, first, last)) and last - first > 1:
            last -= 1
        pieces.append(piece)
        if last == n_tokens:
            return pieces
        first = _at_or_after(word_starts, max(first + 1, last - overlap), limit=last)


def storable(text: str) -> str:
    """Return the text with ? for lone surrogates, which neither tokenizers nor servers take; offsets stay."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _between(text: str, starts: Sequence[int], first: int, last: int) -> str:
    begin = starts[first] if first else 0
    end = starts[last] if last < len(starts) else len(text)
    return text[begin:end]


def _at_or_before(places: Sequence[int], place: int, above: int) -> int:
    """Return the nearest of the places at or before `place`; `place` itself if that is not above `above`."""
    nearest = places[bisect_right(places, place) - 1]
    return nearest if nearest > above else place


def _at_or_after(places: Sequence[int], place: int, limit: int) -> int:
    """Return the nearest of the places at or after `place`; `place` itself if that is past `limit`."""
    i = bisect_left(places, place)
    return places[i] if i < len(places) and places[i] <= limit else place
