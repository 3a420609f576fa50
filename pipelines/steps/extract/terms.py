"""Choose the terms worth having among everything that an annotator saw: a name or a phrase that the corpus is about.

Three things count, in this order. Identifiers (options, functions, files; see storage/text/identifiers.py) and names of
people, places and things are terms by their form. A noun phrase is one by the evidence of the whole corpus:

- *C-value* (Frantzi, Ananiadou and Mima 2000, "Automatic recognition of multi-word terms"): how often it is said, less
  how often it is only a part of a longer term, times the logarithm of its length; with one more word, so that single
  words count too (Barron-Cedeno et al. 2009);
- *weirdness* (Ahmad, Gillam and Tostevin 1999, TREC-8): how much more often its words are said here than in
  the language at large. So a manual of a shell is about "shell", and no text is about "example".

What is left of a passage is capped at the best of it, because a passage that names more is a list or a table.
The choice is a function of all passages, made anew in every build.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import log2

import regex
from conspectus.storage.errors import MissingPart
from conspectus.storage.records import Chunk
from conspectus.storage.text.identifiers import IDENTIFIERS, identifiers
from conspectus.storage.text.language import function_words
from conspectus.storage.text.names import Word, words
from conspectus.storage.text.nlp import CONCEPT, Annotation, Phrase
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.words import NUMBER_WORDS, PARTICLES

LEAST_C_VALUE = 3.0
"""Least C-value of a noun phrase: said three times, or twice where it has several words."""
LEAST_WEIRDNESS = 8.0
"""A word said so many times more often than in the language at large is one of the subject's own."""
LEAST_OF_EACH = 2.0
"""A phrase is no term where one of its words is said about as often everywhere ("new alias", "first line")."""
WORDS_A_CONCEPT, WORDS_A_NAME = 20, 5
"""A passage holds at most one concept to so many of its words, and one name to so many: what names more is a table or
a list. (Articles of an encyclopedia name one thing in ten words.)"""
_FEWEST_A_PASSAGE = 4
_MOST_WORDS = 8
_MOST_WORDS_OF_CONCEPT = 4
_ENGLISH = frozenset({"", "en"})
_UNSEEN = 1e-7
"""Share of a word in a language whose list lacks it."""
_MARKUP = regex.compile(r"[|{}\[\]<>=\\\"#@;*^~`$%?]|://|\.{2,}|\n\s*\n")
_LETTERS = regex.compile(r"\p{L}{2}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}]")
_BEGINS = regex.compile(r"[.!?:\n\"“„«]")
_DATE = regex.compile(r"(?<!\d)(?:1\d{3}|20\d{2})(?!\d)|\p{L}{3}")


def choose_terms(
    chunks: Sequence[Chunk], annotations: Sequence[Annotation], languages: Sequence[str]
) -> list[Annotation]:
    """Return the annotations with the terms among their phrases, and the triples between these.

    Args:
        chunks: All passages of the corpus.
        annotations: What was seen in each.
        languages: The language of each as an ISO 639-1 code, "" where it is not known.
    """
    foreign = _foreign_words(languages)
    sound = [_sound(*each, foreign) for each in zip(chunks, annotations, languages, strict=True)]
    corpus = _Corpus(chunks, languages)
    terms = _terms(chunks, sound, corpus)
    return [_best(chunk, annotation, terms) for chunk, annotation in zip(chunks, sound, strict=True)]


@dataclass(frozen=True, slots=True)
class _Term:
    """What a key is taken for: its type, and its worth against other terms of a passage."""

    type: str
    worth: float


def _terms(chunks: Sequence[Chunk], annotations: Sequence[Annotation], corpus: "_Corpus") -> dict[str, _Term]:
    """Return the terms of a corpus by their keys."""
    places: defaultdict[str, set[tuple[str, int]]] = defaultdict(set)
    kinds: defaultdict[str, dict[tuple[str, int], str]] = defaultdict(dict)
    for chunk, annotation in zip(chunks, annotations, strict=True):
        for phrase in annotation.phrases:
            key, place = entity_key(phrase.text), (chunk.document_id, chunk.start + phrase.start)
            places[key].add(place)
            kinds[key].setdefault(place, phrase.type)
    frequency = {key: len(found) for key, found in places.items()}
    c_values = c_values_of(frequency)
    terms: dict[str, _Term] = {}
    for key, count in frequency.items():
        kind = majority(kinds[key].values())
        if kind in IDENTIFIERS and count < 2:
            continue
        if kind != CONCEPT and not corpus.is_common_word(key, kind):
            terms[key] = _Term(kind, count)
        elif c_values[key] >= LEAST_C_VALUE and corpus.is_about(key):
            terms[key] = _Term(CONCEPT, c_values[key])
    return terms


