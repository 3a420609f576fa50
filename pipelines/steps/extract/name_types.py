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

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import regex
from conspectus.pipelines.steps.extract.termhood import WordStatistics
from conspectus.storage.records import Chunk
from conspectus.storage.text.identifiers import IDENTIFIERS
from conspectus.storage.text.names import words
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


@dataclass(frozen=True, slots=True)
class CorpusName:
    """A name in a corpus: how it is written, its type by place, and where the first mentions end."""

    key: str
    surface: str
    votes: Mapping[str, int]
    ends: Sequence[tuple[Chunk, int]]


def majority(kinds: Iterable[str]) -> str:
    """Return the most frequent type; on a tie, one of names comes before CONCEPT, then alphabetical order."""
    votes = Counter(kinds)
    named = sum(count for kind, count in votes.items() if kind != CONCEPT)
    if named * 2 < sum(votes.values()):
        return CONCEPT
    return min((kind for kind in votes if kind != CONCEPT), key=lambda kind: (-votes[kind], kind))


def types_of(mentioned: Sequence[CorpusName], statistics: WordStatistics) -> dict[str, str]:
    """Return the type of each name by its key.

    Args:
        mentioned: All names and phrases of the corpus.
        statistics: Statistics of its words.
    """
    guessed = {each.key: majority(Counter(each.votes).elements()) for each in mentioned}
    evidence = _Evidence(mentioned, guessed, statistics)
    return {each.key: evidence.type_of(each, guessed[each.key]) for each in mentioned}


class _Evidence:
    """Evidence in a corpus for and against the types that a recogniser guessed."""

    def __init__(self, mentioned: Sequence[CorpusName], guessed: Mapping[str, str], statistics: WordStatistics) -> None:
        self._statistics = statistics
        identifiers = [each for each in mentioned if guessed[each.key] in IDENTIFIERS]
        self._coded = {part.casefold() for each in identifiers for part in _PARTS.findall(each.surface)}
        of_code = sum(sum(each.votes.values()) for each in identifiers)
        self._is_technical = of_code >= TECHNICAL * sum(sum(each.votes.values()) for each in mentioned)
        self._full_names = {
            each.key for each in mentioned if guessed[each.key] == PERSON and self._is_full_name(each.surface)
        }
        self._parts = {found[at].key for key in self._full_names if (found := words(key)) for at in (0, -1)}

    def type_of(self, each: CorpusName, kind: str) -> str:
        """Return the guessed type, or NAME if the corpus does not confirm it."""
        if kind in {CONCEPT, NAME, DATE} or kind in IDENTIFIERS or each.key in self._full_names:
            return kind
        found = words(each.key)
        if len(found) != 1:
            agreed = each.votes[kind] >= LEAST_AGREEMENT * sum(each.votes.values())
            return kind if not self._is_technical or (kind != PERSON and agreed) else NAME
        word = found[0].key
        if kind == PERSON and word.isalpha() and _has_pronouns(each.ends) and not self._is_noun(word):
            return kind
        if self._statistics.small(word) > MOST_WRITTEN_SMALL or word in self._coded:
            return NAME
        if not self._is_technical:
            return kind
        alone = each.votes[kind] == sum(each.votes.values()) >= _FEWEST and self._statistics.small(word) == 0
        return kind if kind == PERSON and word.isalpha() and (word in self._parts or alone) else NAME

    def _is_full_name(self, surface: str) -> bool:
        """Return whether a name has several words, all written like parts of a person's name."""
        parts = surface.split()
        return len(parts) > 1 and all(
            _NAME_WORD.fullmatch(part) and (part[0].islower() or all(self._is_proper(word.key) for word in words(part)))
            for part in parts
        )

    def _is_proper(self, word: str) -> bool:
        return not self._is_noun(word) and not (self._is_technical and word in self._coded)

    def _is_noun(self, word: str) -> bool:
        """Return whether a word is mostly in lower case here ("Smyrna Settings")."""
        return len(word) > 1 and self._statistics.small(word) > 0.5


def _has_pronouns(ends: Sequence[tuple[Chunk, int]]) -> bool:
    """Return whether a tenth of the mentions, and at least two, are followed by a personal pronoun."""
    looked = ends[:LOOKED_AT]
    followed = sum(_PRONOUN.search(chunk.text, end, end + _WITHIN) is not None for chunk, end in looked)
    return followed >= 2 and followed * 10 >= len(looked)
