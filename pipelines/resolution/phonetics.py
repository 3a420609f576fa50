"""What a word of another alphabet sounds like, however it is spelt in ours."""

from functools import lru_cache

from conspectus.pipelines.resolution.wordlists import SOUNDS

_STARTS = (
    {"tch", "ch", "tsch", "cz"}, {"k", "c", "q", "g"}, {"y", "j", "i", "e"}, {"h", "kh", "ch"}, {"v", "w"},
    {"z", "ts", "tz", "cz"}, {"ph", "f"}, {"zh", "j"},
)  # fmt: skip
"""Letters at the beginning of a word that may spell one sound."""


_VOWELS = {"a": "e", "e": "e", "i": "e", "y": "e", "o": "u", "u": "u"}
"""Vowels that transliterations exchange."""


@lru_cache(maxsize=100_000)
def sound(word: str) -> str:
    """Return a folded word as it sounds, roughly.

    >>> sound("tchaikovsky") == sound("chaikovskii"), sound("mohammed") == sound("muhammad")
    (True, True)
    """
    if len(word) < 4:
        return word
    heard = word
    for letters, sign in SOUNDS:
        heard = heard.replace(letters, sign)
    plain = "".join(_VOWELS.get(sign, sign) for sign in heard.replace("x", "ks"))
    return "".join(sign for place, sign in enumerate(plain) if place == 0 or sign != plain[place - 1])


def same_start(mine: str, yours: str) -> bool:
    """Return whether two words begin with the same letter, or with letters that may spell one sound."""
    return mine[:1] == yours[:1] or any(
        any(mine.startswith(each) for each in group) and any(yours.startswith(each) for each in group)
        for group in _STARTS
    )


def spelt_near(mine: str, yours: str) -> bool:
    """Return whether two folded words are spelt as transliterations of one word are.

    Where vowels alone differ the words must be long: Anna and Anne are two, Mohammed and Muhammad one.

    >>> spelt_near("karl", "carl"), spelt_near("anna", "anne"), spelt_near("mohammed", "muhammad")
    (True, False, True)
    """
    if sound(mine) != sound(yours) or not same_start(mine, yours):
        return False
    if _edits(mine, yours) > max(1, max(len(mine), len(yours)) // 3):  # Jaycee and Jackie
        return False
    if _consonants(mine) == _consonants(yours):
        return min(len(mine), len(yours)) >= _LONG
    return min(len(mine), len(yours)) >= _SHORT


_LONG, _SHORT = 6, 4


def _consonants(word: str) -> str:
    return "".join(sign for sign in word if sign not in "aeiouy")


def _edits(mine: str, yours: str) -> int:
    """Return how many letters are added, left out or changed from one word to the other (Levenshtein)."""
    row = list(range(len(yours) + 1))
    for place, sign in enumerate(mine, 1):
        before, row[0] = row[0], place
        for at, other in enumerate(yours, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (sign != other))
    return row[-1]
