"""Measures of termhood: how strongly a corpus indicates that a phrase is a term of its subject.

- *C-value* (Frantzi, Ananiadou and Mima 2000, "Automatic recognition of multi-word terms"): how often a phrase
  occurs, minus how often it is only part of a longer one, times the logarithm of its length, plus one word, so that
  single words count too (Barron-Cedeno et al. 2009);
- *weirdness* (Ahmad, Gillam and Tostevin 1999, TREC-8): how much more frequent a word is than in general language,
  by the small word lists of wordfreq (Speer 2022), which have the words that occur once in a million or more;
- *residual IDF* (Church and Gale 1995, "Inverse document frequency: a measure of deviations from Poisson"): how much
  fewer passages contain a word than if its occurrences were random. Form words ("default", "section") are spread at
  random; the words of a passage's subject recur in it.

Words count by their stems: "nodes" is "node".
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from math import exp, log2

import regex
from conspectus.storage.records import Chunk
from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.language import function_words
from conspectus.storage.text.names import word_keys, words
from conspectus.storage.text.word_lists import shares_of_common_words
from conspectus.storage.text.words import stem

LEAST_WEIRDNESS = 8.0
"""A word that is this many times more frequent than in general language belongs to the subject."""
LEAST_OF_A_LONE_WORD = 20.0
"""The same for a phrase of one word: "value" and "line" are ten times more frequent in any manual."""
LEAST_OF_EACH = 2.0
"""Least weirdness of each word: a phrase with a word common everywhere is not a term ("new alias", "first line")."""
WIDESPREAD, FEWEST_WIDESPREAD = 0.05, 10
"""Share and number of passages above which a lone common word must not be spread evenly over all."""
LEAST_UNEVEN = 3.3
"""Least residual IDF, times the logarithm of the weirdness, of such a word. In the manuals of a shell: "value" 2.5,
"input" 3, "section" 2.9, "argument" 5.2, "node" 10; in a handbook: "Abschnitt" .8, "Paket" 3.7, "Kernel" 6.4."""
_UNSEEN = 1e-7
"""Assumed share in a language of a word that its list lacks."""
_BEGINS = regex.compile(r"[.!?:\n\"“„«]")
_ENGLISH = frozenset({"", "en"})


def folded(key: str, language: str) -> str:
    """Return a word without its number and case ending.

    >>> folded("directories", "en"), folded("hunden", "de")
    ('directory', 'hund')
    """
    return stem(key) if language in _ENGLISH else stem_in_language(key, language)


def folded_phrase(key: str, language: str) -> str:
    """Return a phrase with its last word folded: "hash keys" and "hash key" are one term.

    >>> folded_phrase("hash keys", "en")
    'hash key'
    """
    head, _, last = key.rpartition(" ")
    return f"{head} {folded(last, language)}".lstrip()


def c_values_of(frequency: Mapping[str, int]) -> dict[str, float]:
    """Return the C-value of each phrase, given how often each occurs outside longer ones.

    log2(words + 1) * (f - the mean f of the longer phrases that contain it), where f includes occurrences within those.

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


