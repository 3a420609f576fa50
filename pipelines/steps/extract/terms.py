"""Choose terms among the annotated phrases: a name, or a phrase that the corpus is about.

Three criteria apply, in this order. Identifiers (options, functions, files; see storage/text/identifiers.py) and names
of people, places and things are terms by their form; entries of headings and indexes are terms because documents list
them. Other noun phrases need evidence of the whole corpus: their C-value, and the weirdness and uneven spread of their
words (termhood.py). Types of names remain if the corpus confirms them (name_types.py).

"Hash keys" and "hash key" are one term, in the more frequent form. The remaining terms of a passage are capped at the
best ones, because a passage that names more is a list or a table. The choice depends on all passages, and is repeated
in every build.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import regex
from conspectus.pipelines.steps.extract.candidates import candidates, common_foreign_words, with_phrases
from conspectus.pipelines.steps.extract.clauses import with_clauses
from conspectus.pipelines.steps.extract.name_types import LOOKED_AT, CorpusName, types_of
from conspectus.pipelines.steps.extract.termhood import WordStatistics, c_values_of, folded_phrase, is_form_word
from conspectus.storage.records import Chunk, Document
from conspectus.storage.structure.terms import EXPLAINED
from conspectus.storage.text.identifiers import IDENTIFIERS
from conspectus.storage.text.names import word_keys
from conspectus.storage.text.nlp import CONCEPT, Annotation, Annotations, Phrase
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
    sound = Annotations(
        candidates(chunk.text, annotation, language, foreign)
        for chunk, annotation, language in zip(chunks, annotations, languages, strict=True)
    )
    terms = _terms(chunks, sound, languages, listed_terms(documents))
    best = (_best(chunk, annotation, terms) for chunk, annotation in zip(chunks, sound, strict=True))
    return Annotations(
        with_clauses(chunk.text, annotation, language)
        for chunk, annotation, language in zip(chunks, best, languages, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Term:
    """The term of a key: its usual form, its type, and its value compared with others of a passage."""

    text: str
    type: str
    worth: float


def listed_terms(documents: Sequence[Document]) -> frozenset[str]:
    """Return the keys of the terms that documents list: headings, index entries, and terms of definitions."""
    headings = (place.label for document in documents for place in document.places if place.kind == _HEADING)
    entries = (
        document.text[link.start : link.end]
        for document in documents
        for link in document.hyperlinks
        if link.kind in EXPLAINED
    )
    return frozenset(entity_key(_NUMBERING.sub("", each)) for each in (*headings, *entries))


@dataclass(slots=True)
class _Seen:
    """The sightings of a phrase: how often as which type, in which form and language, and where the first ones end."""

    said: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    ends: list[tuple[Chunk, int]] = field(default_factory=list)

    def __len__(self) -> int:
        return self.said.total()

    def counted(self, column: int) -> Counter[str]:
        """Return the number of sightings by type (column 0), form (1) or language (2)."""
        found: Counter[str] = Counter()
        for key, times in self.said.items():
            found[key[column]] += times
        return found

    @property
    def language(self) -> str:
        """The language of most mentions."""
        languages = self.counted(_LANGUAGE)
        return min(languages, key=lambda language: (-languages[language], language))


_TYPE, _FORM, _LANGUAGE = range(3)


def _seen(chunks: Sequence[Chunk], annotations: Sequence[Annotation], languages: Sequence[str]) -> dict[str, _Seen]:
    """Return the sightings by key, those at one place of overlapping passages once."""
    seen: defaultdict[str, _Seen] = defaultdict(_Seen)
    shared: set[tuple[str, str, int]] = set()
    for chunk, annotation, language, alone in zip(chunks, annotations, languages, _alone(chunks), strict=True):
        here: set[tuple[str, str, int]] = set()
        for phrase in annotation.phrases:
            key, start = entity_key(phrase.text), chunk.start + phrase.start
            places = here if start in alone else shared
            if (place := (key, chunk.document_id, start)) not in places:
                places.add(place)
                one = seen[key]
                one.said[phrase.type, phrase.text, language] += 1
                if len(one.ends) < LOOKED_AT:
                    one.ends.append((chunk, phrase.end))
    return seen


def _alone(chunks: Sequence[Chunk]) -> list[range]:
    """Return the offsets of each chunk that no other chunk of its document has."""
    alone = [range(0)] * len(chunks)
    of_document: defaultdict[str, list[int]] = defaultdict(list)
    for row, chunk in enumerate(chunks):
        of_document[chunk.document_id].append(row)
    for rows in of_document.values():
        rows.sort(key=lambda row: chunks[row].start)
        before = 0
        for row, after in zip(rows, [*(chunks[row].start for row in rows[1:]), None], strict=True):
            alone[row] = range(max(before, chunks[row].start), chunks[row].end if after is None else after)
            before = max(before, chunks[row].end)
    return alone


def _terms(
    chunks: Sequence[Chunk], annotations: Sequence[Annotation], languages: Sequence[str], listed: frozenset[str]
) -> dict[str, _Term]:
    """Return the terms of a corpus by the keys of their forms."""
    statistics = WordStatistics(chunks, languages)
    seen = _seen(chunks, annotations, languages)
    types = types_of([_mentioned(key, one) for key, one in seen.items()], statistics)
    concepts = {key for key, kind in types.items() if kind == CONCEPT or _is_common_word(key, kind, statistics)}
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for key, one in seen.items():
        forms[folded_phrase(key, one.language) if key in concepts else key].append(key)
    c_values = c_values_of({term: sum(len(seen[key]) for key in keys) for term, keys in forms.items()})
    terms: dict[str, _Term] = {}
    for term, keys in forms.items():
        usual = min(keys, key=lambda key: (-len(seen[key]), len(key), key))
        count, kind = len(seen[usual]), types[usual]
        if not any(key in concepts for key in keys):
            if (kind not in IDENTIFIERS or count > 1) and not _is_form(usual, seen[usual].language):
                terms[usual] = _Term(usual, kind, count)
            continue
        is_listed = any(key in listed for key in (term, *keys))
        if (is_listed or c_values[term] >= LEAST_C_VALUE) and statistics.is_about(
            usual, seen[usual].language, listed=is_listed
        ):
            terms |= {key: _Term(usual, CONCEPT, c_values[term]) for key in keys}
    return terms


def _mentioned(key: str, one: _Seen) -> CorpusName:
    forms = one.counted(_FORM)
    return CorpusName(key, min(forms, key=lambda form: (-forms[form], form)), one.counted(_TYPE), one.ends)


def _is_common_word(key: str, kind: str, statistics: WordStatistics) -> bool:
    """Return whether a name is one word that the corpus mostly writes in lower case, except at the start of a line.

    A word unknown in general language is a name even so.
    """
    found = word_keys(key)
    if kind in IDENTIFIERS or len(found) != 1:
        return False
    return statistics.named(found[0]) < LEAST_NAMED and statistics.is_known(found[0])


def _is_form(key: str, language: str) -> bool:
    """Return whether all words of a name are form words: "See Section", "Syntax"."""
    found = word_keys(key)
    return bool(found) and all(is_form_word(word, language) for word in found)


def _best(chunk: Chunk, annotation: Annotation, terms: Mapping[str, _Term]) -> Annotation:
    """Return the terms of an annotation, the best first, as many as the length of its passage permits."""
    size = len(word_keys(chunk.text))
    found = {phrase: terms[key] for phrase in annotation.phrases if (key := entity_key(phrase.text)) in terms}
    kept: set[str] = set()
    room_of_names = max(size // WORDS_A_NAME, _FEWEST_NAMES)
    room_of_concepts = max(size // WORDS_A_CONCEPT, _FEWEST_CONCEPTS)
    for of_concepts, room in ((False, room_of_names), (True, room_of_concepts)):
        worth = {term.text: term.worth for term in found.values() if (term.type == CONCEPT) == of_concepts}
        kept.update(sorted(worth, key=lambda text: (-worth[text], text))[:room])
    stands_for: dict[Phrase, Phrase | None] = {}
    for phrase in annotation.phrases:
        term = found.get(phrase)
        if term is None or term.text not in kept:
            stands_for[phrase] = None
        else:
            text = phrase.text if entity_key(phrase.text) == term.text else term.text
            stands_for[phrase] = Phrase(phrase.start, phrase.end, text, term.type)
    return with_phrases(annotation, stands_for)
