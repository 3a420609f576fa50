"""Languages of documents and questions: detection, and the function words of each language.

Detection is py3langid's (Lui and Baldwin 2012, "langid.py: an off-the-shelf language identification tool"): naive Bayes
over byte n-grams, in a model of 5 MB that is part of the package. The lists of function words are spaCy's.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path
from typing import TYPE_CHECKING

import regex
from conspectus.storage.records import LANGUAGE
from conspectus.storage.text.names import UNSPACED, words
from conspectus.storage.text.words import FUNCTION_WORDS, PARTICLES, REQUESTS

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "km", "my"})
"""Languages whose words are not separated by spaces."""

_DECLARED = "language"
"""The metadata key under which readers store the language that a document declares: "de-DE", "en"."""
_SURE = 0.5
"""Lowest probability of a detected language. Over lines of the development collections, wrong guesses are code and
tables, with lower values."""
_SURE_AMONG = 0.7
"""Lowest probability if there are few languages to choose from."""
_LEAST_LETTERS = 12
"""Shorter texts in one script are more often names and labels than sentences."""
_SAMPLE = 3_000
"""Characters examined at each of three places of a long text."""
_NO_LANGUAGE = "zxx"
"""The ISO 639-2 code for content without a language, which the model also uses."""
_LETTER = regex.compile(r"\p{L}")


def detect(text: str, among: Collection[str] = ()) -> str:
    """Return the language of a text; "" if it is too short or the language is not clear.

    Args:
        text: A sentence or more. Of a long text, the beginning, the middle and the end are examined.
        among: The codes to choose from; by default all languages with an ISO 639-1 code.

    Returns:
        An ISO 639-1 code.

    Example:
        >>> detect("Der Wärter schreibt jeden Abend in das Logbuch."), detect("0x3f 12; 0x40 13;")
        ('de', '')
    """
    sample = _sampled(text)
    least = 1 if UNSPACED.search(sample) else _LEAST_LETTERS
    if len(_LETTER.findall(sample)) < least:
        return ""
    ranked: list[tuple[str, float]] = [(label, float(share)) for label, share in _identifier().rank(sample)]
    if among:
        ranked = [(label, share) for label, share in ranked if label in among]
        total = sum(share for _, share in ranked)
        ranked = [(label, share / total) for label, share in ranked] if total else []
    if not ranked:
        return ""
    best, share = ranked[0]
    return best if best != _NO_LANGUAGE and share >= (_SURE_AMONG if among else _SURE) else ""


def language_of(text: str, metadata: Mapping[str, str]) -> str:
    """Return the language of a document: from its metadata, else detected from its text; "" if neither works.

    The declared language ("language") comes last: untranslated pages of a translation declare the language of the
    translated ones.

    >>> language_of("12 30", {"language": "fr-FR"})
    'fr'
    """
    return code_of(metadata.get(LANGUAGE, "")) or detect(text) or code_of(metadata.get(_DECLARED, ""))


@lru_cache(maxsize=1_000)
def code_of(tag: str) -> str:
    """Return the ISO 639-1 code at the beginning of a language tag ("de-AT", "pt_BR"); "" if there is none.

    Equal tags give one string: a build keeps the language of each passage, and a million strings among what a step
    needs for a while would keep that memory from going back to the system.

    >>> code_of("de-AT"), code_of("German")
    ('de', '')
    """
    code = regex.split(r"[-_]", tag.strip().lower(), maxsplit=1)[0]
    return code if regex.fullmatch(r"[a-z]{2}", code) else ""


_OWN_SCRIPT = tuple(
    (language, regex.compile(rf"\p{{{script}}}"))
    for language, script in (("ko", "Hangul"), ("th", "Thai"), ("ja", "Hiragana"), ("ja", "Katakana"), ("el", "Greek"))
)


_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")


@lru_cache(maxsize=1_000)
def language_of_question(question: str, among: tuple[str, ...]) -> str:
    """Return the language of a question out of several; "" if it is not clear.

    It is the language with the most function words in the question. The model, which takes a second to load, only
    breaks ties; a question without function words has no language, unless its script belongs to one.

    >>> language_of_question("Wie werden Pakete installiert?", ("en", "de"))
    'de'
    """
    keys = {word.key for word in words(question) if len(word.key) > 2 or len(question) > 4}  # "hi" is in a French list
    votes = {language: len(keys & function_words(language)) for language in among}
    if "en" in votes:  # "list all" has no other word of English, and "all" is Italian too
        votes["en"] += len(keys & (PARTICLES | REQUESTS))
    if "zh" in votes and _KANA.search(question):
        votes["zh"] = 0  # most words of the list are one character, which Japanese has too
    most = max(votes.values(), default=0)
    best = [language for language, count in votes.items() if count == most]
    if not most:
        return next((language for language, script in _OWN_SCRIPT if language in among and script.search(question)), "")
    return best[0] if len(best) == 1 else detect(question, best)


@cache
def function_words(language: str) -> frozenset[str]:
    """Return the stop words of a language, case-folded: our own for English, else spaCy's; empty if there are none.

    >>> "der" in function_words("de"), "the" in function_words("en"), function_words("xx")
    (True, True, frozenset())
    """
    if language == "en":
        return FUNCTION_WORDS
    # The lists are read without importing spaCy, which takes a second.
    spacy = find_spec("spacy")
    if not regex.fullmatch(r"[a-z]{2}", language) or spacy is None or spacy.origin is None:
        return frozenset()
    path = Path(spacy.origin).parent / "lang" / language / "stop_words.py"
    if not path.is_file():
        return frozenset()
    loader = SourceFileLoader(f"_stop_words_{language}", str(path))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return frozenset(word.key for item in module.STOP_WORDS for word in words(item))


ENGLISH_ENCODER, MULTILINGUAL_ENCODER = "all-MiniLM-L6-v2", "universal-sentence-encoder-multilingual-3"
"""The packaged encoders."""
LANGUAGES_OF = {
    ENGLISH_ENCODER: frozenset({"en"}),
    MULTILINGUAL_ENCODER: frozenset("ar de en es fr it ja ko nl pl pt ru th tr zh".split()),
}
"""The languages on which each was trained."""
_FEW = 0.2
"""Largest share of texts in other languages beside English ones for which the English encoder is chosen."""


def share_known(encoder: str, languages: Sequence[str]) -> float:
    """Return the share of texts in languages that an encoder is known to support, 0 to 1.

    Texts without a language are ignored. The languages of an encoder that is not packaged are unknown, and all count
    as supported.

    >>> share_known("all-MiniLM-L6-v2", ["en", "de", "de", ""]), share_known("multilingual-e5-small", ["de"])
    (0.3333333333333333, 1.0)
    """
    named = [language for language in languages if language]
    known = LANGUAGES_OF.get(encoder)
    return sum(language in known for language in named) / len(named) if named and known else 1.0


def encoder_for(languages: Sequence[str]) -> str:
    """Return the packaged encoder for texts in some languages: the English one unless many are in others that the
    multilingual one knows.

    >>> encoder_for(["en", "en", ""]), encoder_for(["en", "de"]), encoder_for(["el", "hi"])
    ('all-MiniLM-L6-v2', 'universal-sentence-encoder-multilingual-3', 'all-MiniLM-L6-v2')
    """
    gained = share_known(MULTILINGUAL_ENCODER, languages) - share_known(ENGLISH_ENCODER, languages)
    return MULTILINGUAL_ENCODER if gained > _FEW else ENGLISH_ENCODER


def unknown_to_encoder(encoder: str, languages: Sequence[str]) -> str:
    """Return the warning that many texts are in languages that the encoder does not support; "" if they are not."""
    unknown = 1 - share_known(encoder, languages)
    gains = encoder == ENGLISH_ENCODER and encoder_for(languages) == MULTILINGUAL_ENCODER
    if unknown < 0.5 and not gains:
        return ""
    others = [language for language in languages if language and language not in LANGUAGES_OF[encoder]]
    first = max(sorted(set(others)), key=others.count)
    advice = (
        f"to find them too, build the index anew in another folder, or with embedding.model={MULTILINGUAL_ENCODER}"
        if gains
        else "for another encoder set embedding.model to the folder of one (such as intfloat/multilingual-e5-small), "
        "or embedding.provider=endpoint"
    )
    return (
        f"{unknown:.0%} of the texts are in languages that the encoder {encoder} does not know (most: {first}): "
        f"similar meanings are found less well than words; {advice}"
    )


def _sampled(text: str) -> str:
    if len(text) <= 3 * _SAMPLE:
        return text
    middle = (len(text) - _SAMPLE) // 2
    return f"{text[:_SAMPLE]}\n{text[middle : middle + _SAMPLE]}\n{text[-_SAMPLE:]}"


@cache
def _identifier() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    found = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    found.set_languages([label for label in found.labels if len(label) == 2 or label == _NO_LANGUAGE])
    return found
