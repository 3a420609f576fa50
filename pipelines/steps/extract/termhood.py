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

from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import combinations
from math import exp, log2

from conspectus.pipelines.steps.extract.word_counts import WordCounts, folded
from conspectus.storage.text.language import function_words
from conspectus.storage.text.language_tables import by_language
from conspectus.storage.text.names import word_keys

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


def folded_phrase(key: str, language: str) -> str:
    """Return a phrase with its last word folded: "hash keys" and "hash key" are one term.

    >>> folded_phrase("hash keys", "en")
    'hash key'
    """
    head, _, last = key.rpartition(" ")
    return f"{head} {folded(last, language)}".lstrip()


def c_values_of(wanted: Mapping[str, int], said: Sequence[int], among: Iterable[tuple[str, int]]) -> list[float]:
    """Return the C-value of some phrases, given how often each phrase occurs outside longer ones.

    log2(words + 1) * (f - the mean f of the longer phrases that contain it), where f includes occurrences within those.

    Args:
        wanted: The phrases, numbered from 0 in this order.
        said: How often each of them occurs.
        among: All phrases, each once, and how often they occur.

    >>> said = {"key": 2, "hash key": 3, "primary key": 1}
    >>> values = c_values_of({"key": 0, "hash key": 1}, [2, 3], said.items())
    >>> [round(value, 1) for value in values]
    [4.0, 4.8]
    """
    longer, within = array("q", bytes(8 * len(wanted))), array("q", bytes(8 * len(wanted)))
    for phrase, times in among:
        parts = phrase.split()
        if len(parts) > 1:
            for span in {" ".join(parts[i:j]) for i, j in combinations(range(len(parts) + 1), 2)} - {phrase}:
                if (number := wanted.get(span)) is not None:
                    longer[number] += 1
                    within[number] += times
    values = zip(wanted, said, longer, within, strict=True)
    return [
        log2(phrase.count(" ") + 2) * (times + around - (around / number if number else 0))
        for phrase, times, number, around in values
    ]


class WordStatistics:
    """How frequent each word is in a corpus, how evenly it is spread, and how frequent it is in general language."""

    def __init__(self) -> None:
        self._counts: dict[str, WordCounts] = {}
        self._n_passages = 0

    def add(self, text: str, language: str) -> int:
        """Count the words of a passage in a language, "" if unknown; return their number. All come before questions."""
        self._n_passages += 1
        if language not in self._counts:
            self._counts[language] = WordCounts(language)
        return self._counts[language].add(text)

    def weirdness(self, word: str, language: str) -> float:
        """Return how many times more frequent a word, in its forms here, is than in general language."""
        counts, stem = self._counts[language], folded(word, language)
        share = max(counts.general_shares.get(stem, 0.0), _UNSEEN)
        return counts.said_of_stem(stem) / (counts.size * share or 1.0)

    def is_common(self, word: str, language: str) -> bool:
        """Return whether a word is known in general language."""
        return folded(word, language) in self._counts[language].general_shares

    def unevenness(self, word: str, language: str) -> float | None:
        """Return the residual IDF of a word, times the logarithm of its weirdness; None if few passages contain it."""
        counts, stem = self._counts[language], folded(word, language)
        passages = counts.passages_of_stem(stem)
        if passages < max(FEWEST_WIDESPREAD, WIDESPREAD * self._n_passages):
            return None
        expected = self._n_passages * (1 - exp(-counts.said_of_stem(stem) / self._n_passages))
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
        said, _, named = self._of(word)
        return named / said if said else 0.0

    def small(self, word: str) -> float:
        """Return the share of a word's occurrences in lower case; 0 in a script without capitals."""
        said, capital, _ = self._of(word)
        return (said - capital) / said if said and (word.islower() or not word.isalpha()) else 0.0

    def is_known(self, word: str) -> bool:
        """Return whether a language of the corpus knows a word."""
        return any(self.is_common(word, language) for language in self._counts)

    def _of(self, word: str) -> tuple[int, ...]:
        """Return the counts of a word in all languages (see `WordCounts.of`)."""
        return tuple(map(sum, zip(*(counts.of(word) for counts in self._counts.values()), strict=True)))


@lru_cache(10_000)
def is_form_word(word: str, language: str) -> bool:
    """Return whether a word refers to documents themselves ("section") or to anything ("value").

    >>> is_form_word("sections", "en"), is_form_word("shell", "en"), is_form_word("abschnitts", "de")
    (True, False, True)
    """
    language = language or "en"
    return folded(word, language) in _form_words(language) or word in function_words(language)


@cache
def _form_words(language: str) -> frozenset[str]:
    own = by_language("conspectus.storage.text", "form_words.txt")["form words"].get(language, "").split()
    return frozenset(folded(word, language) for word in own)
