"""ROUGE-N: shared runs of words between a text and the one that was wanted (Lin 2004)."""

import re
from collections import Counter

_TOKEN = re.compile(r"[^\W_]+")


def rouge_n(text: str, reference: str, n: int) -> float:
    """Return the F1 of shared runs of `n` tokens, as the package rouge_score computes it without stemming.

    >>> rouge_n("The cat sat", "the cat ran", 1), rouge_n("The cat sat", "the cat ran", 2)
    (0.6666666666666666, 0.5)
    """
    mine, theirs = _runs(text, n), _runs(reference, n)
    shared = (mine & theirs).total()
    return 2 * shared / (mine.total() + theirs.total()) if shared else 0.0


def _runs(text: str, n: int) -> "Counter[tuple[str, ...]]":
    tokens = _TOKEN.findall(text.lower())
    return Counter(tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1))
