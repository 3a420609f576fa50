"""How many tokens a server will make of a text, where its tokenizer is not at hand.

Our own counts measure chunks; no server counts by them: a record's signs are one by one to a
WordPiece, and two or three at once to a byte-pair encoding. Here every kind of character has the weight that lies
nearest to the o200k encoding of GPT-4o; `python benchmarks/estimate.py tokens` compares the two.
"""

import re
from functools import lru_cache
from math import ceil

_KINDS = re.compile(
    r"([A-Za-z]+)"
    r"|([0-9]+)"
    r"|([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
    r"|([\uac00-\ud7af])"
    r"|([^\W\d_]+)"
    r"|([^\w\s]+|_+|\S)"
)

_SHORT = 6
_WORD, _LETTER_MORE = 1.04, 0.06
_DIGITS_A_TOKEN, _LETTERS_A_TOKEN, _SIGNS_A_TOKEN = 3, 3.0, 1.7
_HAN_CHARACTER, _HANGUL_SYLLABLE = 0.92, 0.65
"""GPT-4o's encoding takes 0.92 for a Han character of examples/chinese; DeepSeek's documentation says 0.6."""


def server_tokens(text: str) -> float:
    """Return about how many tokens a server makes of a text.

    >>> server_tokens("Toto barked.")
    3.08
    """
    return round(sum(_of_line(line) for line in text.split("\n")), 4)


@lru_cache(1 << 16)
def _of_line(line: str) -> float:
    """Return the tokens of a line: prompts are made of the same lines again and again."""
    total = 0.0
    for found in _KINDS.finditer(line):
        length = found.end() - found.start()
        match found.lastindex:
            case 1:
                total += _WORD + max(0, length - _SHORT) * _LETTER_MORE
            case 2:
                total += ceil(length / _DIGITS_A_TOKEN)
            case 3:
                total += _HAN_CHARACTER
            case 4:
                total += _HANGUL_SYLLABLE
            case 5:
                total += max(1.0, length / _LETTERS_A_TOKEN)
            case _:
                total += ceil(length / _SIGNS_A_TOKEN)
    return total
