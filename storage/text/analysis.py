"""Lexical analysis: from the words of a text to the terms that BM25 counts, by the language of the text.

A term is the stem of a word (the Snowball stemmers, Porter 2001; in Korean the word without its particle). Two groups
of languages need more:

- compounds ("Speicherplatzgrenze") are counted as a whole and by their parts, in languages that write them as one word.
  A word is split if its parts are words of the corpus, into the parts with the largest geometric mean of
  frequencies (Koehn and Knight 2003, "Empirical methods for compound splitting", section 2.3);
- in scripts without spaces every character is a word, and every pair of neighbours is also a term (Nie, Gao, Zhang and
  Zhou 2000, "On the use of words and n-grams for Chinese information retrieval").
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from math import exp, fsum, log
from typing import Any

import snowballstemmer
from conspectus.storage.arrays import Rows
from conspectus.storage.text.language_tables import by_language, words_of
from conspectus.storage.text.names import UNSPACED, Word, word_keys, words

_WORDS = by_language("conspectus.storage.text", "form_words.txt")
_STEMMERS = _WORDS["stemmer"]
"""Snowball's name of each language, by its ISO 639-1 code."""

_LINKING = {language: ("", *letters.split()) for language, letters in _WORDS["linking letters"].items()}
"""Languages that write compounds as one word, and the letters that may link their parts."""
_SHORTEST = 4
"""Letters of the shortest part."""
_LEAST_COUNT = 3
"""Fewest occurrences of a part as a separate word in the corpus."""
_LONGEST = 60
"""Letters of the longest word that is split."""


class Analysis:
    """The languages of the texts of a corpus, and how their words become terms.

    Args:
        languages: The language of each text by its row, "" if unknown.
        counts: For each language that writes compounds as one word, the frequency of each word that can be a part.
    """

    def __init__(self, languages: Sequence[str], counts: Mapping[str, Mapping[str, int]]) -> None:
        self.languages = tuple(languages)
        self._counts = counts
        named = Counter(self.languages)
        del named[""]
        self.known = tuple(language for language, _ in sorted(named.items(), key=lambda item: (-item[1], item[0])))
        """The languages of the corpus, the most frequent first."""
        self._parts = lru_cache(maxsize=100_000)(self._divided)

    @classmethod
    def of(cls, texts: Sequence[str], languages: Sequence[str]) -> "Analysis":
        """Return the analysis of texts with given languages, row by row."""
        counts: dict[str, Counter[str]] = {}
        for row, language in enumerate(languages):
            if language in _LINKING:
                counts.setdefault(language, Counter()).update(
                    key for key in word_keys(texts[row]) if len(key) >= _SHORTEST and key.isalpha()
                )
        kept = {
            language: {key: count for key, count in sorted(found.items()) if count >= _LEAST_COUNT}
            for language, found in counts.items()
        }
        return cls(languages, kept)

    def terms(self, text: str, row: int) -> list[str]:
        """Return the terms of the text of a row, with repetitions."""
        language = self.language_of(row)
        if text.isascii() and language not in _LINKING:  # no compounds, and no pairs of characters
            return list(map(_stems(language).__getitem__, word_keys(text)))
        found = words(text)
        terms = [term for word in found for term in (self.stem(word.key, language), *self.parts(word.key, language))]
        return [*terms, *_pairs(found)]

    def of_rows(self, rows: Rows) -> "Analysis":
        """Return the analysis of some texts, which reads them as this one does."""
        part = Analysis([self.languages[row] for row in rows.tolist()], self._counts)
        part.main = self.main
        return part

    def language_of(self, row: int) -> str:
        """Return the language of a text, or that of most texts; "" if unknown."""
        return self.languages[row] or self.main

    @cached_property
    def main(self) -> str:
        """The language of most texts; "" if unknown."""
        return self.known[0] if self.known else ""

    def stem(self, key: str, language: str) -> str:
        """Return the stem of a word in a language; the word itself if there is no stemmer."""
        return stem_in_language(key, language)

    def stems(self, text: str, row: int) -> list[str]:
        """Return the stem of each word of the text of a row, in order."""
        language = self.language_of(row)
        return [self.stem(key, language) for key in word_keys(text)]

    def parts(self, key: str, language: str) -> tuple[str, ...]:
        """Return the stems of the parts of a compound; empty for any other word."""
        return self._parts(key, language) if language in _LINKING else ()

    def asked(self, found: Sequence[Word], language: str, vocabulary: Mapping[str, int]) -> Iterator[str]:
        """Yield the terms of a question's words that are in a vocabulary.

        Args:
            found: The words.
            language: The language of the question, "" for that of most texts.
            vocabulary: The terms of the corpus.
        """
        for word in found:
            own = self.term(word.key, language, vocabulary)
            yield from (term for term in (own, *self.parts(word.key, language or self.main)) if term in vocabulary)
        yield from (pair for pair in _pairs(found) if pair in vocabulary)

    def term(self, key: str, language: str, vocabulary: Mapping[str, int]) -> str:
        """Return the term that matches a question's word.

        It is the stem in the question's language or, if the corpus lacks it, in one of the corpus's
        languages: an English word in a German question.
        """
        first = self.stem(key, language or self.main)
        if first in vocabulary:
            return first
        others = (self.stem(key, other) for other in self.known if other != language)
        return next((stem for stem in others if stem in vocabulary), first)

    def packed(self) -> bytes:
        """Return the analysis as JSON."""
        names = ["", *self.known]
        rows = [names.index(language) for language in self.languages]
        return json.dumps({"languages": names, "rows": rows, "counts": self._counts}, ensure_ascii=False).encode()

    @classmethod
    def unpacked(cls, packed: bytes) -> "Analysis":
        """Return a packed analysis; ValueError if it is invalid."""
        found: Any = json.loads(packed)
        try:
            names, rows, counts = found["languages"], found["rows"], found["counts"]
            right = all(isinstance(name, str) for name in names) and all(
                type(count) is int for of_language in counts.values() for count in of_language.values()
            )
            languages = [*map(names.__getitem__, rows)]
        except (TypeError, KeyError, IndexError, AttributeError) as error:
            raise ValueError(f"it is no analysis of words: {error!r}") from error
        if not right:
            raise ValueError("it is no analysis of words")
        return cls(languages, counts)

    def _divided(self, word: str, language: str) -> tuple[str, ...]:
        counts = self._counts.get(language, {})
        if not 2 * _SHORTEST <= len(word) <= _LONGEST or not word.isalpha():
            return ()
        ways = [(word,), *(way for way in _ways(word, counts, _LINKING[language]) if len(way) > 1)]

        def likelihood(way: Sequence[str]) -> float:
            return exp(fsum(log(counts.get(part, 0) or 0.5) for part in way) / len(way))

        best = max(ways, key=lambda way: (likelihood(way), -len(way)))
        return tuple(stem_in_language(part, language) for part in best) if len(best) > 1 else ()


