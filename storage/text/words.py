"""English stop words and number words, stems, accents and transliteration."""

import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files

ASKING = frozenset("what when where which who whom whose why how".split())
"""Question words."""

FUNCTION_WORDS = ASKING | frozenset(
    """a an and are as at be been being but by can could did do does for from had has have he her him his i if in into
    is it its me my no not of on or our she so such than that the their them then there these they this to too was we
    were will with would you your also both 's""".split()
)
"""Stop words: articles, pronouns, prepositions, conjunctions, auxiliaries and question words."""

REQUESTS = frozenset("name names please tell list give".split())
"""Openings of a request that has no question word."""

PARTICLES = frozenset(
    """about above after again all any before below between down during each few here just more most now off once only
    out over own some under until up very while""".split()
)
"""Adverbs and prepositions of place and time: not names, but meaningful."""

NUMBER_WORDS = {
    word: str(value)
    for value, pair in enumerate(
        "zero zeroth,one first,two second,three third,four fourth,five fifth,six sixth,seven seventh,eight eighth,"
        "nine ninth,ten tenth,eleven eleventh,twelve twelfth,thirteen thirteenth,fourteen fourteenth,"
        "fifteen fifteenth,sixteen sixteenth,seventeen seventeenth,eighteen eighteenth,nineteen nineteenth,"
        "twenty twentieth".split(",")
    )
    for word in pair.split()
}
"""Cardinals and ordinals up to twenty, and their value in digits."""

_LATIN = {
    "а": "a", "б": "b", "в": "v", "г": "g", "д": "d", "е": "e", "ё": "yo", "ж": "zh", "з": "z", "и": "i", "й": "i",
    "к": "k", "л": "l", "м": "m", "н": "n", "о": "o", "п": "p", "р": "r", "с": "s", "т": "t", "у": "u", "ф": "f",
    "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "", "ы": "y", "ь": "", "э": "e", "ю": "yu", "я": "ya",
    "і": "i", "ї": "i", "є": "ye", "ґ": "g", "ў": "u", "ј": "j", "љ": "lj", "њ": "nj", "ћ": "c", "ђ": "dj", "џ": "dz",
    "α": "a", "β": "v", "γ": "g", "δ": "d", "ε": "e", "ζ": "z", "η": "i", "θ": "th", "ι": "i", "κ": "k", "λ": "l",
    "μ": "m", "ν": "n", "ξ": "x", "ο": "o", "π": "p", "ρ": "r", "σ": "s", "ς": "s", "τ": "t", "υ": "y", "φ": "ph",
    "χ": "ch", "ψ": "ps", "ω": "o", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d",
}  # fmt: skip
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

    >>> base_form("kept"), base_form("children"), base_form("walked")
    ('keep', 'child', 'walked')
    """
    return _base_forms().get(word, word)


def irregular_forms() -> frozenset[str]:
    """Return the irregular forms, with their base forms."""
    return frozenset(_base_forms())
