"""Correct misspelled words of a question, if the documents contain the intended word.

A word is corrected if no document has it, if it is rare in its language, and if a word of the documents, or a very
common one, is one edit away (insertion, deletion, substitution or swap of neighbours: optimal string alignment
distance). The trace reports
the correction. Capitalised words and words with digits stay unchanged: a name that the documents do not
have is a reason to decline.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conspectus.query.context import remembered
from conspectus.query.types import Step
from conspectus.query.types.answer import SPELLING
from conspectus.storage.cancellation import check
from conspectus.storage.index import StoredIndex
from conspectus.storage.text.names import Word
from conspectus.storage.text.word_lists import beginning_with, zipf

if TYPE_CHECKING:
    from conspectus.storage.text.bm25 import Bm25

_LEAST_LETTERS = 5
"""Shorter words have too many neighbours among those of the documents."""
_LEAST_OF_COMMON, _COMMON = 4, 5.5
"""The least letters of a slip of a word that every text may have ("wich", "shoud"), and the least Zipf frequency of
that word."""
_LEAST_LETTERS_OF_STEM = 6
_RARE = 3.0
"""Zipf frequency of a word (the decimal logarithm of its uses in a billion words) below which it may be a slip."""
_KEPT_WORDS = 1_000
"""Number of words whose meaning is cached per index: one answer asks several forms of a question."""
_COMMONER = 1.0
"""Least surplus frequency of the intended word: a rare word is not a slip of an equally rare one."""


def mended(index: StoredIndex, text: str, found: list[Word], language: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return a question with its misspelled words corrected, and the pairs of word and correction.

    Args:
        index: The index whose words count.
        text: The question.
        found: Its words.
        language: Its ISO 639-1 code.

    Example:
        >>> mended(index, "how do i restore a databse", found, "en")  # doctest: +SKIP
        ('how do i restore a database', (('databse', 'database'),))
    """
    changes = [(word, meant) for word in found if (meant := _meant(index, text[word.start : word.end], language))]
    for word, meant in reversed(changes):
        text = text[: word.start] + meant + text[word.end :]
    return text, tuple((word.key, meant) for word, meant in changes)


def spelling_steps(changes: tuple[tuple[str, str], ...]) -> tuple[Step, ...]:
    """Return the step that reports the corrections; empty if there are none.

    >>> spelling_steps((("databse", "database"),))[0].detail
    "read 'databse' as 'database'"
    """
    told = ", ".join(f"{word!r} as {meant!r}" for word, meant in changes)
    return (Step(SPELLING, f"read {told}"),) if changes else ()


@remembered(_KEPT_WORDS)
def _meant(index: StoredIndex, surface: str, language: str) -> str:
    """Return the intended word, or "" if the word is not a slip."""
    lexical = index.lexical()
    if len(surface) < _LEAST_OF_COMMON or not surface.isalpha() or not surface.islower():
        return ""
    stem = lexical.term(surface, language)
    if stem in lexical.vocabulary or (uses := zipf(surface, language)) >= _RARE:
        return ""
    known: dict[str, int] = {}
    common = ""
    for near in _neighbours(surface, beginning_with(surface[0], language)):
        often = zipf(near, language)
        if len(surface) >= _LEAST_LETTERS and often >= uses + _COMMONER:
            known |= _counted(lexical, near, lexical.term(near, language))
        if often >= _COMMON and not common:
            common = near
    if not known and common:
        return common
    if not known and not uses and stem == surface and len(stem) >= _LEAST_LETTERS_OF_STEM:
        for near in _neighbours(stem, _stems(index, stem[0])):
            known |= _counted(lexical, near, near)
    return min(known, key=lambda word: (-known[word], word)) if known else ""


def _counted(lexical: "Bm25", word: str, term: str) -> dict[str, int]:
    """Return in how many passages a word's term appears; empty if in none."""
    uses = len(lexical.rows_with(term))
    return {word: uses} if uses else {}


def _neighbours(word: str, words: tuple[str, ...]) -> Iterator[str]:
    """Yield the words that are one edit away."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    check()
    for near, _, _ in process.extract(word, words, scorer=OSA.distance, score_cutoff=1, limit=None):
        if len(near) >= _LEAST_LETTERS:
            yield near


@remembered(_KEPT_WORDS)
def _stems(index: StoredIndex, letter: str) -> tuple[str, ...]:
    return tuple(index.lexical().starting(letter))
