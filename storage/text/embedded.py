"""The embedded texts of chunks, entities, relations, predicates and reports in the vector indexes."""

import re
from collections.abc import Mapping, Sequence

from conspectus.storage.locators import sections_at
from conspectus.storage.records import Chunk, Document, Entity, Relation, Report
from conspectus.storage.tables import arrow_of
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each

WINDOW_TOKENS = 96
"""Most tokens of a window, unless one sentence has more."""
MOST_HEADING = 160
"""Most characters of a title and headings above a text; longer ones are cut at the front, far from the text."""


def entity_text(entity: Entity) -> str:
    """Return the embedded text of an entity: its name alone, so that synonym edges compare names."""
    return entity.name


def description_text(entity: Entity) -> str:
    """Return an entity's name with its description, if it has one: the text that local search compares with questions.

    >>> description_text(Entity("e", "Ada Mirren", "person", ("person",), "A director of films.", 3, 2))
    'Ada Mirren: A director of films.'
    """
    return f"{entity.name}: {entity.description}" if entity.description else entity.name


def relation_text(relation: Relation, names: Mapping[str, str]) -> str:
    """Return a relation as a short sentence; without a predicate (from a model), as its ends and description."""
    source, target = names[relation.source_id], names[relation.target_id]
    if not relation.predicate:
        return f"{source}, {target}: {relation.description}"
    return f"{source} {relation.predicate} {target}"


def chunk_text(chunk: Chunk, document: Document) -> str:
    """Return the searched text of a chunk: its text under its document's title and the headings above it.

    A title or a heading often contains the name that the text leaves out.
    """
    heading = _heading(document, chunk.start)
    return f"{heading}\n{chunk.text}" if heading else chunk.text


def chunk_windows(chunk: Chunk, document: Document) -> list[str]:
    """Return the embedded texts of a chunk: runs of its sentences, each under its title and headings.

    A short window is nearer than a whole chunk to a question about one of its sentences, and the headings say what
    these sentences are about (docs/retrieval.md has the figures).

    >>> document = Document("d", "Lamps", "", "Fill it. Then light it.", {}, 23, "")
    >>> chunk_windows(Chunk("c", "d", 0, 0, 23, "Fill it. Then light it.", 7), document)
    ['Lamps\\nFill it. Then light it.']
    """
    spans = sentence_spans(chunk.text)
    windows: list[str] = []
    first, room = 0, 0
    tokens = count_each([chunk.text[start:end] for start, end in spans])
    for place, size in enumerate(tokens):
        if size > room:
            first, room = place, WINDOW_TOKENS
            windows.append("")
        room -= size
        heading = _heading(document, chunk.start + spans[first][0])
        text = chunk.text[spans[first][0] : spans[place][1]]
        windows[-1] = f"{heading}\n{text}" if heading else text
    return windows or [chunk_text(chunk, document)]


def _heading(document: Document, start: int) -> str:
    """Return a document's title and the headings above a character, outermost first, without repetitions."""
    labels = [label for label in (document.title, *sections_at(document.places, start)) if label]
    return ": ".join(dict.fromkeys(labels))[-MOST_HEADING:]


def predicate_texts(relations: Sequence[Relation]) -> list[str]:
    """Return the embedded text of each distinct predicate, in order: its words."""
    distinct = arrow_of(Relation, relations, ["predicate"])["predicate"].unique().to_pylist()
    return [predicate_words(predicate) for predicate in sorted(distinct)]


def report_text(report: Report) -> str:
    """Return a report's title and first finding, or its summary if it has none: the text compared with questions."""
    return f"{report.title}. {report.findings[0].explanation if report.findings else report.summary}"


_PATH = re.compile(r"[./]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = re.compile(r"[_\s]+")
_IRI = re.compile(r"[a-z][a-z0-9+.-]*:[^\s]*[/#:](?P<name>[^/#:\s]+)[/#]?", re.IGNORECASE)


def predicate_words(predicate: str) -> str:
    """Return a predicate in lower-case words: the last two steps of a path, the last of an IRI, "" if there are none.

    The step before the last names the type of the subject, which distinguishes predicates with the same last step;
    if the last step contains it too, it is left out.

    >>> [predicate_words(each) for each in ("written_by", "people.person.place_of_birth", "film.film.directed_by")]
    ['written by', 'person place of birth', 'film directed by']
    >>> predicate_words("http://dbpedia.org/ontology/birthPlace")
    'birth place'
    """
    found = _IRI.fullmatch(predicate.strip())
    steps = [found["name"]] if found else [item for item in _PATH.split(predicate) if item.strip()]
    if not found and " " in predicate.strip():
        steps = [predicate]  # a phrase: its full stops do not separate path steps
    spoken = [_spoken(step) for step in steps[-2:]]
    if len(spoken) == 2 and set(spoken[0].split()) <= set(spoken[1].split()):
        spoken = spoken[1:]
    return " ".join(spoken)


def _spoken(step: str) -> str:
    return " ".join(_BETWEEN.sub(" ", _CAMEL.sub(" ", step)).lower().split())
