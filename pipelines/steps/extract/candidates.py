"""Select the phrases of an annotation that can be names at all, by form and by the function words of the language.

Identifiers are found here (see storage/text/identifiers.py). Numbers, references to sections and tables, pieces of
markup and code, and words that only join others are left out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import regex
from conspectus.storage.text.identifiers import identifiers
from conspectus.storage.text.language import function_words
from conspectus.storage.text.language_tables import word_set
from conspectus.storage.text.names import UNSPACED, Word, words
from conspectus.storage.text.nlp import CONCEPT, Annotation, Phrase, Triple
from conspectus.storage.text.words import FUNCTION_WORDS, NUMBER_WORDS, PARTICLES

_MOST_WORDS = 8
_MOST_WORDS_OF_CONCEPT = 4
_MOST_COMMAS = 1
"""A comma in a name, as in "Paris, Texas"; more of them make a list."""
_POINTING = frozenset("following same other another several various certain many different above-mentioned".split())
"""Words that point at a thing and are not part of its name."""
_ENGLISH = frozenset({"", "en"})
_KEPT_PHRASES = 30_000
"""Phrases whose trimmed form is kept in memory: .5 kB each."""
_MARKUP = regex.compile(r"[|{}\[\]<>=\\\"#@;*^~`$%?]|://|\.{2,}|\n\s*\n|^[^(]*\)|\([^)]*$")
_SIGNS = re.compile(r"[^\w ,'’-]")
"""Some sign that all markup has: found in a tenth of the time."""
_LETTERS = regex.compile(r"\p{L}{2}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_DATE = regex.compile(
    r"(?<!\d)(?:1\d{3}|20\d{2})(?!\d)|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\p{L}*\b|\b\d{2}s\b",
    regex.IGNORECASE,
)
_PARTS_OF_DOCUMENTS = word_set("parts of documents")
_REFERENCE = regex.compile(
    r"\p{L}+(?:(?:\W+(?:and|or|to|und|oder|bis|et|y))?"
    r"(?:\W*\d[\d.]*\p{L}?|\W+(?:\p{L}?\d[\d.]*\p{L}?|\p{L}|[ivx]+))(?!\w))+\W*",
    regex.IGNORECASE,
)
"""Numbers and letters after a word of `_PARTS_OF_DOCUMENTS`: "Section 3.1", "Figures 2a and 2b", "Part II"."""


def common_foreign_words(languages: Sequence[str]) -> frozenset[str]:
    """Return the function words of all languages, except English, of at least a tenth of the passages."""
    found = Counter(languages)
    common = [each for each, count in found.items() if count * 10 >= len(languages) and each not in _ENGLISH]
    return frozenset().union(*(function_words(language) for language in common))


def candidates(text: str, annotation: Annotation, language: str, foreign: frozenset[str]) -> Annotation:
    """Return an annotation with identifiers, and without phrases that cannot be names.

    A phrase about one identifier ("the --all option") becomes the identifier, in triples too.

    Args:
        text: The annotated text.
        annotation: The annotation to filter.
        language: Its language as an ISO 639-1 code, "" if unknown.
        foreign: Function words of the corpus's other languages, which do not begin or end a name either.
    """
    coded = list(identifiers(text))
    stands_for: dict[Phrase, Phrase | None] = {}
    for phrase in annotation.phrases:
        inside = [item for item in coded if item.start < phrase.end and phrase.start < item.end] if coded else None
        if not inside:
            stands_for[phrase] = _in_place(_trimmed(phrase.text, phrase.type, language or "en", foreign), phrase)
        elif len(inside) == 1 and inside[0].type and phrase.start <= inside[0].start and inside[0].end <= phrase.end:
            stands_for[phrase] = inside[0]
    return with_phrases(annotation, stands_for, [item for item in coded if item.type])


@lru_cache(maxsize=100)
def _idle_words(language: str, foreign: frozenset[str]) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return the words at which names, those at which names in any case, and those at which noun phrases cannot end.

    The same holds for their beginning. English words are always among them.
    """
    if language not in _ENGLISH:
        foreign |= FUNCTION_WORDS
    small = function_words(language) | FUNCTION_WORDS | PARTICLES
    return small, foreign, small | foreign | _POINTING | NUMBER_WORDS.keys()


