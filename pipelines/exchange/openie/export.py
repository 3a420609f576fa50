"""What was found in each chunk, as HippoRAG keeps it: named entities and triples (see steps.openie_results)."""

import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from conspectus.pipelines.exchange.export_result import ExportResult
from conspectus.storage.index import Index
from conspectus.storage.records import Chunk, Document, Entity, Mention, Relation
from conspectus.storage.text.nlp import CONCEPT, TITLE
from conspectus.storage.text.normalise import entity_key, title_names

RELATED = "is related to"
"""What joins the ends of a relation that has no predicate: a triple must say something."""


def write_openie(index: Index, to: Path) -> ExportResult:
    """Write one entry a chunk: its passage (the document's title on a line before it), its names, and its triples."""
    chunks = index.rows(Chunk)
    title_of = {each.id: " ".join(each.title.split()) for each in index.rows(Document)}
    names, relations = _names(index), _triples(index)
    unsaid = sum(not each.predicate for each in index.rows(Relation) if each.chunk_ids)
    alone = sum(not each.chunk_ids for each in index.rows(Relation))
    docs: list[dict[str, Any]] = []
    for each in sorted(chunks, key=lambda chunk: (chunk.document_id, chunk.ordinal)):
        passage = "\n".join(filter(None, (title_of[each.document_id], each.text)))
        docs.append(
            {
                "idx": f"chunk-{hashlib.md5(passage.encode(), usedforsecurity=False).hexdigest()}",
                "passage": passage,
                "extracted_entities": names[each.id],
                "extracted_triples": relations[each.id],
            }
        )
    said = [name for each in docs for name in each["extracted_entities"]]
    whole = {
        "docs": docs,
        "avg_ent_chars": round(sum(map(len, said)) / max(len(said), 1), 4),
        "avg_ent_words": round(sum(len(name.split()) for name in said) / max(len(said), 1), 4),
    }
    with to.open("w", encoding="utf-8", newline="\n") as stream:
        json.dump(whole, stream, ensure_ascii=False, indent=1)
        stream.write("\n")
    notes = [f"{unsaid:,} relations have no predicate: {RELATED!r} stands for it"] if unsaid else []
    notes += [f"{alone:,} relations that no document states left out: they belong to no passage"] if alone else []
    rows = {"chunks": len(docs), "entities": len(said), "triples": sum(len(each["extracted_triples"]) for each in docs)}
    return ExportResult((to,), rows, tuple(notes))


def _names(index: Index) -> dict[str, list[str]]:
    """Return the names that stand in each chunk, sorted, by its id.

    Left out is what another reader finds again by itself: phrases that are only ends of triples, short forms of a
    title, and a title where the text does not have it.
    """
    named = {each.id: each for each in index.rows(Entity) if any(kind not in {CONCEPT, TITLE} for kind in each.types)}
    mentions = [each for each in index.rows(Mention) if each.entity_id in named and each.match != "alias"]
    in_text = {each.entity_id for each in mentions if each.start is not None}
    document_of = {each.id: each.document_id for each in index.rows(Chunk)}
    titles = {each.id: set(map(entity_key, title_names(each.title))) for each in index.rows(Document)}
    found: defaultdict[str, set[str]] = defaultdict(set)
    for each in mentions:
        name = named[each.entity_id or ""].name
        is_title = each.start is None and entity_key(name) in titles[document_of[each.chunk_id]]
        if not (is_title and each.entity_id in in_text):
            found[each.chunk_id].add(name)
    return defaultdict(list, {id_: sorted(several) for id_, several in found.items()})


def _triples(index: Index) -> dict[str, list[list[str]]]:
    """Return what is stated in each chunk, sorted, by its id."""
    name_of = {each.id: each.name for each in index.rows(Entity)}
    found: defaultdict[str, list[list[str]]] = defaultdict(list)
    for each in index.rows(Relation):
        for chunk in each.chunk_ids:
            found[chunk].append([name_of[each.source_id], each.predicate or RELATED, name_of[each.target_id]])
    return defaultdict(list, {id_: sorted(several) for id_, several in found.items()})
