"""Entities that a question mentions, by whole names, parts of names, misspelled names or derived words.

Besides whole names ("grey heron" for Grey-Heron) these are found: an initialism (JFK), a sufficient part of a name
(Norrholm for Norrholm Biotech), a name one or two letters away, and a single word that shares its stem with a
one-word name (icelandic, Iceland; drowsy, Drowsiness).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

import numpy as np
from conspectus.query.context import Context
from conspectus.query.graph_question.lexicon import stem_of
from conspectus.query.graph_question.question_form import ReadQuestion
from conspectus.query.walk.graph import KnowledgeGraph, is_id, kept_postings, open_graph, spoken
from conspectus.storage.cancellation import check
from conspectus.storage.index import per_index
from conspectus.storage.name_tables import alias_rows
from conspectus.storage.text.language_tables import base_of
from conspectus.storage.text.names import word_keys
from conspectus.storage.text.postings import Postings, PostingsMaker
from conspectus.storage.text.word_lists import zipf
from conspectus.storage.text.words import FUNCTION_WORDS, without_accents

_LONGEST = 8
_MOST_OF_NAME = 12
"""Names that may contain the same word (times the square of the number of words); beyond that, it names nothing."""
_PART, _INITIALS, _MISSPELLED, _DERIVED = 0.7, 0.85, 0.85, 0.75
"""Likeness of a mention that is not a whole name: a part (at most), initials, a misspelling, a word of its stem."""
_LEAST_SHARE = 0.3
"""Minimum share of a name's words that must be mentioned."""
_LEAST_LETTERS = 5
_KEPT_SLIPS = 1_000
_LEAST_OF_STEM = 4


@dataclass(frozen=True, slots=True)
class EntityMention:
    """Words [start, end) of a question that name entities: the entities' rows, and the likeness to their names."""

    start: int
    end: int
    rows: tuple[int, ...]
    likeness: float

    @property
    def places(self) -> frozenset[int]:
        """The places of its words."""
        return frozenset(range(self.start, self.end))


class NamesByWord:
    """An index of a graph's names by their words.

    Attributes:
        degree: int64 (n,), the number of edges of each entity.
    """

    def __init__(self, graph: KnowledgeGraph, postings: Mapping[str, Postings]) -> None:
        self._graph = graph
        self.degree = graph.degrees()
        self._whole, self._with, self._initials = postings["whole"], postings["with"], postings["initials"]
        self._squeezed, self._stems = postings["squeezed"], postings["stems"]
        self.slips = lru_cache(_KEPT_SLIPS)(self._nearest)  # the spans around a word look for the same ones

    def whole(self, keys: Sequence[str]) -> list[int]:
        """Return the rows with this whole name, or with it written as one word or as several."""
        squeezed = "".join(keys)
        return self._whole.get(" ".join(keys)) or (self._squeezed.get(squeezed) if len(squeezed) > 3 else [])

    def is_name(self, keys: Sequence[str]) -> bool:
        """Return whether these words are a whole name."""
        return bool(self._whole.get(" ".join(map(without_accents, keys))))

    def initials(self, key: str) -> list[int]:
        """Return the rows of the names with these initials."""
        return self._initials.get(key) if 3 <= len(key) <= 5 and key.isalpha() else []

    def parts(self, keys: Sequence[str]) -> tuple[list[int], float]:
        """Return the rows whose names contain all given words, those with most edges first, and their likeness."""
        rows: set[int] | None = None
        for key in keys:
            held = set(self._with.get(key))
            rows = held if rows is None else rows & held
            if not rows:
                return [], 0.0
        assert rows is not None
        if len(rows) > _MOST_OF_NAME * len(keys) ** 2:
            return [], 0.0
        length = {row: self._length(row) for row in rows}
        ranked = sorted(rows, key=lambda row: (length[row], -int(self.degree[row]), row))
        least = length[ranked[0]]
        same = [row for row in ranked if length[row] <= least + 1]
        best = sorted(same, key=lambda row: -int(self.degree[row]))[:3]
        share = len(keys) / max(1, length[best[0]])
        if share < _LEAST_SHARE:
            return [], 0.0
        return best, _PART * (0.6 + 0.4 * min(1.0, share)) / (1 + 0.1 * (len(rows) > 1))

    def _length(self, row: int) -> int:
        """Return the number of words in a name, without function words."""
        return sum(key not in FUNCTION_WORDS for key in name_keys(spoken(self._graph.names[row])))

    def derived(self, key: str) -> list[int]:
        """Return the rows of one-word names that share a stem, or most of it, with a word."""
        stem = stem_of(key)
        if rows := self._stems.get(stem):
            return rows
        if len(stem) < _LEAST_OF_STEM:
            return []
        near = [other for other in self._stems.starting(stem[:_LEAST_OF_STEM]) if _same_root(stem, other)]
        return [row for other in near for row in self._stems.get(other)]

    def _nearest(self, key: str) -> list[str]:
        """Return the words of names that are at most one letter away, or two if the word has eight letters or more."""
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        if len(key) < _LEAST_LETTERS or not key.isalpha():
            return []
        most = 1 if len(key) < 8 else 2
        found = process.extract(key, self._with.starting(key[:1]), scorer=OSA.distance, score_cutoff=most, limit=4)
        return [near for near, _, _ in sorted(found, key=lambda item: item[1])]

    def holds(self, key: str) -> bool:
        """Return whether any name contains this word."""
        return key in self._with