def majority(kinds: Iterable[str]) -> str:
    """Return the type that most mentions have, a name's before CONCEPT where as many are names, then by alphabet."""
    votes = Counter(kinds)
    named = sum(count for kind, count in votes.items() if kind != CONCEPT)
    if named * 2 < sum(votes.values()):
        return CONCEPT
    return min((kind for kind in votes if kind != CONCEPT), key=lambda kind: (-votes[kind], kind))


def c_values_of(frequency: Mapping[str, int]) -> dict[str, float]:
    """Return the C-value of each phrase, given how often each is said where no longer one of them is.

    log2(words + 1) * (f - the mean f of the longer phrases that it is part of), where f counts it within those too.

    >>> {key: round(value, 1) for key, value in c_values_of({"key": 2, "hash key": 3, "primary key": 1}).items()}
    {'key': 4.0, 'hash key': 4.8, 'primary key': 1.6}
    """
    parts = {key: tuple(key.split()) for key in frequency}
    key_of = {words_: key for key, words_ in parts.items()}
    longer: defaultdict[str, list[str]] = defaultdict(list)
    for key, own in parts.items():
        spans = {own[i:j] for i in range(len(own)) for j in range(i + 1, len(own) + 1)} - {own}
        for span in spans & key_of.keys():
            longer[key_of[span]].append(key)
    values = {}
    for key, own in parts.items():
        around = [frequency[item] for item in longer[key]]
        said = frequency[key] + sum(around) - (sum(around) / len(around) if around else 0)
        values[key] = log2(len(own) + 1) * said
    return values


class _Corpus:
    """How often each word is said in a corpus, and how often it would be in texts about anything.

    The languages' word lists are those of wordfreq (Speer 2022), its small ones: words said once in a million and more.
    """

    def __init__(self, chunks: Sequence[Chunk], languages: Sequence[str]) -> None:
        self._said: Counter[str] = Counter()
        self._named: Counter[str] = Counter()
        self._size: Counter[str] = Counter()
        for chunk, language in zip(chunks, languages, strict=True):
            end = 0
            for word in words(chunk.text):
                self._said[word.key] += 1
                begins = end == 0 or _BEGINS.search(chunk.text, end, word.start)
                self._named[word.key] += chunk.text[word.start].isupper() and not begins
                self._size[language] += 1
                end = word.end

    def weirdness(self, word: str) -> float:
        """Return how many times more often a word is said than in texts about anything."""
        return self._said[word] / max(self._usual(word), _UNSEEN * self._size.total())

    def _usual(self, word: str) -> float:
        return sum(size * _shares(language).get(word, 0.0) for language, size in self._size.items())

    def is_about(self, key: str) -> bool:
        """Return whether the words of a phrase show that the corpus is about it."""
        of_each = [self.weirdness(word.key) for word in words(key) if not word.key.isdigit()]
        return bool(of_each) and max(of_each) >= LEAST_WEIRDNESS and min(of_each) >= LEAST_OF_EACH

    def is_common_word(self, key: str, kind: str) -> bool:
        """Return whether a name is one word that the corpus mostly writes small, but where a sentence or line begins.

        A word that the language at large does not know is a name even so.
        """
        found = words(key)
        if kind in IDENTIFIERS or len(found) != 1:
            return False
        word = found[0].key
        return self._named[word] * 3 < self._said[word] and self._usual(word) > 0


@cache
def _shares(language: str) -> Mapping[str, float]:
    """Return how large a share of a language each common word is; an unknown language counts as English."""
    try:
        import wordfreq
    except ImportError as error:
        raise MissingPart("the word lists of wordfreq are not installed: pip install wordfreq") from error
    known = wordfreq.available_languages("small")
    if not language:
        language = "en"
    return wordfreq.get_frequency_dict(language, "small") if language in known else {}


def _foreign_words(languages: Sequence[str]) -> frozenset[str]:
    """Return the function words of the languages other than English that a tenth of the passages are in."""
    found = Counter(languages)
    common = [
        language for language, count in found.items() if count * 10 >= len(languages) and language not in _ENGLISH
    ]
    return frozenset().union(*(function_words(language) for language in common))


