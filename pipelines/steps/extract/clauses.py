"""Statements of plain clauses in languages without a tagger: a subject, a common verb and an object in this order.

"Das Paket enthält die Datei" states a relation between a package and a file. Without a tagger this is only clear if the
first term begins its clause, with at most an article and an adjective before it, a common verb in the third person
follows immediately, and only function words separate it from the next term. This finds few statements, most of them
right: of 25 checked among the 59 of a German handbook, 22. Auxiliaries, and "is" with a preposition ("ist in ...
enthalten"), have their verb elsewhere and state nothing here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import regex
from conspectus.storage.records import Chunk
from conspectus.storage.text.language_tables import by_language
from conspectus.storage.text.nlp import Annotation, Annotations, Phrase, Triple
from conspectus.storage.text.sentences import sentence_spans

_MOST_BETWEEN, _MOST_BEFORE = 5, 3
"""Maximum number of words between the two terms, and before the first in its clause."""
_CLAUSE = regex.compile(r"[,;:.!?()\n„“«»\"，；：。！？、《》]")
_SMALL = regex.compile(r"[\p{Ll}\p{Han}\s'’-]+")


class _Language:
    """The words of plain clauses: verbs, forms of "to be", words that may begin a subject, and prepositions."""

    def __init__(self, language: str) -> None:
        own = {role: frozenset(texts.get(language, "").split()) for role, texts in _TABLE.items()}
        self.being, self.articles, self.prepositions = own["being"], own["articles"], own["prepositions"]
        self.verbs = own["verbs"] | self.being
        self.kept = self.prepositions | own["kept"]
        self.reflexive = self.kept & {"sich", "se", "si", "zich", "się"}


_TABLE = by_language("conspectus.pipelines.steps.extract", "clauses.txt")
_LANGUAGES = {language: _Language(language) for language in _TABLE["verbs"]}


def with_all_clauses(chunks: Sequence[Chunk], annotations: Annotations, languages: Sequence[str]) -> Annotations:
    """Return the annotations of chunks in some languages with the statements of their plain clauses."""
    if _LANGUAGES.keys().isdisjoint(languages):
        return annotations
    each = zip(chunks, annotations, languages, strict=True)
    found = (with_clauses(chunk.text, own, language) for chunk, own, language in each)
    return Annotations(found, like=annotations).spill()


def with_clauses(text: str, annotation: Annotation, language: str) -> Annotation:
    """Return an annotation with the statements of a text's plain clauses, if no tagger found any.

    >>> pump, oil = Phrase(4, 9, "Pumpe", "CONCEPT"), Phrase(22, 24, "Öl", "CONCEPT")
    >>> with_clauses("Die Pumpe braucht das Öl.", Annotation((pump, oil), ()), "de").triples[0].predicate
    'braucht'
    """
    words = _LANGUAGES.get(language)
    if words is None or annotation.triples:
        return annotation
    return replace(annotation, triples=tuple(_triples(text, annotation.phrases, words)))


def _triples(text: str, phrases: Sequence[Phrase], words: _Language) -> Iterator[Triple]:
    ordered = sorted(phrases, key=lambda phrase: (phrase.start, phrase.end))
    for start, end in sentence_spans(text):
        inside = [phrase for phrase in ordered if start <= phrase.start and phrase.end <= end]
        for subject, object_ in pairwise(inside):
            predicate = _predicate(text[subject.end : object_.start], words)
            if predicate and subject.text != object_.text and _begins(text[start : subject.start], words):
                yield Triple(subject, predicate, object_, start, end)


def _predicate(between: str, words: _Language) -> str:
    """Return the verb between two terms, with its negation and preposition; "" if no plain verb joins them."""
    said = between.split()
    if not 1 <= len(said) <= _MOST_BETWEEN or not _SMALL.fullmatch(between) or said[0] not in words.verbs:
        return ""
    if said[0] in words.being and (words.prepositions | words.reflexive) & set(said[1:]):
        return ""
    rest = [word for word in said[1:] if word in words.kept]
    return " ".join((said[0], *rest))


def _begins(before: str, words: _Language) -> bool:
    """Return whether a term begins its clause, or only an article and modifiers precede it."""
    clause = _CLAUSE.split(before)[-1].lower().split()
    if not clause:
        return True
    return len(clause) <= _MOST_BEFORE and clause[0] in words.articles and not words.prepositions & set(clause[1:])
