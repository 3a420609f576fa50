"""How long a text may be to a tokenizer that is not at hand.

Our own tokenizer takes a word in a script that it does not know for one token, where others make many. So
characters beyond ASCII are counted one by one, and so are long words, three to a token.
"""

from conspectus.storage.text.tokens import LONGEST, token_spans

_BYTES_A_TOKEN = 3


def foreign_spans(text: str) -> list[tuple[int, int]]:
    """Return spans of a text, in order, that are each about one token of some other tokenizer.

    >>> foreign_spans("Toto in 北京")
    [(0, 2), (2, 4), (5, 7), (8, 9), (9, 10)]
    """
    spans: list[tuple[int, int]] = []
    for start, end in token_spans(text):
        if end - start < LONGEST and text[start:end].isascii():
            spans.append((start, end))
        else:
            spans.extend(_cut(text, start, end))
    return spans


def _cut(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return pieces of at most `_BYTES_A_TOKEN` bytes, or of one character."""
    pieces: list[tuple[int, int]] = []
    first, size = start, 0
    for place in range(start, end):
        bytes_ = len(text[place].encode("utf-8", "replace"))
        if size and size + bytes_ > _BYTES_A_TOKEN:
            pieces.append((first, place))
            first, size = place, 0
        size += bytes_
    pieces.append((first, end))
    return pieces
