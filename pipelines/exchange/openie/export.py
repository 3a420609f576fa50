"""Export the names and triples of each chunk in the format of HippoRAG (see openie/read.py)."""

import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from conspectus.pipelines.exchange.exports import ExportResult
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Document, Entity, Mention, Relation
from conspectus.storage.text.nlp import CONCEPT, TITLE
from conspectus.storage.text.normalise import entity_key, title_names

RELATED = "is related to"
"""The predicate for relations without one: a triple needs a predicate."""


def write_openie(index: StoredIndex, to: Path) -> ExportResult:
    """Write one entry for each chunk: the passage (with the title on a first line), its names and its triples."""
    chunks = index.rows(Chunk)
    title_of = {document.id: " ".join(document.title.split()) for document in index.rows(Document)}
    names, relations = _names(index), _triples(index)
    without_predicate = sum(not relation.predicate for relation in index.rows(Relation) if relation.chunk_ids)
    without_chunk = sum(not relation.chunk_ids for relation in index.rows(Relation))
    docs: list[dict[str, Any]] = []
    for chunk in sorted(chunks, key=lambda row: (row.document_id, row.ordinal)):
        passage = "\n".join(filter(None, (title_of[chunk.document_id], chunk.text)))
        docs.append(
            {
                "idx": f"chunk-{hashlib.md5(passage.encode(), usedforsecurity=False).hexdigest()}",
                "passage": passage,
                "extracted_entities": names[chunk.id],
                "extracted_triples": relations[chunk.id],
            }
        )
    all_names = [name for doc in docs for name in doc["extracted_entities"]]
    whole = {
        "docs": docs,
        "avg_ent_chars": round(sum(map(len, all_names)) / max(len(all_names), 1), 4),
        "avg_ent_words": round(sum(len(name.split()) for name in all_names) / max(len(all_names), 1), 4),
    }
    with to.open("w", encoding="utf-8", newline="\n") as stream:
        json.dump(whole, stream, ensure_ascii=False, indent=1)
        stream.write("\n")
    notes = {
        f"{without_predicate:,} relations have no predicate and are written as {RELATED!r}": without_predicate,
        f"{without_chunk:,} relations are left out because no document states them": without_chunk,
    }
    n_triples = sum(len(doc["extracted_triples"]) for doc in docs)
    rows = {"chunks": len(docs), "entities": len(all_names), "triples": n_triples}
    return ExportResult((to,), rows, tuple(note for note, count in notes.items() if count))


def _names(index: StoredIndex) -> dict[str, list[str]]:
    """Return the sorted names in each chunk, by the chunk's id.

    Phrases that are only ends of triples, short forms of a title, and a title that the text does not contain are left
    out, because an import finds them again.
    """
    named = {
        entity.id: entity for entity in index.rows(Entity) if any(kind not in {CONCEPT, TITLE} for kind in entity.types)
    }
    mentions = [mention for mention in index.rows(Mention) if mention.entity_id in named and mention.match != "alias"]
    in_text = {mention.entity_id for mention in mentions if mention.start is not None}
    document_of = {chunk.id: chunk.document_id for chunk in index.rows(Chunk)}
    titles = {document.id: set(map(entity_key, title_names(document.title))) for document in index.rows(Document)}
    found: defaultdict[str, set[str]] = defaultdict(set)
    for mention in mentions:
        name = named[mention.entity_id or ""].name
        is_title = mention.start is None and entity_key(name) in titles[document_of[mention.chunk_id]]
        if not (is_title and mention.entity_id in in_text):
            found[mention.chunk_id].add(name)
    return defaultdict(list, {id_: sorted(several) for id_, several in found.items()})


def _triples(index: StoredIndex) -> dict[str, list[list[str]]]:
    """Return the sorted triples of each chunk, by the chunk's id."""
    name_of = {entity.id: entity.name for entity in index.rows(Entity)}
    found: defaultdict[str, list[list[str]]] = defaultdict(list)
    for relation in index.rows(Relation):
        for chunk in relation.chunk_ids:
            found[chunk].append(
                [name_of[relation.source_id], relation.predicate or RELATED, name_of[relation.target_id]]
            )
    return defaultdict(list, {id_: sorted(several) for id_, several in found.items()})
