"""Names, noun phrases and subject-predicate-object triples of a text, without a language model.

The findings of an annotator, the annotator protocol, and `open_annotator` for the configured one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

CONCEPT = "CONCEPT"
"""Type of a noun phrase that is not a name."""

NAME = "NAME"
"""Type of a name of unknown kind: one from the fallback, or a noun phrase about a proper noun."""

TITLE = "TITLE"
"""Type of an entity known only as the title of a document."""

RULES = "4"
"""Version of the annotators' rules; raised to invalidate cached extractions."""


class Phrase(NamedTuple):
    """A name or noun phrase: characters [start, end) of a text, and its type.

    `text` is the original text, or once terms are chosen its usual form ("hash key" for "hash keys").
    """

    start: int
    end: int
    text: str
    type: str


class Triple(NamedTuple):
    """A statement between two phrases; [start, end) is its sentence."""

    subject: Phrase
    predicate: str
    object: Phrase
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Annotation:
    """The phrases of a text in text order, and the triples among them."""

    phrases: tuple[Phrase, ...]
    triples: tuple[Triple, ...]


_LEAD_WITHIN = 12
"""A text about something names it within this many characters."""


def lead(annotation: Annotation) -> Phrase | None:
    """Return the name at the beginning of a text, which is probably its subject; None if there is none there."""
    for phrase in annotation.phrases:
        if phrase.start > _LEAD_WITHIN:
            return None
        if phrase.type not in {CONCEPT, "DATE"}:
            return phrase
    return None


def only_lead(annotation: Annotation) -> Annotation:
    """Return an annotation with nothing but its lead, if it has one: what is needed of it once names are merged."""
    found = lead(annotation)
    return Annotation((found,) if found else (), ())


class Annotator(Protocol):
    """Finds phrases and triples; `name` changes whenever its findings could."""

    name: str

    def annotate(self, text: str) -> Annotation:
        """Return the annotation of a text; deterministic."""
        ...

    def annotate_all(self, texts: Sequence[str]) -> list[Annotation]:
        """Return the annotation of each text, equal to that of `annotate`."""
        ...


def open_annotator(pipeline: str, concepts: bool = True, language: str = "") -> Annotator:
    """Return the annotator named by `extraction.pipeline`: a spaCy pipeline, or `regex`.

    A pipeline made for one language is not used for another: an English model finds persons in German verbs. Texts in
    another language or script are handled by the regular expressions, so names in any script are found.

    Args:
        pipeline: The package name or path of a spaCy pipeline, or `regex`.
        concepts: Whether to include noun phrases.
        language: ISO 639-1 code of the texts, "" if unknown.

    Raises:
        MissingPart: the pipeline is not installed.
    """
    from conspectus.storage.text.regex_annotator import RegexAnnotator

    if pipeline == "regex":
        return RegexAnnotator(language)
    from conspectus.storage.text.spacy_annotator import SpacyAnnotator

    found = SpacyAnnotator(pipeline, concepts)
    return found if found.reads(language) else RegexAnnotator(language)
