"""The words of questions for complete answers, from `words.txt`: languages side by side.

Words are compared by keys that leave out how languages write them: every character is a word in Chinese and Japanese,
every syllable in Korean, where spaces and endings are written in several ways.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cache

import regex
from conspectus.storage.text.language import function_words
from conspectus.storage.text.language_tables import by_language
from conspectus.storage.text.names import UNSPACED, word_keys

LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "tr", "zh", "ja", "ko", "ar")
DECIMAL_COMMA = frozenset(("de", "fr", "es", "it", "pt", "nl", "pl", "ru", "tr"))
"""Languages that write 1,5 for one and a half."""
MONTHS = "january february march april may june july august september october november december".split()
BEHIND = "behind"
"""The role of phrases that stand behind what they belong to: 以上, kadar."""
JOINED = "\u2060"
"""Before a word that is written without a space after another one."""
CHARACTER = regex.compile(rf"\p{{Hangul}}|(?!\p{{Katakana}}|ー){UNSPACED.pattern}")
"""What is a word of a question; a stretch of Katakana is one."""
_WITHIN = regex.compile(r"(?<=\p{Hangul})(?=\p{Hangul})")
_ALIKE = str.maketrans({"ı": "i", "İ": "i", "ё": "е", "Ё": "е", "أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي"})
_APART = frozenset(("small", "unit", "counter", "request"))
OF_COLUMN = " column"
"""The end of roles of words that a column is called by, and other words than phrases of questions."""

Phrase = tuple[str, ...]
"""The keys of the words of a phrase."""


def keys_of(text: str) -> Phrase:
    """Return the keys by which the words of a text are compared.

    >>> keys_of("İstasyon sayısı"), keys_of("몇 대"), keys_of("何台")
    (('istasyon', 'sayisi'), ('몇', '대'), ('何', '台'))
    """
    return tuple(word_keys(text if text.isascii() else _WITHIN.sub(" ", text.translate(_ALIKE))))


def _texts(role: str, language: str) -> list[str]:
    """Return the phrases of a role in a language."""
    own = by_language("conspectus.query.methods.complete", "words.txt")[role].get(language, "")
    return [text for text in map(str.strip, own.split(",")) if text]


@cache
def phrases(language: str) -> Mapping[Phrase, frozenset[str]]:
    """Return the roles of each phrase of a language.

    The keys of a phrase that only ends a word begin with `JOINED`.

    >>> sorted(phrases("de")["wie", "viele"]), sorted(phrases("zh")["以", "上"])
    (['count'], ['at least', 'behind'])
    """
    found: defaultdict[Phrase, set[str]] = defaultdict(set)
    for role in by_language("conspectus.query.methods.complete", "words.txt").keys() - _APART:
        if role.endswith(OF_COLUMN):
            continue
        for text in _texts(role, language):
            keys = keys_of(text)
            roles = found[(f"{JOINED}{keys[0]}", *keys[1:]) if text.startswith("-") else keys]
            roles.add("month" if role in MONTHS else role)
            roles |= {BEHIND} if text.startswith("~") else set()
    return {phrase: frozenset(roles) for phrase, roles in found.items()}


@cache
def words_of(role: str, languages: Collection[str] = LANGUAGES) -> frozenset[Phrase]:
    """Return the phrases of a role in some languages.

    >>> ("gesamt",) in words_of("totals"), ("gesamt",) in words_of("totals", ("en",))
    (True, False)
    """
    return frozenset(keys_of(text) for each in languages for text in _texts(role, each))


@cache
def small_words(language: str) -> frozenset[str]:
    """Return the words of a language that may stand anywhere: prepositions, articles and the like."""
    if language in ("en", "de", "fr", "es"):
        return function_words(language)
    return frozenset(key for phrase in words_of("small", (language,)) for key in phrase)


@cache
def month_numbers() -> Mapping[str, str]:
    """Return the English name of each month by the key of its name in each language."""
    return {keys[0]: name for name in MONTHS for keys in words_of(name) if len(keys) == 1 and keys[0].isalpha()}


def has_word(name: str, role: str) -> bool:
    """Return whether a name has a word of a role; a single character of Chinese is one only if it is the whole name.

    >>> has_word("unit_price", "price"), has_word("出版年份", "key"), has_word("年龄", "key")
    (True, True, False)
    """
    keys = keys_of(name.replace("_", " "))
    parts = (keys[first:last] for first in range(len(keys)) for last in range(first + 1, len(keys) + 1))
    return any(part in words_of(role) and (part == keys or not is_character(part)) for part in parts)


def is_character(keys: Phrase) -> bool:
    """Return whether keys are a single character of a script in which words have several."""
    return len(keys) == 1 and len(keys[0]) == 1 and CHARACTER.match(keys[0]) is not None


def joined(tokens: Iterable[str]) -> str:
    """Return the words of a question as they are written there.

    >>> joined(["有", f"{JOINED}多", f"{JOINED}少"])
    '有多少'
    """
    return " ".join(tokens).replace(f" {JOINED}", "").removeprefix(JOINED)


def without_request(question: str) -> str:
    """Return a question without the request that it begins with, which looks like a question of yes or no.

    >>> without_request("Could you tell me who rowed?"), without_request("Kannst du mir sagen, wer ruderte?")
    ('who rowed?', 'wer ruderte?')
    """
    start = question.lstrip(" ¿¡").casefold().replace(",", " ")
    said = max(
        (text for each in LANGUAGES for text in _texts("request", each) if start.startswith(f"{text} ")),
        key=len,
        default="",
    )
    return question.lstrip(" ¿¡")[len(said) :].lstrip(" ,") if said else question