_NATIONS = base_of("nations")
"""Words for a country's people and things that share few or no first letters with the country's name."""


def _same_root(first: str, second: str) -> bool:
    """Return whether two stems are the same word with different endings: drowsi, drowsy; inject, injection.

    >>> _same_root("psychiatr", "psychiatri"), _same_root("german", "germany"), _same_root("portug", "portfolio")
    (True, True, False)
    """
    shared = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        shared += 1
    return (
        shared >= _LEAST_OF_STEM
        and len(first) - shared <= 3
        and len(second) - shared <= 4
        and (shared >= 0.6 * max(len(first), len(second)))
    )


def name_keys(name: str) -> tuple[str, ...]:
    """Return the words of a name in the form used for comparison: lower case, no accents, no possessive."""
    return tuple(without_accents(key) for key in word_keys(name) if key != "'s")


@per_index
def open_names(context: Context) -> NamesByWord:
    """Return the names of the index's graph by their words; for a large graph they are memory-mapped from files."""
    graph = open_graph(context)
    aliases = [(spoken(alias), row) for alias, row in alias_rows(context.index).items()]
    return NamesByWord(graph, kept_postings(context, "names", _FORM, lambda: _by_words(graph, aliases), _KINDS))


_KINDS = ("whole", "with", "initials", "squeezed", "stems")
_FORM = 1
"""Incremented when the content of the name files changes."""


def _by_words(graph: KnowledgeGraph, aliases: Iterable[tuple[str, int]]) -> dict[str, Postings]:
    """Return the rows of entities by whole name, word, initials, name as one word, and stem of a one-word name."""
    found = {kind: PostingsMaker() for kind in _KINDS}
    alone: defaultdict[str, list[int]] = defaultdict(list)
    named = ((spoken(name), row) for row, name in enumerate(graph.names) if not is_id(name))
    for name, row in chain(named, aliases):
        keys = name_keys(name)
        if not keys:
            continue
        found["whole"].add(" ".join(keys), row)
        content = [key for key in keys if key not in FUNCTION_WORDS]
        for key in set(content):
            found["with"].add(key, row)
        found["squeezed"].add("".join(keys), row)
        if len(keys) > 1:
            found["initials"].add("".join(key[0] for key in keys), row)
            found["initials"].add("".join(key[0] for key in content), row)
        elif len(keys[0]) >= _LEAST_OF_STEM and not keys[0].isdigit():
            alone[keys[0]].append(row)
    for key, rows in alone.items():
        for row in rows:
            found["stems"].add(stem_of(key), row)
    return {kind: made.postings() for kind, made in found.items()}


def find_mentions(context: Context, asked: ReadQuestion, known: frozenset[str]) -> list[EntityMention]:
    """Return the mentions in a question, which may overlap, longer and likelier ones first.

    Args:
        context: The open index.
        asked: The question.
        known: Stems of words that express relations: such a word alone does not mention a name that it is a part of.
    """
    names = open_names(context)
    keys = [without_accents(word.key) for word in asked.words]
    found: list[EntityMention] = []
    for start in range(len(keys)):
        check()
        for end in range(min(len(keys), start + _LONGEST), start, -1):
            found += _at(names, asked, keys, start, end, known)
    covered = frozenset().union(*(mention.places for mention in found if mention.end - mention.start > 1))
    found = [_in_a_longer_name(asked, mention, covered) for mention in found]
    kept: list[EntityMention] = []
    for mention in sorted(found, key=lambda item: (-item.likeness * (item.end - item.start), item.start)):
        inside = [other for other in kept if other.start <= mention.start and mention.end <= other.end]
        longer = any(other.places > mention.places and other.likeness >= mention.likeness for other in inside)
        if not longer and all(other.rows != mention.rows for other in inside):
            kept.append(mention)
    return kept


def _in_a_longer_name(asked: ReadQuestion, mention: EntityMention, covered: frozenset[int]) -> EntityMention:
    """Return a mention with reduced likeness if it is one word of a longer capitalised name that was not found.

    `covered` are the places in mentions of several words.
    """
    if mention.end - mention.start > 1 or not asked.surface(mention.start)[:1].isupper():
        return mention
    run = {mention.start}
    for step in (-1, 1):
        place = mention.start + step
        while 0 < place < len(asked.words) and place not in covered:
            if asked.surface(place)[:1].isupper():
                run.add(place)
            elif asked.words[place].key not in _JOINING:
                break
            place += step
    return replace(mention, likeness=_PARTIAL * mention.likeness) if len(run) > 2 else mention


