"""Determine types of names: the recogniser's guess for each mention, if the corpus as a whole confirms it.

A recogniser trained on news takes every capitalised word of a manual for a person, a company or a nation. A name of one
word has the type guessed for most of its mentions, unless it also occurs in lower case, or is part of an identifier
("readline", `agnode`). In a technical corpus, one with identifiers, the rules are stricter, because SIGINT and XML are
companies to the recogniser: a name of one word is a person or of unknown type; it is a person if a full name contains
it, pronouns follow it, or every mention is guessed to be one; and a name of several words has the type that most of its
mentions agree on. In any corpus the words of a person's full name are capitalised and are not common nouns ("Smyrna
Settings").

An unconfirmed name is a NAME, of unknown type, or a CONCEPT if most mentions are.
"""

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
import regex
from conspectus.pipelines.steps.extract.seen_phrases import SeenPhrases
from conspectus.pipelines.steps.extract.termhood import WordStatistics
from conspectus.storage.arrays import Bools
from conspectus.storage.records import Chunk
from conspectus.storage.text.identifiers import IDENTIFIERS
from conspectus.storage.text.names import word_keys
from conspectus.storage.text.nlp import CONCEPT, NAME

PERSON, DATE = "PERSON", "DATE"
LEAST_AGREEMENT = 0.6
"""Minimum share of the mentions of a name of several words that have its type in a technical corpus."""
MOST_WRITTEN_SMALL = 0.1
"""Maximum share of a name's occurrences in lower case."""
TECHNICAL = 0.02
"""Share of identifiers among all mentions above which a corpus is technical. Encyclopedias and novels have none."""
_FEWEST = 3
"""Mentions that must agree on a person without other evidence."""
_WITHIN = 160
"""Characters after a name within which a pronoun probably refers to it."""
LOOKED_AT = 50
"""Mentions of a name whose next words are searched for a pronoun."""
_PRONOUN = regex.compile(r"\b(?:he|she|him|his|hers?|himself|herself)\b", regex.IGNORECASE)
_NAME_WORD = regex.compile(r"\p{Lu}[\p{L}\p{M}'’.-]*|(?:de|du|van|von|der|den|di|da|del|la|le|al|el|bin|ibn|of|the)")
_PARTS = regex.compile(r"\p{Lu}?\p{Ll}+|\p{Lu}+")


def types_of(seen: SeenPhrases, statistics: WordStatistics, chunks: Sequence[Chunk]) -> list[str]:
    """Return the type of each name and phrase of a corpus.

    Args:
        seen: All names and phrases of the corpus.
        statistics: Statistics of its words.
        chunks: Its passages.
    """
    evidence = _Evidence(seen, statistics)
    with_pronouns = _with_pronouns(seen, evidence.asked_for_pronouns(), chunks)
    return [evidence.type_of(row, with_pronouns) for row in range(len(seen.keys))]


class _Evidence:
    """Evidence in a corpus for and against the types that a recogniser guessed."""

    def __init__(self, seen: SeenPhrases, statistics: WordStatistics) -> None:
        self._seen = seen
        self._statistics = statistics
        kinds, keys = seen.kinds, seen.keys
        identifiers = [row for row, kind in enumerate(kinds) if kind in IDENTIFIERS]
        self._coded = {part.casefold() for row in identifiers for part in _PARTS.findall(seen.surface(row))}
        self._is_technical = seen.counts[identifiers].sum() >= TECHNICAL * seen.counts.sum()
        self._full_names = np.array(
            [kind == PERSON and self._is_full_name(seen.surface(row)) for row, kind in enumerate(kinds)], np.bool_
        )
        full_names = np.flatnonzero(self._full_names).tolist() if self._is_technical else []
        self._parts = {found[at] for row in full_names if (found := word_keys(keys[row])) for at in (0, -1)}

    def asked_for_pronouns(self) -> Bools:
        """Return which names are persons if personal pronouns follow them."""
        found = (self._may_have_pronouns(row) for row in range(len(self._seen.keys)))
        return np.fromiter(found, np.bool_, len(self._seen.keys))

    def _may_have_pronouns(self, row: int) -> bool:
        if self._seen.kinds[row] != PERSON or self._full_names[row]:
            return False
        found = word_keys(self._seen.keys[row])
        return len(found) == 1 and found[0].isalpha() and not self._is_noun(found[0])

    def type_of(self, row: int, with_pronouns: Bools) -> str:
        """Return the guessed type of a name, or NAME if the corpus does not confirm it."""
        kind = self._seen.kinds[row]
        if kind in {CONCEPT, NAME, DATE} or kind in IDENTIFIERS or self._full_names[row] or with_pronouns[row]:
            return kind
        said, agreeing = self._seen.counts.item(row), self._seen.agreeing.item(row)
        found = word_keys(self._seen.keys[row])
        if len(found) != 1:
            agreed = agreeing >= LEAST_AGREEMENT * said
            return kind if not self._is_technical or (kind != PERSON and agreed) else NAME
        word = found[0]
        if self._statistics.small(word) > MOST_WRITTEN_SMALL or word in self._coded:
            return NAME
        if not self._is_technical:
            return kind
        alone = agreeing == said >= _FEWEST and self._statistics.small(word) == 0
        return kind if kind == PERSON and word.isalpha() and (word in self._parts or alone) else NAME

    def _is_full_name(self, surface: str) -> bool:
        """Return whether a name has several words, all written like parts of a person's name."""
        parts = surface.split()
        return len(parts) > 1 and all(
            ((part.isalpha() and part[0].isupper()) or _NAME_WORD.fullmatch(part))  # most are found without a search
            and (part[0].islower() or all(map(self._is_proper, word_keys(part))))
            for part in parts
        )

    def _is_proper(self, word: str) -> bool:
        return not self._is_noun(word) and not (self._is_technical and word in self._coded)

    def _is_noun(self, word: str) -> bool:
        """Return whether a word is mostly in lower case here ("Smyrna Settings")."""
        return len(word) > 1 and self._statistics.small(word) > 0.5


def _with_pronouns(seen: SeenPhrases, wanted: Bools, chunks: Sequence[Chunk]) -> Bools:
    """Return for which names a tenth of the first mentions, and at least two, are followed by a personal pronoun."""
    followed = np.zeros(len(seen.keys), np.int64)
    columns = seen.first_places(wanted & (seen.counts > 1), LOOKED_AT)
    places = zip(*(column.tolist() for column in columns), strict=True)
    for passage, here in groupby(places, key=itemgetter(1)):
        text = chunks[passage].text
        for row, _, end in here:
            followed[row] += _PRONOUN.search(text, end, end + _WITHIN) is not None
    return (followed > 1) & (followed * 10 >= np.minimum(seen.counts, LOOKED_AT))
