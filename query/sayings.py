"""What the program itself says in an answer, in the language of the question: the sentences are in `sayings.txt`."""

from collections.abc import Mapping

from conspectus.storage.text.language import language_of_question
from conspectus.storage.text.language_tables import by_language


def _table() -> Mapping[str, Mapping[str, str]]:
    return by_language("conspectus.query", "sayings.txt")


def saying(key: str, question: str, *told: object) -> str:
    """Return a sentence in the language of a question, in English if that is unclear or none of seventeen.

    Args:
        key: The sentence: a key of `sayings.txt`.
        question: The question.
        told: What stands in its places {}.

    Example:
        >>> saying("in short", "Wann wurde die Brauerei gegründet?", 1862)
        'Kurz: 1862'
    """
    return said(key, language_of_question(question, tuple(_table()[key])) or "en", *told)


def said(key: str, language: str, *told: object) -> str:
    """Return a sentence in one of the languages of `sayings.txt`, with what is told in its places.

    >>> said("of all", "fr", 2, 7, said("documents", "fr"))
    '2 sur 7 documents'
    """
    return _table()[key][language].format(*told)


def name_of_language(code: str) -> str:
    """Return what a language calls itself; its code if it has no sentences here.

    >>> name_of_language("de"), name_of_language("cy")
    ('Deutsch', 'cy')
    """
    return _table()["name"].get(code, code)


def says(key: str, text: str) -> bool:
    """Return whether a text begins with a sentence, in any language."""
    return text.startswith(tuple(_table()[key].values()))