def _in_place(trimmed: Phrase | None, phrase: Phrase) -> Phrase | None:
    """Return what is left of a phrase, at its place in the text."""
    if trimmed is None or (trimmed.text == phrase.text and trimmed.type == phrase.type):
        return trimmed and phrase
    return Phrase(phrase.start + trimmed.start, phrase.start + trimmed.end, trimmed.text, trimmed.type)


def with_phrases(
    annotation: Annotation, stands_for: Mapping[Phrase, Phrase | None], more: Iterable[Phrase] = ()
) -> Annotation:
    """Return an annotation with its phrases replaced; a phrase without a replacement is dropped with its triples.

    Args:
        annotation: The annotation.
        stands_for: The new phrase of each old one. Of several at one place the last stays.
        more: Further phrases.
    """
    phrases = {(phrase.start, phrase.end): phrase for phrase in (*more, *stands_for.values()) if phrase}
    stay = set(phrases.values())
    triples = []
    for old, predicate, other, start, end in annotation.triples:
        subject, object_ = stands_for.get(old), stands_for.get(other)
        if subject in stay and object_ in stay and subject != object_:
            triples.append(Triple(subject, predicate, object_, start, end))
    return Annotation(tuple(phrases[span] for span in sorted(phrases)), tuple(triples))


@lru_cache(_KEPT_PHRASES)
def _trimmed(text: str, kind: str, language: str, other_words: frozenset[str]) -> Phrase | None:
    """Return a phrase without function words and numbers at its ends; None if no usable name is left.

    Its offsets are those in the phrase.
    """
    small, foreign, idle = _idle_words(language, other_words)
    concept = kind == CONCEPT or text == text.lower() != text.upper()
    found = words(text)
    if language not in _ENGLISH and not concept and (kind == "FAC" or UNSPACED.search(text)):
        small = foreign = frozenset()  # "via" begins the name of a street; in 云溪县 each character is one of some word
    first, last = 0, len(found) - 1
    if kind == "DATE":
        return Phrase(0, len(text), text, kind) if _is_sound(text, found, kind) else None
    while first <= last and _is_idle(text, found[first], idle if concept else small, foreign, concept, first=True):
        first += 1
    while first <= last and _is_idle(text, found[last], idle if concept else small, foreign, concept, first=False):
        last -= 1
    kept = found[first : last + 1]
    if not kept or len(kept) > (_MOST_WORDS_OF_CONCEPT if concept else _MOST_WORDS):
        return None
    if all(word.key in small for word in kept) and not text.isupper():
        return None
    start = kept[0].start
    end = kept[-1].end if concept or last < len(found) - 1 else len(text)
    if not concept and text[:start] == ".":  # .NET
        start = 0
    if not _is_sound(text[start:end], kept, kind):
        return None
    return Phrase(start, end, text[start:end], CONCEPT if concept else kind)


def _is_idle(
    text: str, word: Word, small: frozenset[str], foreign: frozenset[str], concept: bool, *, first: bool
) -> bool:
    """Return whether a word at the end of a phrase is not part of a name."""
    written = text[word.start : word.end]
    if concept:
        return word.key in small or written.isdigit() or len(written) == 1
    if first and written.isdigit():  # the number of a section before its heading; but "10 Downing Street" and dates
        return text[word.end : word.end + 1] in {".", ")"} or len(written) < 3
    return word.key in foreign or (word.key in small and written == written.lower())


def _is_sound(text: str, found: Sequence[Word], kind: str) -> bool:
    """Return whether a phrase may be a name: it has letters, and is not markup, a number or a section reference."""
    has_letters = (len(text) > 1 and text[:2].isalpha()) or _LETTERS.search(text)
    if (_SIGNS.search(text) and _MARKUP.search(text)) or not has_letters or text.count(",") > _MOST_COMMAS:
        return False
    if kind == "DATE":
        return _DATE.search(text) is not None
    numbers = sum(word.key.isdigit() for word in found)
    return 2 * numbers <= len(found) and not _is_reference(text, found)


def _is_reference(text: str, found: Sequence[Word]) -> bool:
    """Return whether a phrase is a reference to a part of a document.

    >>> [_is_reference(text, words(text)) for text in ("Figure 3a", "Part II", "Stephen King", "page cache")]
    [True, True, False, False]
    """
    first = found[0].key.rstrip("0123456789")
    is_part = first in _PARTS_OF_DOCUMENTS or first.removesuffix("s") in _PARTS_OF_DOCUMENTS
    return is_part and _REFERENCE.fullmatch(text) is not None
