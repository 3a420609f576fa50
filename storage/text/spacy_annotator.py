"""Names, noun phrases and dependency triples of a spaCy pipeline."""

import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING

import regex
from conspectus.storage.blas_threads import one_blas_thread
from conspectus.storage.errors import MissingPart
from conspectus.storage.text.nlp import CONCEPT, NAME, RULES, Annotation, Phrase, Triple
from conspectus.storage.text.regex_annotator import RegexAnnotator

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Token
    from spacy.tokens import Span as SpacySpan

_NOT_NAMES = frozenset({"CARDINAL", "ORDINAL", "PERCENT", "QUANTITY", "MONEY", "TIME"})

_SCRIPT_OF_LANGUAGE = {
    "zh": r"\p{Han}", "ja": r"[\p{Han}\p{Hiragana}\p{Katakana}]", "ko": r"\p{Hangul}", "ru": r"\p{Cyrillic}",
    "uk": r"\p{Cyrillic}", "mk": r"\p{Cyrillic}", "bg": r"\p{Cyrillic}", "el": r"\p{Greek}", "ar": r"\p{Arabic}",
    "fa": r"\p{Arabic}", "ur": r"\p{Arabic}", "he": r"\p{Hebrew}", "hi": r"\p{Devanagari}", "xx": r"\p{L}",
}  # fmt: skip
"""Script of each spaCy language that is not written in Latin letters."""


# Every text adds to the pipeline's vocabulary, and spaCy does not document that as thread-safe. Nor would threads
# be faster: spaCy holds the interpreter's lock (117 texts take 4.2 s with one thread and with two).
_ONE_AT_A_TIME = threading.Lock()


_AT_ONCE = 8
"""Texts in a batch of the pipeline; more are no faster."""


class SpacyAnnotator:
    """Named entities, noun phrases and dependency triples of one spaCy pipeline.

    A pipeline without a parser gives names only; one without an entity recogniser gives noun phrases only.
    Safe to share between threads, which take turns.
    """

    def __init__(self, pipeline: str) -> None:
        with _ONE_AT_A_TIME:
            self._nlp = _load(pipeline)
        self._script = regex.compile(_SCRIPT_OF_LANGUAGE.get(str(self._nlp.lang), r"\p{Latin}"))
        self._other_scripts = RegexAnnotator()
        version = self._nlp.meta.get("version", "")
        self.name = f"spacy-{RULES} {pipeline} {version}"

    def reads(self, language: str) -> bool:
        """Return whether the pipeline supports a language; True for "", an unknown one."""
        return not language or str(self._nlp.lang) in {language, "xx"}

    def annotate(self, text: str) -> Annotation:
        """Return the names, wanted noun phrases and triples of a text; for another script, only the names."""
        return self.annotate_all([text])[0]

    def annotate_all(self, texts: Sequence[str]) -> list[Annotation]:
        """Return the annotation of each text.

        Short texts take a fifth less time in batches: each layer of a network is called once for `_AT_ONCE` texts.
        """
        own = [row for row, text in enumerate(texts) if self._has_own_script(text)]
        with _ONE_AT_A_TIME, one_blas_thread():
            docs = self._nlp.pipe((_LONG_RUN.sub(_blank, texts[row]) for row in own), batch_size=_AT_ONCE)
            found = {row: self._annotate(doc, texts[row]) for row, doc in zip(own, docs, strict=True)}
        return [found[row] if row in found else self._other_scripts.annotate(text) for row, text in enumerate(texts)]

    def _has_own_script(self, text: str) -> bool:
        letters = regex.findall(r"\p{L}", text)
        return not letters or len(self._script.findall("".join(letters))) * 2 >= len(letters)

    def _annotate(self, doc: "Doc", text: str) -> Annotation:
        names = _names(doc, text)
        if not doc.has_annotation("DEP"):
            return Annotation(tuple(names), ())
        arguments = _Arguments(doc, text, names)
        triples = tuple(_triples(doc, arguments))
        phrases = {(name.start, name.end): name for name in names}
        for phrase in arguments.free_concepts():
            phrases.setdefault((phrase.start, phrase.end), phrase)
        for triple in triples:
            for phrase in (triple.subject, triple.object):
                phrases.setdefault((phrase.start, phrase.end), phrase)
        return Annotation(tuple(phrases[span] for span in sorted(phrases)), triples)


_LONG_RUN = regex.compile(r"(?:[^\s\p{L}\p{N}]|['’]s){200,}+")
"""Signs that spaCy takes off a word one by one, each time reading the rest again."""


def _blank(run: "regex.Match[str]") -> str:
    return " " * len(run[0])