_JOINING = frozenset("of at the and a an in on to for 's".split())
_PARTIAL = 0.4
"""Factor on the likeness of a word inside a longer name."""


def _at(
    names: NamesByWord, asked: ReadQuestion, keys: Sequence[str], start: int, end: int, known: frozenset[str]
) -> list[EntityMention]:
    """Return the mentions at words [start, end)."""
    span = [key for key in keys[start:end] if key != "'s"]
    content = [key for key in span if key not in FUNCTION_WORDS]
    if not content or (span[0] == "the" and len(span) > 1 and not names.whole(span)):
        return []
    if keys[end - 1] == "'s" or keys[start] == "'s":
        return []
    rows = names.whole(span)
    capital = any(not asked.surface(place)[:1].islower() for place in range(start, end))
    if rows:
        common = len(span) == 1 and not capital and asked.stems[start] in known
        found = [EntityMention(start, end, _best_known(names, rows), 0.6 if common else 1.0)]
        longer, likeness = names.parts(content) if not common else ([], 0.0)
        if more := tuple(row for row in longer if row not in found[0].rows):
            found.append(EntityMention(start, end, more, likeness))
        return found
    if len(span) == 1:
        key = span[0]
        nation = _NATIONS.get(key) or _NATIONS.get(key.removesuffix("s"), "")
        if nation and (rows := names.whole(nation.split())):
            return [EntityMention(start, end, _best_known(names, rows), _DERIVED)]
        if rows := names.initials(key):
            return [EntityMention(start, end, _best_known(names, rows), _INITIALS)]
        weight = asked.weights[start]
        if weight >= 1 and (rows := names.derived(key)):
            likeness = _DERIVED * (0.6 if asked.stems[start] in known else 1.0)
            longer, partly = names.parts([key])
            more = tuple(row for row in longer if row not in rows)
            found = [EntityMention(start, end, _best_known(names, rows), likeness)]
            return found + ([EntityMention(start, end, more, partly)] if more and likeness == _DERIVED else [])
        if weight >= 1 and asked.stems[start] not in known:
            rows, likeness = names.parts([key])
            if rows:
                return [EntityMention(start, end, tuple(rows), likeness * (1.0 if capital else 0.85))]
            if not names.holds(key):
                slips = [row for near in names.slips(key) for row in names.whole([near])]
                if slips:
                    return [EntityMention(start, end, _best_known(names, slips), _MISSPELLED)]
        return []
    if span[0] in FUNCTION_WORDS or span[-1] in FUNCTION_WORDS or "or" in span:
        return []
    named = any(asked.stems[place] not in known and asked.weights[place] >= 1 for place in range(start, end))
    rows, likeness = names.parts(content) if named else ([], 0.0)
    if rows:
        return [EntityMention(start, end, tuple(rows), likeness)]
    if rows := names.whole([*span[:-1], _singular(span[-1])]):
        return [EntityMention(start, end, _best_known(names, rows), 0.95)]
    mended = [_mended(names, key) for key in span] if named else span
    if mended != span and (rows := names.whole(mended)):
        return [EntityMention(start, end, _best_known(names, rows), _MISSPELLED)]
    return []


def _mended(names: NamesByWord, key: str) -> str:
    if names.holds(key):
        return key
    return next(iter(names.slips(key)), key)


def _singular(key: str) -> str:
    return key[:-1] if key.endswith("s") and not key.endswith("ss") else key


def _best_known(names: NamesByWord, rows: Sequence[int]) -> tuple[int, ...]:
    """Return the up to four distinct rows with most edges, best first."""
    distinct = list(dict.fromkeys(rows))
    order = np.argsort([-int(names.degree[row]) for row in distinct], kind="stable")
    return tuple(distinct[place] for place in order[:4])


def spelled(context: Context, asked_words: Sequence[str], vocabulary: frozenset[str]) -> dict[int, str]:
    """Return corrections of misspelled words by their places: words of the graph or of common English.

    A word is misspelled if it is rare in English, no name contains it, and a known word is one letter away (swapping
    two neighbours counts as one).
    """
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    names = open_names(context)
    found: dict[int, str] = {}
    for place, key in enumerate(asked_words):
        if len(key) < _LEAST_LETTERS or not key.isalpha() or key in vocabulary or names.holds(key):
            continue
        if zipf(key) >= _USED:
            continue
        check()
        options = process.extract(key, vocabulary, scorer=OSA.distance, score_cutoff=1, limit=None)
        near = [word for word, _, _ in options if zipf(word) >= _USED - 1]
        if near:
            found[place] = max(near, key=lambda word: (zipf(word), word))
    return found


_USED = 2.7
"""Zipf frequency from which a word counts as common English."""
