"""Questions about the connection of two things: "How is X connected to Y?", in English, German, French and Spanish.

`connections.txt` has the patterns of each language.
"""

from functools import cache
from importlib.resources import files

import regex

# Bounded: of a question full of "and", every pair of places would be tried.
_NAMES = {"<one>": r"(?P<one>\S.{0,200}?)", "<other>": r"(?P<other>\S.{0,200}?)"}


def connected_things(question: str) -> tuple[str, str] | None:
    """Return the names of the two things whose connection a question asks for; None for any other question.

    >>> connected_things("How is Ada Mirren connected to Mary Quill?")
    ('Ada Mirren', 'Mary Quill')
    >>> connected_things("Was verbindet Ada Mirren mit Tarn?"), connected_things("How is bread made?")
    (('Ada Mirren', 'Tarn'), None)
    """
    text = " ".join(question.split()).strip(" ¿¡?.!")
    for pattern in _patterns():
        if found := pattern.fullmatch(text):
            return found["one"].strip(" \"'“”„"), found["other"].strip(" \"'“”„")
    return None


@cache
def _patterns() -> tuple["regex.Pattern[str]", ...]:
    found = []
    for line in files("conspectus.query.question").joinpath("connections.txt").read_text("utf-8").splitlines():
        if line and not line.startswith(("#", "[")):
            for name, group in _NAMES.items():
                line = line.replace(name, group)
            found.append(regex.compile(line, regex.IGNORECASE))
    return tuple(found)
