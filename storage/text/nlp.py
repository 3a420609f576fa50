"""Names, noun phrases and subject-predicate-object triples of a text, without a language model.

What an annotator finds, the protocol of one, and `open_annotator` for the one that the settings name.
"""

from dataclasses import dataclass
from typing import Protocol

CONCEPT = "CONCEPT"
"""Type of a noun phrase that is no name."""

NAME = "NAME"
"""Type of a name of unknown kind: one that the fallback found, or a noun phrase about a proper noun."""

TITLE = "TITLE"
"""Type of an entity that is known as the title of a document only."""

RULES = "4"
"""Raised when the rules of an annotator change, so that remembered extractions are made again."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """A name or noun phrase: characters [start, end) of a text, and its type.

    `text` is what stands there, or once terms are chosen the usual form of it ("hash key" for "hash keys").
    """

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


def open_annotator(pipeline: str, concepts: bool = True, language: str = "") -> Annotator:
    """Return the annotator that `extraction.pipeline` names: a spaCy pipeline, or `regex`.

    A pipeline made for one language is not used for another: an English model finds persons in German verbs. Texts in
    another language or script go to the regular expressions, so that names in any script are found.

    Args:
        pipeline: The package name or path of a spaCy pipeline, or `regex`.
        concepts: Whether noun phrases are wanted too.
        language: ISO 639-1 code of the texts, "" where it is not known.

    Raises:
        MissingPart: the pipeline is not installed.
    """
    from conspectus.storage.text.regex_annotator import RegexAnnotator

    if pipeline == "regex":
        return RegexAnnotator(language)
    from conspectus.storage.text.spacy_annotator import SpacyAnnotator

    found = SpacyAnnotator(pipeline, concepts)
    return found if found.reads(language) else RegexAnnotator(language)
