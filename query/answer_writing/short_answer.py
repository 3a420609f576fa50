"""Short answers: the name, date, number or piece of code in a quoted sentence that answers the question.

The kind of the answer is read from the words of the question, in English, German, French and Spanish. A short answer is
a literal part of a quoted sentence. It is given only if the sentence says enough of what the question says, and one
candidate of the kind is left: a wrong one costs more trust than a missing one. Names and their types come from the
index, everything else from patterns.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from importlib.resources import files

import numpy as np
from conspectus.query.answer_writing.asked import asked_of
from conspectus.query.answer_writing.features import is_related
from conspectus.query.answer_writing.life_dates import part_of_life
from conspectus.query.context import Context
from conspectus.query.question.question import open_question
from conspectus.query.question.terms import is_content_word
from conspectus.storage.joins import joined, mentions_of_chunks
from conspectus.storage.records import Entity, Mention, Span
from conspectus.storage.tables import taken
from conspectus.storage.text.literals import MONTH
from conspectus.storage.text.names import words
from conspectus.storage.text.words import base_form, stem

_ALL = 0.8
"""Where a sentence and its title contain a smaller share of the question's words, by weight, a candidate must stand
next to one of them."""
_CLAUSE = re.compile(r"[,;:()–—]|\b(?:and|but|und|aber|et|mais|y|pero)\b", re.IGNORECASE)
"""What ends the part of a sentence that a candidate belongs to."""
_STEPS = re.compile(
    r"\A\W*+\w++\W++\w++\W(?s:.*?)\b(?:that|which|who|whose|whom|where|qui|que|dont|où|cuy[oa]s?)\b"
    r"|,\s(?:(?:in|an|auf|von|mit|aus)\s)?(?:der|die|das|dem|den|dessen|deren|welche[mnrs]?)\b",
    re.IGNORECASE,
)
"""A relative clause: the question takes several steps, and a name near its words mostly belongs to a step."""
_LEAST_LETTERS = 4
"""Shorter question words are mostly function words."""
_NOUN_WITHIN = 60
"""Characters after a number within which the counted thing must appear."""

_PERSON = frozenset({"person", "people"})
_PLACE = frozenset({"gpe", "loc", "fac", "geo", "location", "place"})
_GROUP = frozenset({"org", "organization", "organisation", "company"})
_WORK = frozenset({"work_of_art", "work", "product"})
_PEOPLE = frozenset({"norp", "language"})

_YEAR = re.compile(r"(?<![\w.,/-])(?:1\d{3}|20\d{2})(?![\w/-]|[.,]\d)")
_DAY = r"\d{1,2}(?:st|nd|rd|th|er)?\.?"
_DATE = re.compile(
    rf"(?<![\w.-])(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}\.\s?\d{{1,2}}\.\s?\d{{4}}|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}"
    rf"|{_DAY}\s(?:of\s|de\s)?(?:{MONTH})\b\.?(?:,?\s(?:de\s)?\d{{4}})?"
    rf"|(?:{MONTH})\b\.?\s(?:{_DAY},?\s\d{{4}}|(?:de\s)?\d{{4}}|{_DAY}\b)|(?:1\d{{3}}|20\d{{2}}))(?![\w/-]|[.,]\d)",
    re.IGNORECASE,
)
_DIGITS = r"\d+(?:[.,' ]\d{3}(?!\d))*(?:[.,]\d+)?(?!\.?\d)"
_WRITTEN = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|zwei|drei|vier|fünf|sechs|sieben"
    "|acht|neun|zehn|elf|zwölf|deux|trois|quatre|cinq|huit|neuf|dix|douze|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez"
    "|doce"
)
_TIMES = (
    "(?:milli)?seconds?|minutes?|hours?|days?|weeks?|months?|years?|sekunden?|minuten?|stunden?|tagen?|wochen?|monaten?|jahren?"
    "|secondes?|heures?|jours?|semaines?|mois|ans?|années?|segundos?|minutos?|horas?|días?|semanas?|mes(?:es)?|años?"
)
_UNITS = (
    "%|°C|[$€£]|thousand|million|billion|trillion|percent|tausend|millionen|milliarden|millions?|milliards?|mil|millones"
    "|EUR|USD|GBP|CHF|[kMGT]i?B|bytes?|bits?|terabytes?|gigabytes?|megabytes?|[mck]?m|metres?|meters?|pixels?|px|pt|dpi"
)
_NUMBER = re.compile(
    rf"(?<![\w.,/:-])(?:[$€£]\s?|(?:EUR|USD|GBP|CHF)\s)?{_DIGITS}(?:\s?(?:{_UNITS}|{_TIMES})\b)?(?![\w/:-])"
    rf"|\b(?:{_WRITTEN})\b",
    re.IGNORECASE,
)
_DURATION = re.compile(
    rf"(?<![\w.,/:-])(?:{_DIGITS}|(?:a|an|one|ein(?:en?)?|une?|una?|{_WRITTEN}))[\s-](?:{_TIMES})\b", re.IGNORECASE
)
_BEFORE, _BEHIND = r"(?<![\w/:.@-])(?P<plain>", r")(?![\w/@-])|`(?P<quoted>[^`\n]{2,60})`"
_OPTION = re.compile(rf"{_BEFORE}--?[A-Za-z][\w-]*(?:=\w+)?{_BEHIND}")
_PATH = re.compile(rf"{_BEFORE}~?/(?:[\w.+-]+/)*[\w.+-]*\w/?{_BEHIND}")
_CALL = re.compile(rf"{_BEFORE}\w+\(\)|[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*{_BEHIND}")
_IDENTIFIER = re.compile(rf"{_BEFORE}[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w*|[a-z]\w+\.[a-z]\w+|[a-z]\w*=\w+{_BEHIND}")
_URL = re.compile(r"\b\w+://\S+|\bwww\.\S+|\S+@\S+")
_BY_NAME = re.compile(
    r"\b(?:by|von|par|por)\s(?P<name>(?-i:[A-ZÀ-Þ][\w'’-]+(?:\s[A-Z]\.)?(?:\s(?:de|van|von|der|la|du|del))?"
    r"\s[A-ZÀ-Þ][\w'’-]+))"
)


_BY = re.compile(r"(?P<before>(?:[\w'’-]+\s){1,3})(?:by|von|par|por)\s(?:[\w'’-]+\s){0,3}$")
_AT_PLACE = re.compile(
    r"\b(?:in|at|from|near|to|on|im|am|aus|bei|nach|à|de|dans|en|au|vers|près|desde|a)\s(?:(?:the|der|die|das|la|le|el)\s)?$",
    re.IGNORECASE,
)
_BY_WITHIN = 200
_VERB_WITHIN = 40
_VERB = 3
"""Words after a person among which a question word must appear ("Ada Byrne was the first to write")."""
_FULL_NAME = re.compile(r"[^\W\d_a-zß-ÿ][\w.'’-]*(?:\s[\w.'’-]+)*\s[^\W\d_a-zß-ÿ][\w.'’-]*")
"""A person's name needs at least two words: the extractor too often takes single words for people."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected answer of a question: entities of some types, or matches of a pattern.

    Attributes:
        types: The types of entities that answer, in lower case.
        pattern: The form of an answer; its first group that matched, or the whole match, is the answer.
        counted: The stem of the counted thing, which must follow the number.
    """

    types: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None
    counted: str = ""


_WHICH = r"\b(?:what|which|welche[rsmn]?|quel(?:le)?s?|qué|cuál(?:es)?)\b(?:\s[\w'’-]+){0,4}?\s"
_COUNTED = re.compile(
    r"\b(?:how many|wie viele?|combien d[e']|cu[áa]nt[oa]s)\s?(?:other |more |weitere |autres )?(?P<noun>[\w-]+)",
    re.IGNORECASE,
)
_EXPECTED = {
    "person": Expected(_PERSON, pattern=_BY_NAME), "place": Expected(_PLACE), "people": Expected(_PEOPLE),
    "group": Expected(_GROUP), "work": Expected(_WORK), "year": Expected(pattern=_YEAR),
    "date": Expected(pattern=_DATE), "duration": Expected(pattern=_DURATION), "number": Expected(pattern=_NUMBER),
    "option": Expected(pattern=_OPTION), "path": Expected(pattern=_PATH), "call": Expected(pattern=_CALL),
    "identifier": Expected(pattern=_IDENTIFIER),
}  # fmt: skip
_KINDS = tuple(
    (re.compile(asked.replace("<which>", _WHICH), re.IGNORECASE), _EXPECTED[kind])
    for line in files("conspectus.query.answer_writing").joinpath("expected.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
    for kind, _, asked in (line.partition(": "),)
)


_ENUMERATED = re.compile(r"\W*\d{1,3}(?:\.\d{1,3})*[.)]\s")
"""The number of a clause or of an item at the beginning of a sentence."""


HE = re.compile(r"\b(?:he|his|him|il|lui|él|egli)\b", re.IGNORECASE)
SHE = re.compile(r"\b(?:she|hers?|elle|ella|lei)\b", re.IGNORECASE)


def expected_answer(question: str) -> Expected | None:
    """Return the expected kind of answer; None if the question's words do not show it ("Are both of them rivers?").

    >>> expected_answer("How many bridges are there?").counted
    'bridge'
    """
    counted = _COUNTED.search(question)
    if counted is not None:
        return Expected(pattern=_NUMBER, counted=stem(counted["noun"].casefold()))
    return next((wanted for asked, wanted in _KINDS if asked.search(question)), None)


def short_answer(context: Context, question: str, sentences: Sequence[Span], *, last_step: bool = False) -> str:
    """Return the words in the sentences (best first) that answer a question; "" if none clearly does.

    Numbers, dates and code are taken from the best sentence alone, names from the first that has one. The sentence and
    its title must contain every word of the question but names and the word that only names the kind ("which city"),
    in some form. A person must be the agent of what is asked ("by" before the name or the verb after it), a place must
    follow "in", "at" or a similar word. Of several numbers or dates only the one counts whose nearest word that has
    content, before or after it in its clause, is one of the question ("closed on ..."). There is no short answer if two
    candidates are left.

    Args:
        context: The open index.
        question: The question.
        sentences: The spans of the quoted sentences.
        last_step: Whether a walk has resolved all steps of the question but the last, which the sentences answer.

    Returns:
        A literal part of one of the sentences, except for white space.
    """
    kind = expected_answer(question)
    if kind is None or (kind.types and not last_step and _STEPS.search(question)):
        return ""
    asked = {stem(word.key) for word in words(question)}
    read = asked_of(context, question)
    weights, needed = read.weights, read.weights.keys() - read.names - _kind_words(context, question, kind)
    mentioned = [frozenset(map(str.casefold, named.types)) for named in open_question(context, question).mentions]
    of_person = any(types & _PERSON for types in mentioned)
    names = [_whole_name(question, each.start, each.end) for each in open_question(context, question).mentions]
    for span in sentences if kind.types else sentences[:1]:
        row = context.chunk_rows[span.chunk_id]
        chunk = context.chunks[row]
        start, end = span.start - chunk.start, span.end - chunk.start
        sentence = chunk.text[start:end]
        life = kind.pattern.search(part_of_life(read.keys, sentence)) if kind.pattern else None
        if life:
            return " ".join(life[0].split())
        if of_person and not kind.types and HE.search(sentence) and SHE.search(sentence):
            return ""  # "After his death in 1926 she ran the workshop" tells of two
        told = frozenset(context.bm25.analysis.terms(f"{context.titles[span.document_id]}\n{sentence}", row))
        held = {term for term in weights if term in told or any(is_related(term, other) for other in told)}
        covered = sum(weights[term] for term in held)
        about = {word.key for word in words(f"{context.titles[span.document_id]}\n{sentence}")}
        is_named = not names or any(name <= about for name in names)  # Ilsa Varn is not Ilse Varn
        if not last_step and not (needed <= held and is_named):
            continue
        people = [
            (first - start, last - start)
            for first, last, types in (_names(context, span.chunk_id) if of_person else ())
            if types & _PERSON and start <= first and last <= start + len(sentence)
        ]
        candidates = [
            (at, text)
            for at, text in _candidates(context, kind, span.chunk_id, sentence, start)
            if not {stem(word.key) for word in words(text)} <= asked
            and _plays_its_part(kind, sentence, at, text, asked)
            and not _is_of_another(people, sentence, at, names)
            and not (_FORMER.search(sentence[:at]) and not _FORMER.search(question))
        ]
        if not last_step and (covered < _ALL or (not kind.types and len(candidates) > 1)):
            candidates = [each for each in candidates if _is_attached(context, question, sentence, *each)]
        found = {" ".join(text.split()) for _, text in candidates}
        if kind.counted:  # "340 people, although 412 came": the other number is as near to the question
            others = _candidates(context, replace(kind, counted=""), span.chunk_id, sentence, start)
            found |= {text for at, text in others if _is_attached(context, question, sentence, at, text)}
        if found:
            return found.pop() if len(found) == 1 else ""
    return ""


def _whole_name(question: str, start: int, end: int) -> set[str]:
    """Return the words of a name in a question with those before it: an index may know "Dorcas Pell" as "Pell"."""
    for word in reversed(words(question[:start])):
        if not (question[word.start].isupper() and question[word.end : start].isspace()):
            break
        start = word.start
    return {word.key for word in words(question[start:end])}


def _kind_words(context: Context, question: str, kind: Expected) -> set[str]:
    """Return the stems of the words that only name the kind of the answer: "city" of "in which city"."""
    asking = next((found for pattern, wanted in _KINDS if wanted is kind and (found := pattern.search(question))), None)
    if asking is None or kind.pattern is _NUMBER:  # "how old" says what the number is
        return set()
    asked = open_question(context, question)
    places = [at for at, word in enumerate(asked.words) if asking.start() <= word.start < asking.end()]
    return {asked.stems[at] for at in places}


def _is_attached(context: Context, question: str, sentence: str, start: int, text: str) -> bool:
    """Return whether the nearest word with content on one side of a candidate, in its clause, is of the question."""
    asked = open_question(context, question)
    before, after = _CLAUSE.split(sentence[:start])[-1], _CLAUSE.split(sentence[start + len(text) :])[0]
    for side in (reversed(words(before)), words(after)):
        nearest = next((word.key for word in side if is_content_word(word.key, asked.language)), "")
        term = context.bm25.term(nearest, asked.language)
        if nearest and any(term == other or is_related(term, other) for other in asked.stems):
            return True
    return False


def _is_of_another(people: Sequence[tuple[int, int]], sentence: str, at: int, names: Sequence[Set[str]]) -> bool:
    """Return whether the person before a candidate in its sentence is none that the question names.

    "The first, Ada, died in 1902 and was followed by Ben" does not say when Ben died, and Ada Moss is not Eve Moss.
    """
    person = max((place for place in people if place[1] <= at), key=lambda place: place[1], default=None)
    told = {word.key for word in words(sentence[slice(*person)])} if person else set()
    return person is not None and not any(name <= told or told <= name for name in names)


def _plays_its_part(kind: Expected, sentence: str, at: int, text: str, asked: Set[str]) -> bool:
    """Return whether a person is the agent of what is asked ("by" before, the verb after), and a place follows "in"."""
    if kind.types == _PLACE:
        return bool(_AT_PLACE.search(sentence[:at]))
    if kind.types == _PERSON:
        verbs = _verbs(sentence[at + len(text) : at + len(text) + _VERB_WITHIN])[:_VERB]
        by = _BY.search(sentence[max(0, at - _BY_WITHIN) : at])
        asked = {stem(base_form(term)) for term in asked}
        return not asked.isdisjoint(term for term in verbs if len(term) >= _LEAST_LETTERS) or (
            by is not None and not asked.isdisjoint(_verbs(by["before"]))
        )
    return True


_FORMER = re.compile(
    r"\b(?:(?:takes?|took|taken|taking) over from|replac\w+|succeed\w*|success(?:or|ion) (?:to|of)|in place of"
    r"|instead of|(?:löst|folgt|folgte) (?:auf )?|nachfolger(?:in)? von|anstelle von|remplac\w+|succèd\w+ à"
    r"|à la place de|sustituy\w+ a|suced\w+ a|reemplaz\w+ a|sostituisc\w+|succed\w+ a|subentr\w+ a|substitu\w+"
    r"|vervang\w+|volgt|zastąpi\w+|zastępuje|сменил\w*|заменил\w*)\s*$",
    re.IGNORECASE,
)
"""What stands before the name of somebody who no longer is what is asked for: "Ada takes over from Ben"."""


def _verbs(text: str) -> list[str]:
    """Return the stems of words; irregular verbs get their infinitive."""
    return [stem(base_form(word.key)) for word in words(text)]


def _candidates(
    context: Context, kind: Expected, chunk_id: str, sentence: str, start: int
) -> Iterator[tuple[int, str]]:
    """Yield the start of each candidate in the sentence, and its text."""
    if kind.types:
        for first, last, types in _names(context, chunk_id):
            name = sentence[first - start : last - start] if start <= first and last <= start + len(sentence) else ""
            if name and types & kind.types and (kind.types != _PERSON or _FULL_NAME.fullmatch(name)):
                yield first - start, name
    if kind.pattern is None:
        return
    addresses = [found.span() for found in _URL.finditer(sentence)]
    if kind.pattern is _NUMBER:  # "thirteen on 10 June": 10 is no number of things
        addresses += [found.span() for found in _DATE.finditer(sentence)]
        addresses += [found.span() for found in [_ENUMERATED.match(sentence)] if found]
    for found in kind.pattern.finditer(sentence):
        group = found.lastgroup or 0
        at, end = found.span(group)
        if any(first <= at < last for first, last in addresses):
            continue
        following = [stem(word.key) for word in words(sentence[end : end + _NOUN_WITHIN])[:3]]
        told = kind.counted in following if kind.counted else kind.pattern is not _NUMBER or not found[0].isalpha()
        if told:
            yield at, found[group]


def _names(context: Context, chunk_id: str) -> list[tuple[int, int, frozenset[str]]]:
    """Return the names in a chunk: start, end and types in lower case."""
    index = context.index
    mentions = mentions_of_chunks(index)[context.chunk_rows[chunk_id]]
    owners = joined(index).entities[mentions].astype(np.int64)
    mentions, owners = mentions[owners >= 0], owners[owners >= 0]
    named = taken(index.arrow(Entity, "type", "types"), owners).to_pylist()
    found = taken(index.arrow(Mention, "start", "end"), mentions).to_pylist()
    return [
        (mention["start"], mention["end"], frozenset(map(str.casefold, (entity["type"], *entity["types"]))))
        for mention, entity in zip(found, named, strict=True)
        if mention["start"] is not None and mention["end"] is not None
    ]
