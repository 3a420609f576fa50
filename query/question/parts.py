"""The parts of a question that asks for several things, compares two, or asks what connects two."""

from functools import cache, lru_cache
from importlib.resources import files

import regex
import regex as re

_ASKING = (
    "what|which|who(?:m|se)?|where|when|why|how|do(?:es)?|did|is|are|can|could|should|was|were|has|have"
    "|welche[rsmn]?|wer|we[mn]|wo|wann|warum|wie|womit|wodurch|woraus"
    "|que|quoi|qui|(?:le|la|les)?quel(?:le)?s?|où|quand|pourquoi|comment|combien"
    "|qué|quién(?:es)?|cuál(?:es)?|d[óo]nde|cu[áa]ndo|por qué|c[óo]mo|cu[áa]nt[oa]s?"
)
_LEADING = "in|on|at|to|from|with|for|of|by|since|mit|aus|an|auf|von|zu|seit|à|de|dans|en|avec|depuis|con|desde"
_BOUNDARY = re.compile(
    rf"[,;]?\s+(?:(?:and|but|und|aber|et|mais|y|pero)\s+(?=(?:(?:{_LEADING})\s+)?(?:{_ASKING})\b)"
    r"|e\s+(?=(?:(?:in|da|a|di|con|em|de)\s+)?(?:chi|cosa|che|qual[ei]?|quem|quais|d?onde|dove|quando|quant[oaie]s?)\b)"
    r"|en\s+(?=(?:(?:in|op|met|van|uit)\s+)?(?:wat|wie|waar\w*|wanneer|hoe|welke?)\b)"
    r"|(?:i|a|oraz)\s+(?=(?:(?:w|z|od|do|na)\s+)?(?:kto|co|gdzie|kiedy|dlaczego|jak\w{0,3}|któr\w+|ile)\b)"
    r"|(?:и|а)\s+(?=(?:(?:в|на|с|из|от)\s+)?(?:кто|что|где|когда|почему|как\w{0,3}|сколько)\b))",
    re.IGNORECASE,
)
_LEAST_WORDS = 3


_ONE = r"(?P<one>.{1,200}?)"
_AND = r"\s+(?:and|or|und|oder|et|ou|y|o)\s+"
_SIDES = re.compile(
    rf"\b(?:differences?|compar\w+|unterschiede?|différences?|diferencias?)\s+(?:between|zwischen|entre)\s+"
    rf"{_ONE}{_AND}(?P<other>.+)"
    rf"|\b(?:differenz[ae]|diferenças?|verschil(?:len)?)\s+(?:tra|fra|entre|tussen)\s+{_ONE}\s+(?:e|en)\s+(?P<other>.+)"
    rf"|\b(?:różnic[aey]|разниц[аеуы]|различи[еяй])\s+(?:między|между)\s+{_ONE}\s+[iaи]\s+(?P<other>.+)"
    rf"|\bcompar\w+\s+{_ONE}(?:{_AND}|\s+(?:with|to|against|mit|avec|à|con)\s+)(?P<other>.+)"
    rf"|\b(?:does|do|did)\s+{_ONE}\s+(?:differ|compare)\s+(?:from|to|with)\s+(?P<other>.+)"
    rf"|\bunterscheide[nt]\s+sich\s+{_ONE}(?:{_AND}|\s+von\s+)(?P<other>.+)"
    rf"|^{_ONE}\s+(?:versus|vs\.?)\s+(?P<other>.+)"
    rf"|^(?:is|are)\s+{_ONE}\s+better\s+than\s+(?P<other>.+)"
    rf"|\b(?:better|besser|mieux|mejor)\b(?:[^,:?]{{0,40}}[:,])?\s+{_ONE}{_AND}(?P<other>.+)"
    rf"|^(?:{_ASKING})\b[^,:?]{{1,80}}[,:]\s+(?!(?:and|und|et|y|{_ASKING})\b){_ONE}\s+(?:or|oder|ou|o)\s+(?P<other>.+)",
    re.IGNORECASE,
)
_ARTICLE = re.compile(
    r"^(?:an?|the|einem|einer|eine[nm]?|der|dem|das|die|une?|les?|las?|l['’]|el|los|uno?a?|il|lo|gli|uma?|os?|een|het|de)"
    r"\s+|^l['’]",
    re.IGNORECASE,
)
_MOST_OF_SIDE = 6
"""Most words of a compared thing; anything longer is more than a name, and so are 200 characters."""


@lru_cache(maxsize=1_000)
def sides_of(question: str) -> tuple[str, ...]:
    """Return the two things that a question compares; empty if its words do not show them.

    >>> sides_of("What is the difference between a sluice and a weir?")
    ('sluice', 'weir')
    >>> sides_of("Worin unterscheiden sich Schleuse und Wehr?")
    ('Schleuse', 'Wehr')
    >>> sides_of("Wat is het verschil tussen een sluis en een stuw?")
    ('sluis', 'stuw')
    """
    found = _SIDES.search(_one_spaced(question))
    if found is None:
        return ()
    sides = tuple(
        _ARTICLE.sub("", re.split(r"[?!,;:]", side, maxsplit=1)[0].strip()) for side in (found["one"], found["other"])
    )
    return sides if all(side and len(side.split()) <= _MOST_OF_SIDE for side in sides) else ()


@lru_cache(maxsize=1_000)
def parts_of(question: str) -> tuple[str, ...]:
    """Return the parts of a question: questions, or two things that it compares; else the question itself.

    >>> parts_of("Who built the pier, and in which year was it opened?")
    ('Who built the pier', 'in which year was it opened?')
    >>> parts_of("Who built the pier and the gate?")
    ('Who built the pier and the gate?',)
    >>> parts_of("How does a sluice differ from a weir?")
    ('sluice', 'weir')
    """
    sides = sides_of(question)
    if sides:
        return sides
    parts = tuple(part.strip() for part in _BOUNDARY.split(_one_spaced(question)))
    return parts if all(len(part.split()) >= _LEAST_WORDS for part in parts) else (question,)


def _one_spaced(text: str) -> str:
    """Return a text with single spaces: at each place of a long run of them, a pattern would read the rest of it."""
    return " ".join(text.split())


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
