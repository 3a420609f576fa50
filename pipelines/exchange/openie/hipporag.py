"""An extraction as HippoRAG keeps it (Gutiérrez et al. 2024; its file openie_results_*.json): by passage, with text.

    {"docs": [{"idx": "chunk-...", "passage": "Title\\ntext", "extracted_entities": [...],
               "extracted_triples": [[subject, predicate, object], ...]}, ...], "avg_ent_chars": ..., ...}

A passage is known by its text, whatever its id: it is a chunk, or a document, with its title on a line before it or
without. Where nothing else is indexed, the passages are the documents.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conspectus.pipelines.build_report import EXTRACT
from conspectus.pipelines.exchange.openie.lightrag import read_lightrag
from conspectus.pipelines.exchange.openie.passages import OpenResults, Passage, titled
from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.steps.extract.llm import LOST_RECORD
from conspectus.pipelines.steps.extract.openie import usable
from conspectus.storage.errors import InputError
from conspectus.storage.hashing import digest, short_id
from conspectus.storage.records import Document, Failure

GRAPHML = ".graphml"
"""The ending of LightRAG's graph."""


def read_results(file: Path) -> OpenResults | None:
    """Return what a file of HippoRAG's holds, None for one that is none; InputError where it cannot be read at all.

    LightRAG's graph with the texts beside it is one too, by its name (see `read_lightrag`). What cannot be used is a
    failure, whose item is the place among the passages ("results.json#3", from 0).
    """
    if file.suffix.lower() == GRAPHML:
        return read_lightrag(file)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"the extraction {file} cannot be read: {error.strerror or error}") from error
    try:
        found = json.loads(content.decode("utf-8-sig")) if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" else None
    except (ValueError, RecursionError):  # JSON lines: the other form, whose lines are read one by one
        return None
    docs = found.get("docs") if isinstance(found, dict) else None
    if not isinstance(docs, list):
        return None
    passages: list[Passage] = []
    failures: list[Failure] = []
    for number, row in enumerate(docs):
        item = f"{file.name}#{number}"
        try:
            text, entities, triples = _parts(row)
        except ValueError as error:
            failures.append(Failure(EXTRACT, item, "no passage with what was extracted of it", str(error)))
            continue
        extraction, wrong = usable(entities, triples)
        passages.append(Passage(item, text, extraction))
        failures.extend(Failure(EXTRACT, item, LOST_RECORD, each) for each in wrong)
    return OpenResults(passages, failures, _documents(passages, file))


def _parts(row: Any) -> tuple[str, list[object], list[object]]:  # noqa: ANN401  (any JSON value may stand in a file)
    if not isinstance(row, dict):
        raise ValueError("it is no object")
    text, entities, triples = row.get("passage"), row.get("extracted_entities", []), row.get("extracted_triples", [])
    if not isinstance(text, str) or not text.strip():
        raise ValueError("its passage is no text")
    if not isinstance(entities, list) or not isinstance(triples, list):
        raise ValueError("extracted_entities and extracted_triples are not both lists")
    return clean(text), entities, triples


def read_passages(file: Path) -> list[Document]:
    """Return the passages of a file as documents, sorted by id; InputError where the file has no passage."""
    results = read_results(file)
    if results is None or not results.documents:
        raise InputError(f"{file} has no passages to index: name the documents that it was made from")
    return results.documents


def _documents(passages: Sequence[Passage], file: Path) -> list[Document]:
    """Return passages as documents, each text once, sorted by id; a first line that looks like a title is one."""
    made: dict[str, Document] = {}
    for each in passages:
        title, text = titled(each.text)
        id_ = short_id("passage", title, text)
        uri = f"{file.name}#{each.item.rpartition('#')[2]}"
        made.setdefault(id_, Document(id_, title, uri, text, {}, len(text), digest(text)))
    return [made[id_] for id_ in sorted(made)]