def _sound(chunk: Chunk, annotation: Annotation, language: str, foreign: frozenset[str]) -> Annotation:
    """Return an annotation with identifiers, and without phrases that can be no name of anything."""
    coded = list(identifiers(chunk.text))
    small = function_words(language or "en") | PARTICLES
    stands_for: dict[Phrase, Phrase | None] = {}
    for phrase in annotation.phrases:
        inside = [item for item in coded if item.start < phrase.end and phrase.start < item.end]
        if not inside:
            stands_for[phrase] = _trimmed(phrase, small, foreign)
        elif len(inside) == 1 and inside[0].type and phrase.start <= inside[0].start and inside[0].end <= phrase.end:
            stands_for[phrase] = inside[0]  # "the --all option" is the option
    return _with_phrases(annotation, stands_for, [item for item in coded if item.type])


def _with_phrases(
    annotation: Annotation, stands_for: Mapping[Phrase, Phrase | None], more: Iterable[Phrase] = ()
) -> Annotation:
    phrases = {(phrase.start, phrase.end): phrase for phrase in (*more, *stands_for.values()) if phrase}
    triples = []
    for triple in annotation.triples:
        subject, object_ = stands_for.get(triple.subject), stands_for.get(triple.object)
        if subject and object_ and subject != object_:
            triples.append(replace(triple, subject=subject, object=object_))
    return Annotation(tuple(phrases[span] for span in sorted(phrases)), tuple(triples))


def _trimmed(phrase: Phrase, small: frozenset[str], foreign: frozenset[str]) -> Phrase | None:
    """Return a phrase without function words and numbers at its ends; None where nothing worth a name is left."""
    concept = phrase.type == CONCEPT or phrase.text == phrase.text.lower() != phrase.text.upper()
    found = words(phrase.text)
    first, last = 0, len(found) - 1
    while first <= last and _is_idle(phrase.text, found[first], small, foreign, concept):
        first += 1
    while first <= last and _is_idle(phrase.text, found[last], small, foreign, concept):
        last -= 1
    if first > last or last - first >= (_MOST_WORDS_OF_CONCEPT if concept else _MOST_WORDS):
        return None
    if all(word.key in small for word in found[first : last + 1]) and not phrase.text.isupper():
        return None
    start = found[first].start if first else 0
    end = found[last].end if last < len(found) - 1 else len(phrase.text)
    text = phrase.text[start:end]
    if concept:
        text, start = phrase.text[found[first].start : found[last].end], found[first].start
    if _MARKUP.search(text) or not _LETTERS.search(text) or (phrase.type == "DATE" and not _DATE.search(text)):
        return None
    if not concept and 2 * sum(word.key.isdigit() for word in words(text)) > len(words(text)) and phrase.type != "DATE":
        return None
    kind = CONCEPT if concept else phrase.type
    return Phrase(phrase.start + start, phrase.start + start + len(text), text, kind)


def _is_idle(text: str, word: Word, small: frozenset[str], foreign: frozenset[str], concept: bool) -> bool:
    written = text[word.start : word.end]
    if concept:
        return word.key in small or word.key in NUMBER_WORDS or written.isdigit() or len(written) == 1
    return word.key in foreign or (word.key in small and written == written.lower())


def _best(chunk: Chunk, annotation: Annotation, terms: Mapping[str, _Term]) -> Annotation:
    """Return the terms of an annotation, as many of them as its passage is long enough for, the most worth first."""
    size = len(words(chunk.text))
    found = {key: terms[key] for phrase in annotation.phrases if (key := entity_key(phrase.text)) in terms}
    names = [key for key, term in found.items() if term.type != CONCEPT]
    concepts = [key for key, term in found.items() if term.type == CONCEPT]
    kept: set[str] = set()
    for keys, room in ((names, size // WORDS_A_NAME), (concepts, size // WORDS_A_CONCEPT)):
        ranked = sorted(keys, key=lambda key: (-found[key].worth, key))
        kept.update(ranked[: max(room, _FEWEST_A_PASSAGE)])
    stands_for: dict[Phrase, Phrase | None] = {}
    for phrase in annotation.phrases:
        key = entity_key(phrase.text)
        stands_for[phrase] = replace(phrase, type=found[key].type) if key in kept else None
    return _with_phrases(annotation, stands_for)
