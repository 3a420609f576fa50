"""The embedded texts of chunks, entities, relations, predicates and reports in the vector indexes."""

import re
from collections.abc import Sequence

from conspectus.storage.records import Chunk, Document, Entity, Relation, Report


def entity_text(entity: Entity) -> str:
    """Return the embedded text of an entity: its name alone, so that synonym edges compare names."""
    return entity.name


def relation_text(relation: Relation, names: dict[str, str]) -> str:
    """Return a relation as a short sentence; one that has no predicate (a model's) as its ends and description."""
    source, target = names[relation.source_id], names[relation.target_id]
    if not relation.predicate:
        return f"{source}, {target}: {relation.description}"
    return f"{source} {relation.predicate} {target}"


def chunk_text(chunk: Chunk, document: Document) -> str:
    """Return a chunk under its document's title, which often holds the name that the text leaves out."""
    return f"{document.title}\n{chunk.text}" if document.title else chunk.text


def predicate_texts(relations: Sequence[Relation]) -> list[str]:
    """Return the embedded text of each distinct predicate, in order: its words."""
    return [predicate_words(predicate) for predicate in sorted({relation.predicate for relation in relations})]


def report_text(report: Report) -> str:
    """Return a report's title and first finding, or its summary where it has none: what a question is compared with."""
    return f"{report.title}. {report.findings[0].explanation if report.findings else report.summary}"


_PATH = re.compile(r"[./]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BETWEEN = re.compile(r"[_\s]+")
_IRI = re.compile(r"[a-z][a-z0-9+.-]*:[^\s]*[/#:](?P<name>[^/#:\s]+)[/#]?", re.IGNORECASE)


def predicate_words(predicate: str) -> str:
    """Return a predicate in small words; of a path its last two steps, of an IRI its last, "" where it has none.

    The step before the last names the type of thing that is spoken of, which tells apart predicates that end alike;
    where the last step says it too, it is left out.

    >>> [predicate_words(each) for each in ("written_by", "people.person.place_of_birth", "film.film.directed_by")]
    ['written by', 'person place of birth', 'film directed by']
    >>> predicate_words("http://dbpedia.org/ontology/birthPlace")
    'birth place'
    """
    found = _IRI.fullmatch(predicate.strip())
    steps = [found["name"]] if found else [item for item in _PATH.split(predicate) if item.strip()]
    if not found and " " in predicate.strip():
        steps = [predicate]  # a phrase: its full stops separate no path
    spoken = [_spoken(step) for step in steps[-2:]]
    if len(spoken) == 2 and set(spoken[0].split()) <= set(spoken[1].split()):
        spoken = spoken[1:]
    return " ".join(spoken)


def _spoken(step: str) -> str:
    return " ".join(_BETWEEN.sub(" ", _CAMEL.sub(" ", step)).lower().split())
