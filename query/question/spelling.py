"""Mend words of a question that are spelled wrong, where the documents have the word that was meant.

A word is mended if no document has it, if its language hardly uses it, and if a word of the documents is one letter
away (inserted, dropped, changed, or swapped with its neighbour: optimal string alignment distance). What is mended is
told in the trace. Names with a capital letter and words with digits stay as they are: a name that the documents do not
have is a reason to decline.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from conspectus.query.types import Step
from conspectus.storage.index import Index, per_index
from conspectus.storage.text.names import Word

if TYPE_CHECKING:
    from conspectus.storage.text.bm25 import Bm25

SPELLING = "spelling"
"""The name of the step of a trace that tells what was mended."""
_LEAST_LETTERS = 5
"""Shorter words have too many neighbours."""
_LEAST_LETTERS_OF_STEM = 6
_RARE = 3.0
"""Zipf frequency of a word (the decimal logarithm of its uses in a billion words) below which it may be a slip."""
_COMMONER = 1.0
"""What the word that was meant has more: the lists have slips too, and a rare word is no slip of one as rare."""
_LISTED = ("en", "de", "fr", "es", "it", "nl", "pt")
"""Languages whose words wordfreq lists; for others English tells what is rare."""


def mended(index: Index, text: str, found: list[Word], language: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return a question with its misspelled words mended, and what was mended: the word and what it was read as.

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
    """Return the step that tells what was mended; none if nothing was.

    >>> spelling_steps((("databse", "database"),))[0].detail
    "read 'databse' as 'database'"
    """
    told = ", ".join(f"{word!r} as {meant!r}" for word, meant in changes)
    return (Step(SPELLING, f"read {told}"),) if changes else ()


def _meant(index: Index, surface: str, language: str) -> str:
    """Return the word that was meant, or "" if the word stands."""
    lexical = index.lexical()
    if len(surface) < _LEAST_LETTERS or not surface.isalpha() or not surface.islower():
        return ""
    stem = lexical.term(surface, language)
    if stem in lexical.vocabulary or (uses := _zipf(surface, language)) >= _RARE:
        return ""
    known: dict[str, int] = {}
    for near in _neighbours(surface, _words(language, surface[0])):
        if _zipf(near, language) >= uses + _COMMONER:
            known |= _counted(lexical, near, lexical.term(near, language))
    if not known and not uses and stem == surface and len(stem) >= _LEAST_LETTERS_OF_STEM:
        for near in _neighbours(stem, _stems(index)(stem[0])):
            known |= _counted(lexical, near, near)
    return min(known, key=lambda word: (-known[word], word)) if known else ""


def _counted(lexical: "Bm25", word: str, term: str) -> dict[str, int]:
    """Return in how many passages a word's term stands, where it stands in any."""
    column = lexical.vocabulary.get(term)
    return {} if column is None else {word: len(lexical.rows_with([column]))}


def _neighbours(word: str, words: tuple[str, ...]) -> Iterator[str]:
    """Yield the words that are one letter away."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    for near, _, _ in process.extract(word, words, scorer=OSA.distance, score_cutoff=1, limit=None):
        if len(near) >= _LEAST_LETTERS:
            yield near


def _zipf(word: str, language: str) -> float:
    from wordfreq import zipf_frequency

    return float(zipf_frequency(word, language if language in _LISTED else "en"))


@cache
def _words(language: str, letter: str) -> tuple[str, ...]:
    """Return the words of a language that begin with a letter."""
    from wordfreq import get_frequency_dict

    listed = get_frequency_dict(language if language in _LISTED else "en", wordlist="best")
    return tuple(word for word in listed if word.startswith(letter))


@per_index
def _stems(index: Index) -> Callable[[str], tuple[str, ...]]:
    return cache(lambda letter: tuple(term for term in index.lexical().vocabulary if term.startswith(letter)))
