"""Cut a text into overlapping windows that a model can read whole, and estimate tokens for an unknown tokenizer.

Our own tokenizer takes a word in an unknown script as one token, where others make many. So `estimated_spans` counts
non-ASCII characters one by one, and long words as three characters per token.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from conspectus.storage.text.tokens import LONGEST, token_spans

MOST_OF_QUESTION = 512
"""Tokens of a question that are embedded, a page, in as few windows as hold them."""
_BYTES_PER_TOKEN = 3
_OVERLAP_TOKENS = 32


def cut_windows(
    text: str,
    starts: Sequence[int],
    words: Sequence[int | None],
    *,
    room: int,
    overlap: int | None = None,
    fits: Callable[[str], bool],
    most: int | None = None,
) -> list[str]:
    """Return overlapping pieces of a text, in order, that contain every character.

    A piece starts at a word boundary, except inside a word longer than a piece.

    Args:
        text: The text.
        starts: Offset in the text at which token i starts.
        words: Number of the word that token i belongs to, None if the tokenizer knows no words.
        room: Most tokens in a piece.
        overlap: Most tokens repeated from the previous piece; by default a quarter of the room, at most 32.
        fits: Whether a piece fits, since a piece may be tokenized differently from the whole. A single token is
            assumed to fit.
        most: Most pieces; those after them are left out.

    >>> cut_windows("a b c d e", [0, 2, 4, 6, 8], [0, 1, 2, 3, 4], room=3, overlap=1, fits=lambda piece: True)
    ['a b c ', 'c d e']
    """
    overlap = min(_OVERLAP_TOKENS, room // 4) if overlap is None else overlap
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
        if last == n_tokens or len(pieces) == most:
            return pieces
        first = _at_or_after(word_starts, max(first + 1, last - overlap), limit=last)


def without_surrogates(text: str) -> str:
    """Return the text with ? for lone surrogates, which no tokenizer or server accepts; offsets stay the same."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _between(text: str, starts: Sequence[int], first: int, last: int) -> str:
    begin = starts[first] if first else 0
    end = starts[last] if last < len(starts) else len(text)
    return text[begin:end]


def _at_or_before(places: Sequence[int], place: int, above: int) -> int:
    """Return the last of the places at or before `place`; `place` itself if that is not above `above`."""
    nearest = places[bisect_right(places, place) - 1]
    return nearest if nearest > above else place


def _at_or_after(places: Sequence[int], place: int, limit: int) -> int:
    """Return the first of the places at or after `place`; `place` itself if that is past `limit`."""
    i = bisect_left(places, place)
    return places[i] if i < len(places) and places[i] <= limit else place


def estimated_spans(text: str) -> list[tuple[int, int]]:
    """Return spans of a text, in order, of about one token each for a tokenizer that is not available here.

    >>> estimated_spans("Toto in 北京")
    [(0, 2), (2, 4), (5, 7), (8, 9), (9, 10)]
    """
    spans: list[tuple[int, int]] = []
    for start, end in token_spans(text):
        if end - start < LONGEST and text[start:end].isascii():
            spans.append((start, end))
        else:
            spans.extend(_split(text, start, end))
    return spans


def _split(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return spans of at most `_BYTES_PER_TOKEN` bytes, or of one character."""
    pieces: list[tuple[int, int]] = []
    first, size = start, 0
    for place in range(start, end):
        bytes_ = len(text[place].encode("utf-8", "replace"))
        if size and size + bytes_ > _BYTES_PER_TOKEN:
            pieces.append((first, place))
            first, size = place, 0
        size += bytes_
    pieces.append((first, end))
    return pieces
