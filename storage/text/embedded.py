"""The texts that stand for chunks, entities, relations, predicates and reports in the vector indexes."""

from collections.abc import Sequence

from conspectus.storage.records import Chunk, Document, Entity, Relation, Report
from conspectus.storage.text.predicates import predicate_words


def entity_text(entity: Entity) -> str:
    """Return what stands for an entity: its name alone, so that synonym edges compare names."""
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
    """Return what stands for each distinct predicate, in their order: the words of it."""
    return [predicate_words(predicate) for predicate in sorted({relation.predicate for relation in relations})]


def report_text(report: Report) -> str:
    """Return a report's title and first finding, or its summary where it has none: what a question is compared with."""
    return f"{report.title}. {report.findings[0].explanation if report.findings else report.summary}"
