"""Names, noun phrases and subject-predicate-object triples of a text, without a language model.

`open_annotator` gives the spaCy pipeline that the settings name, or the regular-expression fallback `regex`.
A pipeline made for one script is not asked about another (an English model finds nonsense in Chinese):
texts in other scripts go to the fallback, so names in any script survive.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

import regex

from storage.errors import MissingPart

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token
    from spacy.tokens import Span as SpacySpan

CONCEPT = "CONCEPT"
"""Type of a noun phrase that is no name."""

NAME = "NAME"
"""Type of a name of unknown kind: one that the fallback found, or a noun phrase about a proper noun."""

_RULES = "3"
"""Raised when the rules of this module change, so that remembered extractions are made again."""

_NOT_NAMES = frozenset({"CARDINAL", "ORDINAL", "PERCENT", "QUANTITY", "MONEY", "TIME"})


@dataclass(frozen=True, slots=True)
class Phrase:
    """A name or noun phrase: characters [start, end) of the text, and its type."""

    start: int
    end: int
    text: str
    type: str


@dataclass(frozen=True, slots=True)
class Triple:
    """A statement between two phrases; [start, end) is the sentence that makes it."""

    subject: Phrase
    predicate: str
    object: Phrase
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Annotation:
    """What a text holds: phrases in text order, and triples among them."""

    phrases: tuple[Phrase, ...]
    triples: tuple[Triple, ...]


_LEAD_WITHIN = 12
"""Characters within which a text that is about something names it."""


def lead(annotation: Annotation) -> Phrase | None:
    """Return the name that a text begins with, and so is probably about; None where it begins otherwise."""
    for phrase in annotation.phrases:
        if phrase.start > _LEAD_WITHIN:
            return None
        if phrase.type not in {CONCEPT, "DATE"}:
            return phrase
    return None


class Annotator(Protocol):
    """Finds phrases and triples; `name` changes whenever its findings could."""

    name: str

    def annotate(self, text: str) -> Annotation:
        """Return what the text holds; the same text always gives the same."""
        ...


def open_annotator(pipeline: str, concepts: bool = True) -> Annotator:
    """Return the annotator that `extraction.pipeline` names; MissingPart where it is not installed."""
    return RegexAnnotator() if pipeline == "regex" else SpacyAnnotator(pipeline, concepts)


class RegexAnnotator:
    """Names by regular expressions, in any script; no triples.

    Where the script has capitals, a name is a run of capitalised words, joined by small words such as *of* or
    *de* (a lone capitalised word at the start of a sentence counts only if it also occurs elsewhere in it).
    In scripts without capitals a name is what stands in quotation or title marks, a run of two to eight Han
    characters between punctuation and the commonest function characters, a run of Katakana, or a word of four
    letters or more.
    """

    name = f"regex-{_RULES}"

    def annotate(self, text: str) -> Annotation:
        """Return the names of the text, longest first where two overlap."""
        found = [*_capitalised(text), *_caseless(text)]
        return Annotation(tuple(_without_overlaps(found)), ())


_INITIALS = r"(?:\p{Lu}\.[ ]?)*"
_CAPITAL_WORD = r"\p{Lu}[\p{L}\p{M}\p{N}+#'’&-]*"
_SMALL_WORDS = r"(?:(?:of|the|de|la|le|du|van|von|der|den|di|da|al|el|bin|ibn) ){0,2}"
_CAPITALISED = regex.compile(
    # An initial keeps its full stop ("J. R. R. Tolkien"); after a longer word it ends the sentence.
    rf"{_INITIALS}{_CAPITAL_WORD}(?:[ \n]{_SMALL_WORDS}{_INITIALS}{_CAPITAL_WORD})*"
)
_QUOTED = regex.compile(r"[«「『《〈“]([^«»「」『』《》〈〉“”\n]{2,60})[»」』》〉”]")
_HAN = regex.compile(r"[\p{Han}]{2,}")
_HAN_FUNCTION = regex.compile(r"[的了是在和与及或也都就而但被把从到对于以为之其这那我你他她它们个有不着过很]")
_KATAKANA = regex.compile(r"[\p{Katakana}ー・]{2,}")
_CASELESS_WORD = regex.compile(
    r"[\p{Arabic}\p{Hebrew}\p{Devanagari}\p{Bengali}\p{Tamil}\p{Telugu}\p{Georgian}\p{Hangul}\p{Thai}\p{Ethiopic}"
    r"\p{Gujarati}\p{Gurmukhi}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Lao}\p{Myanmar}\p{M}]{2,}"
)
_SENTENCE_START = regex.compile(r"(?:^|[.!?。！？\n][\"'”’)\]]*\s*)$")


def _capitalised(text: str) -> Iterator[Phrase]:
    for match in _CAPITALISED.finditer(text):
        surface = match.group().rstrip(".'’&-")
        surface = regex.sub(r"['’]s$", "", surface)
        if len(surface) < 2:
            continue
        lone = " " not in surface and "\n" not in surface
        if lone and _SENTENCE_START.search(text[: match.start()][-8:]):
            others = regex.findall(rf"\b{regex.escape(surface)}\b", text)
            if len(others) < 2:
                continue
        yield Phrase(match.start(), match.start() + len(surface), surface, NAME)


def _caseless(text: str) -> Iterator[Phrase]:
    for match in _QUOTED.finditer(text):
        yield Phrase(match.start(1), match.end(1), match.group(1), NAME)
    for run in _HAN.finditer(text):
        start = run.start()
        for piece in _HAN_FUNCTION.split(run.group()):
            if 2 <= len(piece) <= 8:
                yield Phrase(start, start + len(piece), piece, NAME)
            start += len(piece) + 1
    for match in _KATAKANA.finditer(text):
        yield Phrase(match.start(), match.end(), match.group(), NAME)
    for match in _CASELESS_WORD.finditer(text):
        if len(regex.findall(r"\p{L}", match.group())) >= 4 or regex.search(r"\p{Hangul}", match.group()):
            yield Phrase(match.start(), match.end(), match.group(), NAME)


def _without_overlaps(phrases: Sequence[Phrase]) -> list[Phrase]:
    kept: list[Phrase] = []
    for phrase in sorted(phrases, key=lambda each: (each.start - each.end, each.start)):
        if all(phrase.end <= other.start or phrase.start >= other.end for other in kept):
            kept.append(phrase)
    return sorted(kept, key=lambda each: each.start)


_SCRIPT_OF_LANGUAGE = {
    "zh": r"\p{Han}", "ja": r"[\p{Han}\p{Hiragana}\p{Katakana}]", "ko": r"\p{Hangul}", "ru": r"\p{Cyrillic}",
    "uk": r"\p{Cyrillic}", "mk": r"\p{Cyrillic}", "bg": r"\p{Cyrillic}", "el": r"\p{Greek}", "ar": r"\p{Arabic}",
    "fa": r"\p{Arabic}", "ur": r"\p{Arabic}", "he": r"\p{Hebrew}", "hi": r"\p{Devanagari}", "xx": r"\p{L}",
}  # fmt: skip
"""Script of each spaCy language that is not written in Latin letters."""


class SpacyAnnotator:
    """Named entities, noun phrases and dependency triples of one spaCy pipeline.

    A pipeline without a parser gives names only; one without an entity recogniser gives noun phrases only.
    """

    def __init__(self, pipeline: str, concepts: bool = True) -> None:
        self._nlp = _load(pipeline)
        self._concepts = concepts
        self._script = regex.compile(_SCRIPT_OF_LANGUAGE.get(str(self._nlp.lang), r"\p{Latin}"))
        self._other_scripts = RegexAnnotator()
        version = self._nlp.meta.get("version", "")
        self.name = f"spacy-{_RULES} {pipeline} {version} concepts={concepts}"

    def annotate(self, text: str) -> Annotation:
        """Return the text's names, its noun phrases where wanted, and its triples; texts of another script's names."""
        letters = regex.findall(r"\p{L}", text)
        if letters and len(self._script.findall("".join(letters))) * 2 < len(letters):
            return self._other_scripts.annotate(text)
        doc = self._nlp(text)
        names = _names(doc)
        if not doc.has_annotation("DEP"):
            return Annotation(tuple(names), ())
        arguments = _Arguments(doc, names)
        triples = tuple(_triples(doc, arguments))
        phrases = {(name.start, name.end): name for name in names}
        if self._concepts:
            for phrase in arguments.free_concepts():
                phrases.setdefault((phrase.start, phrase.end), phrase)
        else:
            triples = tuple(each for each in triples if CONCEPT not in (each.subject.type, each.object.type))
        for triple in triples:
            for phrase in (triple.subject, triple.object):
                phrases.setdefault((phrase.start, phrase.end), phrase)
        return Annotation(tuple(phrases[span] for span in sorted(phrases)), triples)


@cache
def _load(pipeline: str) -> "Language":
    import spacy

    try:
        return spacy.load(pipeline)
    except OSError as error:
        raise MissingPart(
            f"the spaCy pipeline {pipeline!r} is not installed; install its package, "
            f"or set extraction.pipeline to another one or to `regex`"
        ) from error


def _names(doc: "Doc") -> list[Phrase]:
    found = []
    for entity in doc.ents:
        if entity.label_ in _NOT_NAMES:
            continue
        phrase = _trimmed(entity, entity.label_)
        if phrase:
            found.append(phrase)
    return found


def _trimmed(span: "SpacySpan", type_: str) -> Phrase | None:
    """Cut articles, possessive marks, quotes and punctuation off both ends; None if no letter or digit is left."""
    tokens = list(span)
    while tokens and (tokens[0].pos_ in {"DET", "PUNCT", "SPACE"} or tokens[0].tag_ in {"PRP$", "POS", "``", "''"}):
        tokens.pop(0)
    while tokens and (tokens[-1].pos_ in {"PUNCT", "SPACE"} or tokens[-1].tag_ in {"POS", "``", "''"}):
        tokens.pop()
    if not tokens:
        return None
    start, end = tokens[0].idx, tokens[-1].idx + len(tokens[-1])
    text = span.doc.text[start:end]
    if not regex.search(r"[\p{L}\p{N}]", text) or "\n\n" in text:
        return None
    return Phrase(start, end, text, type_)


class _Arguments:
    """Which phrase a token stands for when it is the subject or object of something."""

    def __init__(self, doc: "Doc", names: Sequence[Phrase]) -> None:
        self._names_at = {
            token.i: name
            for name in names
            for token in doc.char_span(name.start, name.end, alignment_mode="expand") or ()
        }
        self._concepts_at: dict[int, Phrase] = {}
        self._free: list[Phrase] = []
        for chunk in _noun_chunks(doc):
            if chunk.root.pos_ not in {"NOUN", "PROPN"}:
                continue
            proper = chunk.root.pos_ == "PROPN" and not chunk.root.text[:1].islower()
            phrase = _trimmed(chunk, NAME if proper else CONCEPT)
            if phrase is None or not regex.search(r"\p{L}{2}", phrase.text):
                continue
            self._concepts_at[chunk.root.i] = phrase
            if not any(token.i in self._names_at for token in chunk):
                self._free.append(phrase)

    def of(self, token: "Token") -> Phrase | None:
        """Return the name that covers the token, else the noun phrase it heads."""
        return self._names_at.get(token.i) or self._concepts_at.get(token.i)

    def free_concepts(self) -> Sequence[Phrase]:
        """Return the noun phrases that no name is part of."""
        return self._free


def _noun_chunks(doc: "Doc") -> "Iterator[SpacySpan]":
    try:
        yield from doc.noun_chunks
    except NotImplementedError:
        return  # spaCy has no noun chunk rules for some languages


_SUBJECTS = {"nsubj", "nsubjpass", "csubj"}
_OBJECTS = {"dobj", "obj", "dative", "oprd", "attr"}


def _triples(doc: "Doc", arguments: _Arguments) -> Iterator[Triple]:
    """Yield who did what to whom, from verbs, copulas, appositions and the prepositions that hang on them."""
    seen: Counter[tuple[int, str, int]] = Counter()
    for sentence in doc.sents:
        span = (sentence.start_char, sentence.start_char + len(sentence.text.rstrip()))
        for token in sentence:
            for subject, predicate, object_ in _statements(token):
                left, right = arguments.of(subject), arguments.of(object_)
                if left is None or right is None or left == right:
                    continue
                key = (left.start, predicate, right.start)
                seen[key] += 1
                if seen[key] == 1:
                    yield Triple(left, predicate, right, *span)


def _statements(token: "Token") -> "Iterator[tuple[Token, str, Token]]":
    if token.pos_ in {"VERB", "AUX"}:
        verb = _verb(token)
        for subject in _subjects(token):
            for object_ in _with_conjuncts(child for child in token.children if child.dep_ in _OBJECTS):
                yield subject, verb, object_
                yield from ((subject, f"{verb} {object_.text} {word}", end) for word, end in _prepositions(object_))
            yield from ((subject, f"{verb} {word}", end) for word, end in _prepositions(token))
    if token.dep_ == "appos":
        yield token.head, "is", token
        yield from ((token.head, f"is {token.text} {word}", end) for word, end in _prepositions(token))
    if token.dep_ == "acl" and token.tag_ == "VBN":  # "a film directed by ..."
        yield from ((token.head, f"{token.text.lower()} {word}", end) for word, end in _prepositions(token))


def _subjects(verb: "Token") -> "list[Token]":
    own = list(_with_conjuncts(child for child in verb.children if child.dep_ in _SUBJECTS))
    if own:
        # "which" and "who" stand for the noun that their clause is about.
        return [verb.head if each.tag_ in {"WDT", "WP"} and verb.dep_ == "relcl" else each for each in own]
    return _subjects(verb.head) if verb.dep_ == "conj" and verb.head.pos_ in {"VERB", "AUX"} else []


def _verb(token: "Token") -> str:
    """Return how the verb reads in a triple: its lemma, or the participle of a passive; with particle and negation."""
    passive = any(child.dep_ in {"auxpass", "nsubjpass"} for child in token.children)
    negated = "not " if any(child.dep_ == "neg" for child in token.children) else ""
    word = token.text.lower() if passive else (token.lemma_.lower() or token.text.lower())
    particles = "".join(f" {child.text.lower()}" for child in token.children if child.dep_ == "prt")
    return f"{negated}{'is' if word == 'be' else word}{particles}"


def _prepositions(token: "Token") -> "Iterator[tuple[str, Token]]":
    for child in token.children:
        if child.dep_ in {"prep", "agent"}:
            for end in _with_conjuncts(each for each in child.children if each.dep_ == "pobj"):
                yield child.text.lower(), end


def _with_conjuncts(tokens: "Iterator[Token]") -> "Iterator[Token]":
    for token in tokens:
        yield token
        yield from token.conjuncts
