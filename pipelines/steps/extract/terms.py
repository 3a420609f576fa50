"""Choose terms among the annotated phrases: a name, or a phrase that the corpus is about.

Three criteria apply, in this order. Identifiers (options, functions, files; see storage/text/identifiers.py) and names
of people, places and things are terms by their form; entries of headings and indexes are terms because documents list
them. Other noun phrases need evidence of the whole corpus: their C-value, and the weirdness and uneven spread of their
words (termhood.py). Types of names remain if the corpus confirms them (name_types.py).

"Hash keys" and "hash key" are one term, in the more frequent form. The remaining terms of a passage are capped at the
best ones, because a passage that names more is a list or a table. The choice depends on all passages, and is repeated
in every build.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import regex
from conspectus.pipelines.steps.extract.candidates import candidates, common_foreign_words
from conspectus.pipelines.steps.extract.clauses import with_all_clauses
from conspectus.pipelines.steps.extract.name_types import types_of
from conspectus.pipelines.steps.extract.seen_phrases import SeenPhrases
from conspectus.pipelines.steps.extract.termhood import WordStatistics, c_values_of, folded_phrase, is_form_word
from conspectus.storage.arrays import Floats, Rows, SmallInts, places_within, ranks, runs
from conspectus.storage.numbering import numbering
from conspectus.storage.records import Chunk, Document
from conspectus.storage.structure.terms import EXPLAINED
from conspectus.storage.tables import arrow_of
from conspectus.storage.text.identifiers import IDENTIFIERS
from conspectus.storage.text.names import word_keys
from conspectus.storage.text.nlp import CONCEPT, NAME, Annotation, Annotations
from conspectus.storage.text.normalise import entity_key

LEAST_C_VALUE = 3.0
"""Least C-value of a noun phrase: three occurrences, or two if it has several words."""
LEAST_NAMED = 1 / 3
"""Least share of capitalised occurrences for a common word to be a name."""
WORDS_A_CONCEPT, WORDS_A_NAME = 20, 5
"""Words of a passage for each concept, and for each name, that it may contain: a passage that names more is a table or
a list. (Articles of an encyclopedia name one thing in ten words.)"""
_FEWEST_CONCEPTS, _FEWEST_NAMES = 4, 12
"""The caps of a short passage: a sentence or two may well introduce a dozen people."""
_NUMBERING = regex.compile(r"^[\d.\s]+")
_HEADING = "heading"


def choose_terms(
    chunks: Sequence[Chunk],
    annotations: Sequence[Annotation],
    languages: Sequence[str],
    documents: Sequence[Document] = (),
) -> Annotations:
    """Return the annotations with only the terms among their phrases, and the triples between these.

    In languages without a tagger the triples are the statements of plain clauses (clauses.py). The text of a phrase is
    that of the term: the usual form of the words in the passage.

    Args:
        chunks: All passages of the corpus.
        annotations: The annotation of each.
        languages: The language of each as an ISO 639-1 code, "" if unknown.
        documents: The documents, whose headings and indexes list terms.
    """
    foreign = common_foreign_words(languages)
    statistics, sizes = WordStatistics(), array("I")
    sound = Annotations()
    for chunk, annotation, language in zip(chunks, annotations, languages, strict=True):
        sizes.append(statistics.add(chunk.text, language))
        sound.extend([candidates(chunk.text, annotation, language, foreign)])
    seen = SeenPhrases(chunks, sound.spill(), languages)
    terms = _terms(seen, types_of(seen, statistics, chunks), statistics, listed_terms(documents))
    del statistics
    chosen = _named(sound, seen, terms, _best(seen, terms, sizes))
    del seen, terms, sound
    return with_all_clauses(chunks, chosen, languages)


class _Terms(NamedTuple):
    """The terms of a corpus: by the row of each phrase, that of the term it is a form of (-1: of none).

    By the row of a term, its type and its value compared with others of a passage.
    """

    of: SmallInts
    kinds: list[str]
    worth: Floats


def listed_terms(documents: Sequence[Document]) -> frozenset[str]:
    """Return the keys of the terms that documents list: headings, index entries, and terms of definitions."""
    return frozenset(entity_key(_NUMBERING.sub("", each)) for each in _listed(documents))


def _listed(documents: Sequence[Document]) -> Iterator[str]:
    from pyarrow import compute

    table = arrow_of(Document, documents, ["places", "hyperlinks"])
    places, hyperlinks = (compute.list_value_length(column).to_numpy() for column in table.columns)
    for row in np.flatnonzero((places > 0) | (hyperlinks > 0)).tolist():
        document = documents[row]
        yield from (place.label for place in document.places if place.kind == _HEADING)
        yield from (document.text[link.start : link.end] for link in document.hyperlinks if link.kind in EXPLAINED)


def _terms(seen: SeenPhrases, kinds: Sequence[str], statistics: WordStatistics, listed: frozenset[str]) -> _Terms:
    """Return the terms of a corpus, given the type of each phrase."""
    keys, counts = seen.keys, seen.counts
    terms = _Terms(np.full(len(keys), -1, np.int32), list(kinds), counts.astype(np.float64))
    forms = _Forms(seen, [row for row, kind in enumerate(kinds) if _is_concept(keys[row], kind, statistics)])
    for row in forms.names:
        is_said = kinds[row] not in IDENTIFIERS or counts[row] > 1
        if is_said and not _is_form(keys[row], seen.languages[row]):
            terms.of[row] = row
    for term, rows, c_value in forms.concepts():
        usual = min(rows, key=lambda row: (-counts[row], len(keys[row]), keys[row]))
        is_listed = term in listed or any(keys[row] in listed for row in rows)
        if (is_listed or c_value >= LEAST_C_VALUE) and statistics.is_about(
            keys[usual], seen.languages[usual], listed=is_listed
        ):
            terms.of[rows] = usual
            terms.kinds[usual] = CONCEPT
            terms.worth[usual] = c_value
    return terms


class _Forms:
    """The forms of each concept, by its folded key; a name that reads like one is a form of it."""

    def __init__(self, seen: SeenPhrases, concepts: Sequence[int]) -> None:
        self._numbers = numbering()
        self._seen = seen
        of = np.full(len(seen.keys), -1, np.int32)
        for row in concepts:
            of[row] = self._numbers[folded_phrase(seen.keys[row], seen.languages[row])]
        for row in np.flatnonzero(of < 0).tolist():
            of[row] = self._numbers.get(seen.keys[row], -1)
        self.names = np.flatnonzero(of < 0).tolist()
        """The rows of the other names."""
        self._rows = np.argsort(of, kind="stable")[len(self.names) :]
        self._of = of[self._rows]

    def concepts(self) -> Iterator[tuple[str, Rows, float]]:
        """Yield each folded key, the rows of its forms, and its C-value."""
        keys, counts, size = self._seen.keys, self._seen.counts, len(self._numbers)
        said = np.bincount(self._of, counts[self._rows], size).astype(np.int64).tolist()
        names = ((keys[row], counts.item(row)) for row in self.names)
        values = c_values_of(self._numbers, said, chain(zip(self._numbers, said, strict=True), names))
        ends = np.searchsorted(self._of, np.arange(size + 1)).tolist()
        for term, (first, end), value in zip(self._numbers, pairwise(ends), values, strict=True):
            yield term, self._rows[first:end], value


def _is_concept(key: str, kind: str, statistics: WordStatistics) -> bool:
    return kind == CONCEPT or _is_common_word(key, kind, statistics)


def _is_common_word(key: str, kind: str, statistics: WordStatistics) -> bool:
    """Return whether a name is one word that the corpus mostly writes in lower case, except at the start of a line.

    A word unknown in general language is a name even so, and so is one with a type in a script without capitals.
    """
    found = word_keys(key)
    if kind in IDENTIFIERS or len(found) != 1 or (kind != NAME and found[0].isalpha() and not found[0].islower()):
        return False
    return statistics.named(found[0]) < LEAST_NAMED and statistics.is_known(found[0])


def _is_form(key: str, language: str) -> bool:
    """Return whether all words of a name are form words: "See Section", "Syntax"."""
    found = word_keys(key)
    return bool(found) and all(is_form_word(word, language) for word in found)


def _best(seen: SeenPhrases, terms: _Terms, sizes: Sequence[int]) -> Rows:
    """Return the rows of the phrases that are the best terms of their passages, as many as these permit.

    Args:
        seen: The phrases of the corpus.
        terms: Its terms.
        sizes: The number of words of each passage.
    """
    is_concept = np.array([kind == CONCEPT for kind in terms.kinds], np.bool_)
    words = np.array(sizes, np.int64)
    rooms = (np.maximum(words // WORDS_A_NAME, _FEWEST_NAMES), np.maximum(words // WORDS_A_CONCEPT, _FEWEST_CONCEPTS))
    term, rank = terms.of[seen.rows()], ranks(seen.keys)
    is_kept = term >= 0
    for of_concepts, room in enumerate(rooms):
        found = np.flatnonzero((term >= 0) & (is_concept[term] == of_concepts))
        crowded = np.bincount(seen.passages[found], minlength=len(room)) > room
        found = found[crowded[seen.passages[found]]]
        passage = seen.passages[found]
        order, starts = runs(passage, -terms.worth[term[found]], rank[term[found]])
        each = passage[order[starts]]  # the passage of each of its terms, the best first
        too_many = np.repeat(places_within(each) >= room[each], np.diff(starts, append=len(order)))
        is_kept[found[order[too_many]]] = False
    return np.flatnonzero(is_kept)


def _named(sound: Annotations, seen: SeenPhrases, terms: _Terms, best: Rows) -> Annotations:
    """Return the annotations with only the best phrases, as forms of their terms and of these terms' types."""
    key = seen.rows()[best]
    term = terms.of[key]
    texts = sound.phrases()[0][best, 2]
    is_other = term != key
    used, of = np.unique(term[is_other], return_inverse=True)
    texts[is_other] = np.array([sound.number(seen.keys[row]) for row in used.tolist()], np.uint32)[of]
    kinds = np.array([sound.number(kind) for kind in terms.kinds], np.uint32)[term]
    return sound.only(best, texts, kinds)
