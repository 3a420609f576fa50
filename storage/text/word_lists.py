"""How often words are used in a language, by the word lists of wordfreq (Speer 2022).

The lists are read here: importing wordfreq, which chooses languages and cuts texts into words, takes longer than the
rest of a short question.
"""

import gzip
import importlib.util
import unicodedata
from bisect import bisect_left
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any, cast

from conspectus.storage.errors import MissingPart

_UNLISTED, _LONGEST_WORD = 1e-7, 6
"""The share of a character that is no word of a language, and the most characters of a word without spaces."""
_LISTED = ("en", "de", "fr", "es", "it", "nl", "pt")
"""Languages with a large list of words in the Latin alphabet; for others English decides."""


@lru_cache(10_000)
def zipf(word: str, language: str = "en") -> float:
    """Return the Zipf frequency of a word: the decimal logarithm of its uses in a billion words.

    Args:
        word: A word, or several joined by hyphens.
        language: An ISO 639-1 code; words of a language without a list are looked up in the English one.

    Returns:
        0 for a word that is not among those that occur ten times in a billion words.

    Raises:
        MissingPart: wordfreq is not installed.

    Example:
        >>> zipf("house"), zipf("housee"), zipf("Haus", "de")
        (5.71, 0.0, 5.41)
    """
    language = language if language in _LISTED else "en"
    if not word.isalpha():
        from wordfreq import zipf_frequency

        return float(zipf_frequency(word, language))
    word = unicodedata.normalize("NFC", word).casefold()
    # The small list has the beginning of the large one, and is read in 5 ms. Few words are in neither: to look for one
    # among those of its letter takes a tenth of the time of looking through the large list.
    found = _frequency(word, _list(language, "small"))
    if not found and word in beginning_with(word[0], language):
        found = _frequency(word, _list(language, "large"))
    return found


def is_frequent(word: str, language: str) -> bool:
    """Return whether a word in lower case is in the small list of a language; no word is in a list that is missing."""
    return bool(_frequency(word, _list(language, "small")))


def _frequency(word: str, lists: list[list[str]]) -> float:
    for place, words in enumerate(lists):
        at = bisect_left(words, word)
        if words[at : at + 1] == [word]:
            return (900 - place) / 100
    return 0.0


@lru_cache(1_000)
def beginning_with(letter: str, language: str) -> tuple[str, ...]:
    """Return the words of a language that begin with a letter, frequent ones first; see `zipf`."""
    after = chr(ord(letter) + 1)
    lists = _list(language if language in _LISTED else "en", "large")
    return tuple(word for words in lists for word in words[bisect_left(words, letter) : bisect_left(words, after)])


@cache
def shares_of_common_words(language: str) -> Mapping[str, float]:
    """Return the share of each word among all words of a language, for those that make up a millionth or more.

    It is empty for a language that has no list.
    """
    lists = enumerate(_list(language, "small"))
    return {word: 10 ** (-place / 100) for place, words in lists for word in words}


def cut_run(run: str, language: str) -> list[str]:
    """Return a stretch without spaces cut into the words of a language's list that are together the most probable ones.

    A character that is in no word of the list stands alone, and so does each one of a language without a list.

    >>> cut_run("三年级的学生", "zh")
    ['三年级', '的', '学生']
    """
    listed = shares_of_common_words(language) if language in ("zh", "ja", "ko") else {}
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(run) + 1):
        best.append(
            max(
                (best[start][0] + log(listed.get(run[start:end], _UNLISTED if end - start == 1 else 1e-30)), start)
                for start in range(max(0, end - _LONGEST_WORD), end)
            )
        )
    cuts = [len(run)]
    while cuts[-1]:
        cuts.append(best[cuts[-1]][1])
    return [run[start:end] for end, start in pairwise(cuts)][::-1]


@cache
def _list(language: str, size: str) -> list[list[str]]:
    """Return the words of a language by frequency: those of list i, in order, make up 10^(-i/100) of a text each."""
    import msgpack

    path = _folder() / f"{size}_{language}.msgpack.gz"
    if not language.isalpha() or not path.is_file():
        return []
    header, *lists = cast(list[Any], msgpack.unpackb(gzip.decompress(path.read_bytes())))
    if header != {"format": "cB", "version": 1}:
        raise MissingPart(f"{path} is not a word list of wordfreq 3: pip install 'wordfreq>=3.1,<4'")
    return lists


@cache
def _folder() -> Path:
    spec = importlib.util.find_spec("wordfreq")
    if spec is None or spec.origin is None:
        raise MissingPart("the word lists of wordfreq are not installed: pip install wordfreq")
    return Path(spec.origin).with_name("data")
