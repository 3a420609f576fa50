"""Choose the terms worth having among everything that an annotator saw: a name or a phrase that the corpus is about.

Three things count, in this order. Identifiers (options, functions, files; see storage/text/identifiers.py) and names of
people, places and things are terms by their form; what documents list in their headings and indexes are terms by their
word. Another noun phrase is one by the evidence of the whole corpus:

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
from conspectus.pipelines.steps.extract.candidates import candidates, common_foreign_words, with_phrases
from conspectus.storage.errors import MissingPart
from conspectus.storage.records import Chunk, Document
from conspectus.storage.text.identifiers import IDENTIFIERS
from conspectus.storage.text.names import words
from conspectus.storage.text.nlp import CONCEPT, Annotation, Phrase
from conspectus.storage.text.normalise import entity_key

LEAST_C_VALUE = 3.0
"""Least C-value of a noun phrase: said three times, or twice where it has several words."""
LEAST_WEIRDNESS = 8.0
"""A word said so many times more often than in the language at large is one of the subject's own."""
LEAST_OF_A_LONE_WORD = 20.0
"""A phrase of one word must show more: "value" and "line" are said ten times more often in any manual."""
LEAST_OF_EACH = 2.0
"""A phrase is no term where one of its words is said about as often everywhere ("new alias", "first line")."""
WORDS_A_CONCEPT, WORDS_A_NAME = 20, 5
"""A passage holds at most one concept to so many of its words, and one name to so many: what names more is a table or
a list. (Articles of an encyclopedia name one thing in ten words.)"""
_FEWEST_CONCEPTS, _FEWEST_NAMES = 4, 12
"""Of a short passage: a sentence or two may well introduce a dozen people."""
_UNSEEN = 1e-7
"""Share of a word in a language whose list lacks it."""
_BEGINS = regex.compile(r"[.!?:\n\"“„«]")


def choose_terms(
    chunks: Sequence[Chunk],
    annotations: Sequence[Annotation],
    languages: Sequence[str],
    documents: Sequence[Document] = (),
) -> list[Annotation]:
    """Return the annotations with the terms among their phrases, and the triples between these.

    Args:
        chunks: All passages of the corpus.
        annotations: What was seen in each.
        languages: The language of each as an ISO 639-1 code, "" where it is not known.
        documents: The documents, whose headings and indexes list terms of their own.
    """
    foreign = common_foreign_words(languages)
    sound = [
        candidates(chunk.text, annotation, language, foreign)
        for chunk, annotation, language in zip(chunks, annotations, languages, strict=True)
    ]
    corpus = _Corpus(chunks, languages)
    terms = _terms(chunks, sound, corpus, listed_terms(documents))
    return [_best(chunk, annotation, terms) for chunk, annotation in zip(chunks, sound, strict=True)]


@dataclass(frozen=True, slots=True)
class _Term:
    """What a key is taken for: its type, and its worth against other terms of a passage."""

    type: str
    worth: float


_NUMBERING = regex.compile(r"^[\d.\s]+")
_HEADING, _INDEX = "heading", "index"


def listed_terms(documents: Sequence[Document]) -> frozenset[str]:
    """Return the keys of what documents list themselves: their headings, and the entries of their indexes."""
    headings = (place.label for document in documents for place in document.places if place.kind == _HEADING)
    entries = (
        document.text[link.start : link.end]
        for document in documents
        for link in document.hyperlinks
        if link.kind == _INDEX
    )
    return frozenset(entity_key(_NUMBERING.sub("", each)) for each in (*headings, *entries))


def _terms(
    chunks: Sequence[Chunk], annotations: Sequence[Annotation], corpus: "_Corpus", listed: frozenset[str]
) -> dict[str, _Term]:
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
        elif key in listed or (c_values[key] >= LEAST_C_VALUE and corpus.is_about(key)):
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
        least = LEAST_WEIRDNESS if len(of_each) > 1 else LEAST_OF_A_LONE_WORD
        return bool(of_each) and max(of_each) >= least and min(of_each) >= LEAST_OF_EACH

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


def _best(chunk: Chunk, annotation: Annotation, terms: Mapping[str, _Term]) -> Annotation:
    """Return the terms of an annotation, as many of them as its passage is long enough for, the most worth first."""
    size = len(words(chunk.text))
    found = {key: terms[key] for phrase in annotation.phrases if (key := entity_key(phrase.text)) in terms}
    names = [key for key, term in found.items() if term.type != CONCEPT]
    concepts = [key for key, term in found.items() if term.type == CONCEPT]
    kept: set[str] = set()
    room_of_names = max(size // WORDS_A_NAME, _FEWEST_NAMES)
    room_of_concepts = max(size // WORDS_A_CONCEPT, _FEWEST_CONCEPTS)
    for keys, room in ((names, room_of_names), (concepts, room_of_concepts)):
        ranked = sorted(keys, key=lambda key: (-found[key].worth, key))
        kept.update(ranked[:room])
    stands_for: dict[Phrase, Phrase | None] = {}
    for phrase in annotation.phrases:
        key = entity_key(phrase.text)
        stands_for[phrase] = replace(phrase, type=found[key].type) if key in kept else None
    return with_phrases(annotation, stands_for)
