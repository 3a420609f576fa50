"""Name normalization: the key by which names are compared."""

import re
import unicodedata
from functools import lru_cache

_SHORT = 60
_PARENTHESIS = re.compile(r"(?P<name>.*\S)(?:\s+\([^()]*\)|\s*（[^（）]*）)")


def entity_key(name: str) -> str:
    """Return the form used to compare names: NFKC, case-folded, white space collapsed.

    Nothing else is folded: accents, signs and scripts distinguish names. The key of a key is the key itself,
    and only a blank name has an empty one.

    >>> [entity_key(name) for name in ("  Dorothy\\nGale", "Straße", "C++", "Ångström", "北京大学")]
    ['dorothy gale', 'strasse', 'c++', 'ångström', '北京大学']
    """
    return _kept_key(name) if len(name) <= _SHORT else _key(name)


def _key(name: str) -> str:
    if name.isascii():  # nothing to compose
        return " ".join(name.lower().split())
    folded = unicodedata.normalize("NFKC", name).casefold()
    # Case-folding can leave a form that NFKC would compose differently.
    return " ".join(unicodedata.normalize("NFKC", folded).split())


_kept_key = lru_cache(100_000)(_key)
"""Names recur; texts do not."""


def title_names(title: str) -> tuple[str, ...]:
    """Return the names that a title gives its subject: the title, and the title without a final parenthesis.

    >>> title_names("Apollo (band)")
    ('Apollo (band)', 'Apollo')
    >>> title_names("Apollo")
    ('Apollo',)
    """
    title = title.strip()
    if not title:
        return ()
    found = _PARENTHESIS.fullmatch(title)
    return (title, found["name"]) if found else (title,)