class WordStatistics:
    """How frequent each word is in a corpus, how evenly it is spread, and how frequent it is in general language.

    Args:
        chunks: All passages.
        languages: The language of each, "" if unknown.
    """

    def __init__(self, chunks: Sequence[Chunk], languages: Sequence[str]) -> None:
        self._said: Counter[str] = Counter()
        self._named: Counter[str] = Counter()
        self._capital: Counter[str] = Counter()
        self._stems: Counter[tuple[str, str]] = Counter()
        self._passages: Counter[tuple[str, str]] = Counter()
        self._size: dict[str, int] = {}
        self._n_passages = len(chunks)
        forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        stems = {language: _Stems(language) for language in set(languages)}
        for chunk, language in zip(chunks, languages, strict=True):
            text, found = chunk.text, words(chunk.text)
            keys = [word.key for word in found]
            forms[language].update(keys)
            self._passages.update(set(map(stems[language].__getitem__, keys)))
            for place in [place for place, word in enumerate(found) if text[word.start].isupper()]:
                word = found[place]
                self._capital[word.key] += 1
                if place and not _BEGINS.search(text, found[place - 1].end, word.start):
                    self._named[word.key] += 1
        for language, own in forms.items():
            self._said.update(own)
            self._size[language] = own.total()
            for key, times in own.items():
                self._stems[stems[language][key]] += times
        self._shares: defaultdict[tuple[str, str], float] = defaultdict(float)
        for language, own in forms.items():
            shares = shares_of_common_words(language or "en")
            for key in own.keys() & shares.keys():
                self._shares[_stem(key, language)] += shares[key]

    def weirdness(self, word: str, language: str) -> float:
        """Return how many times more frequent a word, in its forms here, is than in general language."""
        place = _stem(word, language)
        return self._stems[place] / (self._size[language] * max(self._shares.get(place, 0.0), _UNSEEN) or 1.0)

    def is_common(self, word: str, language: str) -> bool:
        """Return whether a word is known in general language."""
        return _stem(word, language) in self._shares

    def unevenness(self, word: str, language: str) -> float | None:
        """Return the residual IDF of a word, times the logarithm of its weirdness; None if few passages contain it."""
        place = _stem(word, language)
        passages = self._passages[place]
        if passages < max(FEWEST_WIDESPREAD, WIDESPREAD * self._n_passages):
            return None
        expected = self._n_passages * (1 - exp(-self._stems[place] / self._n_passages))
        return log2(max(expected / passages, 1.0)) * log2(max(self.weirdness(word, language), 1.0))

    def is_about(self, key: str, language: str, *, listed: bool = False) -> bool:
        """Return whether the words of a phrase show that the corpus is about it.

        Args:
            key: The phrase.
            language: The language of most passages that contain it.
            listed: Whether a heading or an index contains it: then less evidence is enough.
        """
        found = [word for word in word_keys(key) if not word.isdigit()]
        telling = [word for word in found if not is_form_word(word, language)]
        if not telling:
            return False
        of_each = [self.weirdness(word, language) for word in found]
        if len(found) > 1:
            return max(of_each) >= LEAST_WEIRDNESS and (listed or min(of_each) >= LEAST_OF_EACH)
        if of_each[0] < (LEAST_WEIRDNESS if listed else LEAST_OF_A_LONE_WORD):
            return False
        uneven = self.unevenness(found[0], language) if self.is_common(found[0], language) else None
        return uneven is None or uneven >= LEAST_UNEVEN

    def named(self, word: str) -> float:
        """Return the share of a word's occurrences with a capital, except those that begin a sentence or line."""
        return self._named[word] / self._said[word] if self._said[word] else 0.0

    def small(self, word: str) -> float:
        """Return the share of a word's occurrences in lower case."""
        said = self._said[word]
        return (said - self._capital[word]) / said if said else 0.0

    def is_known(self, word: str) -> bool:
        """Return whether a language of the corpus knows a word."""
        return any(self.is_common(word, language) for language in self._size)


@lru_cache(maxsize=10_000)
def is_form_word(word: str, language: str) -> bool:
    """Return whether a word refers to documents themselves ("section") or to anything ("value").

    >>> is_form_word("sections", "en"), is_form_word("shell", "en"), is_form_word("abschnitts", "de")
    (True, False, True)
    """
    language = language or "en"
    return folded(word, language) in _form_words(language) or word in function_words(language)


@cache
def _form_words(language: str) -> frozenset[str]:
    lines = files("conspectus.storage").joinpath("text/form_words.txt").read_text(encoding="utf-8").splitlines()
    own = next((line.split()[1:] for line in lines if line.split()[:1] == [language]), [])
    return frozenset(folded(word, language) for word in own)


class _Stems(dict[str, tuple[str, str]]):
    """The stem of each word of a language, with the language."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self._language = language

    def __missing__(self, word: str) -> tuple[str, str]:
        stem = self[word] = _stem(word, self._language)
        return stem


def _stem(word: str, language: str) -> tuple[str, str]:
    return language, folded(word, language)
