"""Lives in parentheses: "Ada Mirren (1 May 1871 in Oster – 1948)" tells when she was born and when she died."""

from collections.abc import Set

import regex
from conspectus.storage.text.language_tables import word_set
from conspectus.storage.text.names import words

_LIFE = regex.compile(
    r"\((?P<born>[^()–—-]{0,60}\b\d{3,4}\b[^()–—-]{0,40})[–—-](?P<died>[^()]{0,60}\b\d{3,4}\b[^()]{0,40})\)"
)
_BORN = word_set("born")
_DIED = word_set("died")


LIFE_WORDS = _BORN | _DIED
"""The words for birth and death."""


def tells_life(text: str) -> bool:
    """Return whether a text has a life in parentheses: then it tells of a birth and a death.

    >>> tells_life("Ada Mirren (1871–1948) drew maps."), tells_life("Ada Mirren (a painter) drew maps.")
    (True, False)
    """
    return _LIFE.search(text) is not None


def part_of_life(keys: Set[str], text: str) -> str:
    """Return what the first life in a text tells of the birth or the death that a question asks for, "" if none.

    It is of somebody else if the question lacks the name before it.

    >>> part_of_life({"when", "ada", "mirren", "died"}, "Ada Mirren (1 May 1871 in Oster – 2 June 1948) drew maps.")
    '2 June 1948'
    >>> part_of_life({"when", "ilse", "mirren", "died"}, "Ada Mirren (1 May 1871 in Oster – 2 June 1948) drew maps.")
    ''
    """
    wanted = [name for name, said in (("born", _BORN), ("died", _DIED)) if not said.isdisjoint(keys)]
    life = _LIFE.search(text) if len(wanted) == 1 else None
    before = [word.key for word in words(text[: life.start()])[-2:] if text[word.start].isupper()] if life else []
    return life[wanted[0]].strip() if life and set(before) <= keys else ""
