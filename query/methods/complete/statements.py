"""Statements of one form as rows: "Alma is a goat." and "Dusty is a pony." have the columns "… is a" and "is a …".

A form is found as message templates are in logs: its fixed words are in most of its sentences, what differs is in few.
For each sentence the words that at least n sentences have are fixed, for the largest n such that about as many
sentences have that form.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

import regex
from conspectus.query.methods.complete.question_words import words_of
from conspectus.query.methods.complete.sets import Rows, Table
from conspectus.storage.cancellation import check
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.locators import HEADING
from conspectus.storage.records import LANGUAGE, Document
from conspectus.storage.text.language import function_words
from conspectus.storage.text.names import Word, words
from conspectus.storage.text.sentences import sentence_spans

MOST_CHARACTERS = 500_000
"""Characters of the documents in which forms are looked for."""
_LEAST = 3
"""Statements of a form."""
_MOST_WORDS = 30
_MOST_FORMS = 100
_OF_FIXED = 0.4
"""Least share of the sentences with the rarest fixed word that have the form."""
_ALWAYS = ("en", "de", "fr", "es")
"""Languages whose small words are known whatever the documents are in: short ones are not told apart."""
_ARTICLES = frozenset(
    "ein eine einen einem einer der die das den un une le la les des l el los las una il lo gli uno um uma".split()
)
"""Articles that differ with the noun, so that they are no part of a form."""
_OPEN = "*"
_SAYS_NOTHING = _ARTICLES | frozenset((_OPEN, "a", "an", "the"))
"""Words that alone are no form: "the ..." or "... a ..." says nothing of its parts."""
_NO_SENTENCE = regex.compile(r"[|{}\[\]=<>\\]|\":|^\S*\d[/.-]\d+[/.-]\d+,? \d+:\d\d|[:：]$")
"""Signs of tables and code, the beginning of a message, and the end of an introduction."""
_TABLES = regex.compile(r"\.(?:csv|tsv|xlsx)$", regex.I)
_MARKS = " \t\n.,;:!?…\"'“”„«»()[]-–—*"

_Sentence = tuple[str, str, int, list[Word]]
"""The id of a document, the text of a sentence, where it begins, and its words."""


@per_index
def statements(index: StoredIndex) -> tuple[Table, ...]:
    """Return the statements of each form that at least three sentences of the documents have."""
    sizes = index.arrow(Document, "n_chars").column("n_chars").to_pylist()
    if sum(sizes) > MOST_CHARACTERS:
        return ()
    sentences = list(_sentences(index))
    languages = {document.metadata.get(LANGUAGE, "") for document in index.each(Document)}
    known = tuple(sorted({*_ALWAYS, *languages}))
    small = frozenset().union(*map(function_words, known)) - _ARTICLES
    made = {form: Rows("statements") for form in _forms([found for *_, found in sentences], small)}
    unclear = set()
    for document, text, start, found in sentences:
        check()
        cells, form = next(((cells, form) for form in made if (cells := _cells(text, found, form, small))), ({}, ()))
        if cells:
            made[form].add(document, start, start + len(text), cells)
        if not words_of("not", known).isdisjoint((word.key,) for cell in cells.values() for word in words(cell)):
            unclear.add(form)
    for form, rows in made.items():
        rows.names = {part: None for part in form if part != _OPEN and part not in small}
    return tuple(rows.table() for form, rows in made.items() if form not in unclear)


def _sentences(index: StoredIndex) -> Iterator[_Sentence]:
    for document in index.each(Document):
        check()
        if not _TABLES.search(document.uri):
            headings = {place.start for place in document.places if place.kind == HEADING}
            for start, end in sentence_spans(document.text):
                text = "" if start in headings else document.text[start:end]
                found = words(text, _MOST_WORDS + 1)
                if 2 < len(found) <= _MOST_WORDS and not _NO_SENTENCE.search(text):
                    yield document.id, text, start, found


def _forms(sentences: Sequence[Sequence[Word]], small: frozenset[str]) -> list[tuple[str, ...]]:
    """Return the forms of sentences, those with most fixed words first."""
    uses = Counter(key for found in sentences for key in {word.key for word in found})
    ways = [dict(_ways(found, uses, small)) for found in sentences]
    sizes = Counter(form for each in ways for form in set(each.values()))
    counts = Counter(
        next((form for least, form in each.items() if sizes[form] >= max(_LEAST, _OF_FIXED * least)), ())
        for each in ways
    )
    forms = [form for form, count in counts.most_common(_MOST_FORMS) if count >= _LEAST and _OPEN in form]
    return sorted(forms, key=lambda form: (-len(form), form))


def _ways(found: Sequence[Word], uses: Counter[str], small: frozenset[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield how many sentences have the rarest fixed word, and the form, for the forms that a sentence may have.

    Its commonest words are fixed; words that few sentences have are open. Function words that have company are fixed.
    """
    counts = [uses[word.key] for word in found]
    most = min((count for word, count in zip(found, counts, strict=True) if word.key in small), default=0)
    for least in sorted({count for count in counts if count >= _LEAST}, reverse=True):
        if least <= most or most < _LEAST:
            parts = (word.key if count >= least else _OPEN for word, count in zip(found, counts, strict=True))
            form = tuple(part for part, _ in groupby(parts))
            if not _SAYS_NOTHING.issuperset(form):
                yield least, form


def _cells(text: str, found: Sequence[Word], form: Sequence[str], small: frozenset[str]) -> dict[str, str]:
    """Return the open parts of a sentence by the fixed words beside them; empty if it has another form."""
    cells: dict[str, str] = {}
    at = 0
    for place, part in enumerate(form):
        start = at
        if part == _OPEN:
            after = form[place + 1] if place + 1 < len(form) else None
            while at < len(found) and found[at].key != after:
                at += 1
            name = f"{form[place - 1]} …" if place else f"… {form[1]}"
            name = name if name not in cells else f"{name} ({place})"
            if at > start:
                named = next((word for word in found[start:at] if word.key not in small | _ARTICLES), found[start])
                cells[name] = text[named.start : found[at - 1].end].strip(_MARKS)
        elif at < len(found) and found[at].key == part:
            at += 1
        if at == start:
            return {}
    return cells if at == len(found) else {}
