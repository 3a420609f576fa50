"""The words of questions for complete answers and of the answers, from `words.txt`: languages side by side."""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from conspectus.storage.text.names import word_keys

LANGUAGES = ("en", "de", "fr", "es")
_MONTHS = "january february march april may june july august september october november december".split()

Phrase = tuple[str, ...]
"""The keys of the words of a phrase."""


@cache
def _table() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Return the phrases of each role by language."""
    table: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in files("conspectus.query.methods.complete").joinpath("words.txt").read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            role, _, columns = line.partition(":")
            texts = (tuple(text.strip() for text in column.split(",")) for column in columns.split("|"))
            table[role] = dict(zip(LANGUAGES, texts, strict=True))
    return table


@cache
def phrases(language: str) -> Mapping[Phrase, frozenset[str]]:
    """Return the roles of each phrase of a language; of all languages for "".

    >>> sorted(phrases("de")["wie", "viele"]), sorted(phrases("")["total",])
    (['count'], ['sum', 'totals'])
    """
    found: defaultdict[Phrase, set[str]] = defaultdict(set)
    for role, texts in _table().items():
        if not role.startswith("said") and role not in ("of", "first"):
            for each in [language] if language else LANGUAGES:
                for text in texts[each]:
                    found[tuple(word_keys(text))].add("month" if role in _MONTHS else role)
    return {phrase: frozenset(roles) for phrase, roles in found.items()}


@cache
def words_of(role: str) -> frozenset[Phrase]:
    """Return the phrases of a role in all languages."""
    return frozenset(phrase for phrase, roles in phrases("").items() if role in roles)


def said(word: str, language: str) -> str:
    """Return a word of answers in a language.

    >>> said("of", "de"), said("said rows", "es")
    ('von', 'filas')
    """
    return _table()[word][language][0]