def _ways(word: str, counts: Mapping[str, int], linking: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the ways to split a word into known words."""
    ways: list[list[tuple[str, ...]]] = [[] for _ in range(len(word) + 1)]
    ways[len(word)] = [()]
    for start in range(len(word) - _SHORTEST, -1, -1):
        for end in range(start + _SHORTEST, len(word) + 1):
            if not ways[end]:
                continue
            piece = word[start:end]
            for letters in linking if end < len(word) else ("",):
                part = piece.removesuffix(letters) if letters else piece
                if (not letters or part != piece) and len(part) >= _SHORTEST and part in counts:
                    ways[start] += [(part, *rest) for rest in ways[end]]
        ways[start] = sorted(ways[start], key=lambda way: (len(way), way))[:_MOST_WAYS]
    return ways[0]


_MOST_WAYS = 8
"""Most ways to split the rest of a word that are followed, fewest parts first."""


def _pairs(found: Sequence[Word]) -> Iterator[str]:
    """Yield the pairs of neighbouring characters in scripts without spaces."""
    for first, second in pairwise(found):
        if first.end == second.start and UNSPACED.match(first.key) and UNSPACED.match(second.key):
            yield first.key + second.key


def stem_in_language(key: str, language: str) -> str:
    """Return the stem of a word's key by the Snowball stemmer of a language; the key if there is none.

    >>> stem_in_language("databases", "en"), stem_in_language("häusern", "de"), stem_in_language("北", "zh")
    ('databas', 'haus', '北')
    """
    return _stems(language)[key]


class _Stems(dict[str, str]):
    """The stems of words of a language, found when they are asked for."""

    def __init__(self, language: str) -> None:
        name = _STEMMERS.get(language)
        self._stemmer: Any = snowballstemmer.stemmer(name) if name else None  # the library has no types
        self._ends = (*words_of("behind a word", "ko"), *words_of("behind a verb", "ko")) if language == "ko" else ()

    def __missing__(self, key: str) -> str:
        if self._stemmer is None:
            ends = (end for end in self._ends if key.endswith(end) and len(key) > len(end) + 1)
            return key.removesuffix(next(ends, ""))
        if len(self) >= _MOST_STEMS:
            self.clear()
        stem: str = self._stemmer.stemWord(key) or key
        return self.setdefault(key, stem)


_MOST_STEMS = 200_000
_stems = lru_cache(None)(_Stems)