@cache
def _load(pipeline: str) -> "Language":
    if find_spec("spacy") is None:
        raise MissingPart(
            "finding names with spaCy needs: pip install 'conspectus[local]'; or set extraction.pipeline=regex"
        )
    with _without_torch():
        import spacy
    from thinc.api import NumpyOps

    try:
        loaded = spacy.load(pipeline)
    except OSError as error:
        raise MissingPart(
            f"the spaCy pipeline {pipeline!r} is not installed; install its package, "
            f"or set extraction.pipeline to another one or to `regex`"
        ) from error
    # NumPy's matrix products are a fifth faster here than those of BLIS, thinc's default.
    numpy_products = NumpyOps(use_blis=False)
    for _, component in loaded.pipeline:
        model = getattr(component, "model", None)
        for layer in model.walk() if model is not None else ():
            if isinstance(layer.ops, NumpyOps):
                layer.ops = numpy_products
    return loaded


@contextmanager
def _without_torch() -> Iterator[None]:
    """Hide PyTorch, which thinc imports (2.5 s) if it is installed; only transformer pipelines need it."""
    if "torch" in sys.modules or any(map(find_spec, ("spacy_transformers", "spacy_curated_transformers"))):
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]  # what makes an import fail
    try:
        yield
    finally:
        del sys.modules["torch"]


def _names(doc: "Doc", text: str) -> list[Phrase]:
    found = []
    for entity in doc.ents:
        if entity.label_ in _NOT_NAMES:
            continue
        phrase = _trimmed(text, entity, entity.label_)
        if phrase:
            found.append(phrase)
    return found


def _trimmed(whole: str, span: "SpacySpan", type_: str) -> Phrase | None:
    """Cut articles, possessive marks, quotes and punctuation off both ends; None if no letter or digit is left.

    `whole` is the text that contains the span: spaCy rebuilds `span.doc.text` on every access.
    """
    tokens = list(span)
    while tokens and (tokens[0].pos_ in {"DET", "PUNCT", "SPACE"} or tokens[0].tag_ in {"PRP$", "POS", "``", "''"}):
        tokens.pop(0)
    while tokens and (tokens[-1].pos_ in {"PUNCT", "SPACE"} or tokens[-1].tag_ in {"POS", "``", "''"}):
        tokens.pop()
    if not tokens:
        return None
    start, end = tokens[0].idx, tokens[-1].idx + len(tokens[-1])
    text = whole[start:end]
    if not regex.search(r"[\p{L}\p{N}]", text) or "\n\n" in text:
        return None
    return Phrase(start, end, text, type_)


class _Arguments:
    """The phrase of each token that is the subject or object of something."""

    def __init__(self, doc: "Doc", text: str, names: Sequence[Phrase]) -> None:
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
            phrase = _trimmed(text, chunk, NAME if proper else CONCEPT)
            if phrase is None or not regex.search(r"\p{L}{2}", phrase.text):
                continue
            self._concepts_at[chunk.root.i] = phrase
            if not any(token.i in self._names_at for token in chunk):
                self._free.append(phrase)

    def of(self, token: "Token") -> Phrase | None:
        """Return the name that covers the token, else the noun phrase it heads."""
        return self._names_at.get(token.i) or self._concepts_at.get(token.i)

    def free_concepts(self) -> Sequence[Phrase]:
        """Return the noun phrases that overlap no name."""
        return self._free


def _noun_chunks(doc: "Doc") -> "Iterator[SpacySpan]":
    try:
        yield from doc.noun_chunks
    except NotImplementedError:
        return  # spaCy has no noun chunk rules for some languages


_SUBJECTS = {"nsubj", "nsubjpass", "csubj"}
_OBJECTS = {"dobj", "obj", "dative", "oprd", "attr"}


def _triples(doc: "Doc", arguments: _Arguments) -> Iterator[Triple]:
    """Yield the triples of verbs, copulas, appositions and the prepositions attached to them."""
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
        # "which" and "who" refer to the noun that their clause is about.
        return [verb.head if mention.tag_ in {"WDT", "WP"} and verb.dep_ == "relcl" else mention for mention in own]
    return _subjects(verb.head) if verb.dep_ == "conj" and verb.head.pos_ in {"VERB", "AUX"} else []


def _verb(token: "Token") -> str:
    """Return a verb's text in a triple: its lemma, or the participle of a passive, with particle and negation."""
    passive = any(child.dep_ in {"auxpass", "nsubjpass"} for child in token.children)
    negated = "not " if any(child.dep_ == "neg" for child in token.children) else ""
    word = token.text.lower() if passive else (token.lemma_.lower() or token.text.lower())
    particles = "".join(f" {child.text.lower()}" for child in token.children if child.dep_ == "prt")
    return f"{negated}{'is' if word == 'be' else word}{particles}"


def _prepositions(token: "Token") -> "Iterator[tuple[str, Token]]":
    for child in token.children:
        if child.dep_ in {"prep", "agent"}:
            for end in _with_conjuncts(item for item in child.children if item.dep_ == "pobj"):
                yield child.text.lower(), end


def _with_conjuncts(tokens: "Iterator[Token]") -> "Iterator[Token]":
    for token in tokens:
        yield token
        yield from token.conjuncts
