"""How often each word of one language occurs in a corpus."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache, cached_property, lru_cache
from itertools import compress, count
from operator import itemgetter

from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.names import in_pieces
from conspectus.storage.text.word_lists import shares_of_common_words
from conspectus.storage.text.words import stem

_BEFORE_SENTENCE = re.compile(r"[.!?:\n\"“„«]")
_ENGLISH = frozenset({"", "en"})


@lru_cache(maxsize=1_000)
def _ends_sentence(before: str) -> bool:
    """Return whether a sentence or line may begin after what stands between two words."""
    return _BEFORE_SENTENCE.search(before) is not None


def folded(key: str, language: str) -> str:
    """Return a word without its number and case ending.

    >>> folded("directories", "en"), folded("hunden", "de")
    ('directory', 'hund')
    """
    return stem(key) if language in _ENGLISH else stem_in_language(key, language)


class WordCounts:
    """Counts of the words and stems of a language.

    Args:
        language: An ISO 639-1 code, "" if unknown.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._said, self._capital, self._named, self._passages = (Counter[str]() for _ in range(4))
        self._stem = cache(lambda word: folded(word, language))

    def add(self, text: str) -> int:
        """Count the words of a passage, and return their number."""
        keys, pieces = in_pieces(text)
        self._said.update(keys)
        self._passages.update(set(map(self._stem, keys)))
        for place in compress(count(), map(str.isupper, map(itemgetter(0), pieces[1::2]))):
            self._capital[keys[place]] += 1
            if place and not _ends_sentence(pieces[2 * place]):
                self._named[keys[place]] += 1
        return len(keys)

    def of(self, word: str) -> tuple[int, int, int]:
        """Return how often a word occurs, with a capital, and with one that does not begin a sentence or line."""
        return self._said[word], self._capital[word], self._named[word]

    def said_of_stem(self, stem: str) -> int:
        """Return how often words with a stem occur."""
        return self._said_of_stems[stem]

    def passages_of_stem(self, stem: str) -> int:
        """Return the number of passages that contain words with a stem."""
        return self._passages[stem]

    @cached_property
    def size(self) -> int:
        """The number of all words."""
        return self._said.total()

    @cached_property
    def general_shares(self) -> Mapping[str, float]:
        """The share in general language of each stem of the corpus that the language's list of words has."""
        shares: defaultdict[str, float] = defaultdict(float)
        for word, share in shares_of_common_words(self._language or "en").items():
            if word in self._said:
                shares[self._stem(word)] += share
        return dict(shares)

    @cached_property
    def _said_of_stems(self) -> Counter[str]:
        found = Counter[str]()
        for word, times in self._said.items():
            found[self._stem(word)] += times
        return found
