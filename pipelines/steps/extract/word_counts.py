"""How often each word of one language occurs in a corpus, in columns of numbers.

A word, and a stem, is numbered when it first occurs; counts by word take a fifth of the memory of dictionaries.
"""

import re
from array import array
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import compress, count, islice
from operator import itemgetter

import numpy as np
from conspectus.storage.arrays import Ints, SmallInts
from conspectus.storage.numbering import numbering
from conspectus.storage.text.analysis import stem_in_language
from conspectus.storage.text.names import in_pieces
from conspectus.storage.text.word_lists import shares_of_common_words
from conspectus.storage.text.words import stem

_AT_ONCE = 1 << 20
"""Words counted together."""
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
        self._numbers = numbering()
        self._stem_of = array("q")
        self._said, self._capital, self._named, self._passages = (np.empty(0, np.int32) for _ in range(4))
        self._forget_occurrences()

    def add(self, text: str) -> int:
        """Count the words of a passage, and return their number."""
        keys, pieces = in_pieces(text)
        numbers = list(map(self._numbers.__getitem__, keys))
        self._words.extend(numbers)
        self._sizes.append(len(numbers))
        for place in compress(count(), map(str.isupper, map(itemgetter(0), pieces[1::2]))):
            self._capitals.append(numbers[place])
            if place and not _ends_sentence(pieces[2 * place]):
                self._names.append(numbers[place])
        if len(self._words) >= _AT_ONCE:
            self._count_occurrences()
        return len(numbers)

    def of(self, word: str) -> tuple[int, int, int]:
        """Return how often a word occurs, with a capital, and with one that does not begin a sentence or line."""
        number = self._numbers.get(word, -1)
        if number < 0:
            return 0, 0, 0
        if self._sizes:
            self._count_occurrences()
        return self._said.item(number), self._capital.item(number), self._named.item(number)

    def said_of_stem(self, stem: str) -> int:
        """Return how often words with a stem occur."""
        return self._at(self._said_of_stems, stem)

    def passages_of_stem(self, stem: str) -> int:
        """Return the number of passages that contain words with a stem."""
        return self._at(self._settled()._passages, stem)

    @cached_property
    def size(self) -> int:
        """The number of all words."""
        return int(self._settled()._said.sum(dtype=np.int64))

    @cached_property
    def general_shares(self) -> Mapping[str, float]:
        """The share in general language of each stem of the corpus that the language's list of words has."""
        shares: defaultdict[str, float] = defaultdict(float)
        for word, share in shares_of_common_words(self._language or "en").items():
            if self.of(word)[0]:
                shares[folded(word, self._language)] += share
        return dict(shares)

    @cached_property
    def _said_of_stems(self) -> Ints:
        said = self._settled()._said
        return np.bincount(self._stem_of, weights=said, minlength=len(said)).astype(np.int64)

    def _settled(self) -> "WordCounts":
        if self._sizes:
            self._count_occurrences()
        return self

    def _at(self, counts: SmallInts | Ints, word: str) -> int:
        number = self._numbers.get(word, -1)
        return 0 if number < 0 else int(counts[number])

    def _count_occurrences(self) -> None:
        """Add the words found since the last time to the counts."""
        while len(self._stem_of) < len(self._numbers):  # a stem may be a new word
            new = list(islice(reversed(self._numbers), len(self._numbers) - len(self._stem_of)))
            self._stem_of.extend([self._numbers[folded(word, self._language)] for word in reversed(new)])
        words, size = np.frombuffer(self._words, np.int32), len(self._numbers)
        passages = np.repeat(np.arange(len(self._sizes)), self._sizes)
        stems = passages * size + np.frombuffer(self._stem_of, np.int64)[words]
        stems.sort()
        stems = stems[np.diff(stems, prepend=-1) != 0] % (size or 1)
        self._said = _added(self._said, words, size)
        self._capital = _added(self._capital, self._capitals, size)
        self._named = _added(self._named, self._names, size)
        self._passages = _added(self._passages, stems, size)
        del words
        self._forget_occurrences()

    def _forget_occurrences(self) -> None:
        """Begin lists of occurrences: the number of each word, of each with a capital, and the sizes of passages."""
        self._words, self._capitals, self._names, self._sizes = (array("i") for _ in range(4))


def _added(counts: SmallInts, numbers: Sequence[int] | SmallInts, size: int) -> SmallInts:
    """Return the counts of `size` things and their further occurrences."""
    added: SmallInts = np.bincount(numbers, minlength=size).astype(np.int32)
    added[: len(counts)] += counts
    return added
