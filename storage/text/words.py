"""English stop words and number words, stems, accents and transliteration."""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files

from conspectus.storage.text.language_tables import by_language, word_set

_SIGNS = by_language("conspectus.storage.text", "transcription.txt")
ASKING = frozenset("what when where which who whom whose why how".split())
"""Question words."""

FUNCTION_WORDS = ASKING | word_set("function words")
"""Stop words: articles, pronouns, prepositions, conjunctions, auxiliaries and question words."""

REQUESTS = frozenset("name names please tell list give".split())
"""Openings of a request that has no question word."""

PARTICLES = word_set("particles")
"""Adverbs and prepositions of place and time: not names, but meaningful."""

NUMBER_WORDS = {word: value for value, words in _SIGNS["numbers"].items() for word in words.split()}
"""Cardinals and ordinals up to twenty, and their value in digits."""

_LATIN = {sign: latin for latin, signs in _SIGNS["letters"].items() for sign in signs.split()}
"""Cyrillic and Greek letters, and Latin letters without a decomposition, as English transliterates them."""


def stem(word: str) -> str:
    """Return a word without its plural or third-person s (Harman 1991, the S stemmer).

    >>> [stem(word) for word in ("cities", "horses", "wrote", "class", "was")]
    ['city', 'horse', 'wrote', 'class', 'was']
    """
    if len(word) < 4:
        return word
    if word.endswith("ies") and word[-4] not in "ae":
        return f"{word[:-3]}y"
    if word.endswith("es") and word[-3] not in "aeo":
        return word[:-1]
    if word.endswith("s") and word[-2] not in "us":
        return word[:-1]
    return word


def without_accents(text: str) -> str:
    """Return a text without the accents that Unicode can decompose.

    >>> without_accents("Zoë Ångström, Łódź")
    'Zoe Angstrom, Łodz'
    """
    if text.isascii():
        return text
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", text) if not unicodedata.combining(sign))
    return unicodedata.normalize("NFC", plain)


@lru_cache(100_000)
def transliterated(text: str) -> str:
    """Return a text in lower case without accents, with Cyrillic and Greek letters in the Latin alphabet.

    >>> transliterated("Ångström"), transliterated("Чайковский")
    ('angstrom', 'chaikovskii')
    """
    if text.isascii():
        return text.lower()
    known = "".join(_LATIN.get(sign, sign) for sign in unicodedata.normalize("NFKC", text).casefold())
    plain = "".join(sign for sign in unicodedata.normalize("NFKD", known) if not unicodedata.combining(sign))
    return "".join(_LATIN.get(sign, sign) for sign in plain)


_OF_PERSON = re.compile("^[يتن](?=[\u0621-\u064a]{3})")
"""The prefix of an Arabic verb in the present tense."""


@cache
def _base_forms() -> Mapping[str, str]:
    """Read `irregular.txt`: the base form of each irregular form, the stems of either included."""
    lines = files("conspectus.storage.text").joinpath("irregular.txt").read_text("utf-8").splitlines()
    return {
        key: base
        for base, *forms in (line.split() for line in lines if not line.startswith("#"))
        for form in (base, *forms)
        for key in (form, stem(form), form.removesuffix("e"))
    }


def base_form(word: str) -> str:
    """Return the base form of an irregular English word or of its stem; any other word as it is.

    Of an Arabic word the sign of the person of a verb is left out: "he manages" and "she manages" differ in it only.

    >>> base_form("kept"), base_form("children"), base_form("walked"), base_form("يدير") == base_form("تدير")
    ('keep', 'child', 'walked', True)
    """
    return _base_forms().get(word) or _OF_PERSON.sub("", word)


def irregular_forms() -> frozenset[str]:
    """Return the irregular forms, with their base forms."""
    return frozenset(_base_forms())
