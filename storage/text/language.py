"""Languages of documents and questions: what a text is written in, and the function words of a language.

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
from conspectus.storage.text.names import UNSPACED, words
from conspectus.storage.text.words import FUNCTION_WORDS

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

LANGUAGE = "lang"
"""The key of a document's metadata under which its language is kept, as an ISO 639-1 code."""

UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "km", "my"})
"""Languages whose words are not separated by spaces."""

_DECLARED = "language"
"""The key under which readers keep what a document says of itself: "de-DE", "en"."""
_SURE = 0.5
"""Least probability of a language. Over lines of the development collections, wrong guesses are code and tables, and
lie below."""
_SURE_AMONG = 0.7
"""Least probability where the languages to choose from are few."""
_LEAST_LETTERS = 12
"""Shorter texts of one script are names and labels more often than sentences."""
_SAMPLE = 3_000
"""Characters that are looked at in each of three places of a long text."""
_NO_LANGUAGE = "zxx"
"""The code of ISO 639-2 for content without a language, which the model knows too."""
_LETTER = regex.compile(r"\p{L}")


def detect(text: str, among: Collection[str] = ()) -> str:
    """Return the language of a text; "" where it is too short or the language is not clear.

    Args:
        text: A sentence or more. Of a long text the beginning, the middle and the end are looked at.
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
    """Return the language of a document: as its metadata has it, else as its text shows; "" where neither tells.

    What a document declares of itself ("language") goes last: pages of a translation that are not translated yet
    declare the language of the others.

    >>> language_of("12 30", {"language": "fr-FR"})
    'fr'
    """
    return code_of(metadata.get(LANGUAGE, "")) or detect(text) or code_of(metadata.get(_DECLARED, ""))


def code_of(tag: str) -> str:
    """Return the ISO 639-1 code that a language tag begins with ("de-AT", "pt_BR"); "" where it has none.

    >>> code_of("de-AT"), code_of("German")
    ('de', '')
    """
    code = regex.split(r"[-_]", tag.strip().lower(), maxsplit=1)[0]
    return code if regex.fullmatch(r"[a-z]{2}", code) else ""


@lru_cache(maxsize=1_000)
def language_of_question(question: str, among: tuple[str, ...]) -> str:
    """Return which of some languages a question is asked in; "" where it does not show.

    It is the language most of whose function words stand in the question. The model, which takes a second to load, is
    asked only where two languages have as many; a question without function words has no language.

    >>> language_of_question("Wie werden Pakete installiert?", ("en", "de"))
    'de'
    """
    keys = {word.key for word in words(question)}
    votes = {language: len(keys & function_words(language)) for language in among}
    most = max(votes.values(), default=0)
    best = [language for language, count in votes.items() if count == most]
    return "" if not most else best[0] if len(best) == 1 else detect(question, best)


@cache
def function_words(language: str) -> frozenset[str]:
    """Return the stop words of a language, case-folded: our own for English, else spaCy's; none where it has none.

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


ENGLISH_ENCODER = "all-MiniLM-L6-v2"
"""The packaged encoder, which was trained on English."""


def share_known(encoder: str, languages: Sequence[str]) -> float:
    """Return the share of texts whose language an encoder is known to know, 0 to 1.

    Texts without a language are left out. The packaged encoder knows English. What another one knows is not known here,
    and counts as all.

    >>> share_known("all-MiniLM-L6-v2", ["en", "de", "de", ""]), share_known("multilingual-e5-small", ["de"])
    (0.3333333333333333, 1.0)
    """
    named = [language for language in languages if language]
    return named.count("en") / len(named) if named and encoder == ENGLISH_ENCODER else 1.0


def unknown_to_encoder(encoder: str, languages: Sequence[str]) -> str:
    """Return the warning that most texts are in languages that the encoder does not know; "" where they are not."""
    if share_known(encoder, languages) >= 0.5:
        return ""
    others = [language for language in languages if language not in ("", "en")]
    first = max(sorted(set(others)), key=others.count)
    share = len(others) / sum(map(bool, languages))
    return (
        f"{share:.0%} of the texts are not in English (most: {first}), which is what {encoder} knows: similar meanings "
        f"are found less well than words. For a multilingual encoder set embedding.model to the folder of one (such as "
        f"intfloat/multilingual-e5-small), or embedding.provider=endpoint"
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
