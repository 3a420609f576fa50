"""What LightRAG or nano-graphrag found in each of its chunks: the graph says which, and the texts lie beside it.

Of a working folder three files are read: graph_chunk_entity_relation.graphml, whose nodes and edges name the chunks
that they come from, kv_store_text_chunks.json, and kv_store_full_docs.json where there is one.
"""

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conspectus.pipelines.build_report import EXTRACT
from conspectus.pipelines.exchange.kg.graphml import KEYWORDS, SEPARATOR, is_rag, predicate_of_keywords, unquoted
from conspectus.pipelines.exchange.kg.graphml_parser import Graphml, GraphmlItem, parse_graphml
from conspectus.pipelines.exchange.openie.passages import OpenResults, Passage
from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.steps.extract.openie import OpenExtraction, OpenTriple
from conspectus.pipelines.steps.extract.validate import name_key
from conspectus.storage.errors import InputError
from conspectus.storage.hashing import digest
from conspectus.storage.records import Document, Failure
from conspectus.storage.text.normalise import entity_key

CHUNKS = "kv_store_text_chunks.json"
DOCUMENTS = "kv_store_full_docs.json"


def read_lightrag(file: Path) -> OpenResults:
    """Return the chunks with what the graph in `file` says of each; the documents are theirs, or the chunks themselves.

    InputError where the graph is none of theirs, or the chunks do not lie beside it. A chunk that the graph names and
    nobody has, and a chunk without a text, are failures.
    """
    graph = parse_graphml(file)
    if not is_rag(graph):
        raise InputError(f"{file} does not say which chunks it comes from: bring it with --kg")
    chunks = _store(file.with_name(CHUNKS))
    if chunks is None:
        raise InputError(f"{file} has no {CHUNKS} beside it, which has the texts: bring it with --kg")
    full = _store(file.with_name(DOCUMENTS)) or {}
    texts = {id_: clean(row["content"]) for id_, row in full.items() if isinstance(row.get("content"), str)}
    found, failures = _stated(graph, chunks, file)
    passages: list[Passage] = []
    documents: dict[str, Document] = {}
    for id_, row in chunks.items():
        content = row.get("content")
        if not isinstance(content, str) or not content.strip():
            failures.append(Failure(EXTRACT, f"{CHUNKS}#{id_}", "a chunk without a text"))
            continue
        text, whole = clean(content), row.get("full_doc_id")
        within = whole if isinstance(whole, str) and text.strip() in texts.get(whole, "") else ""
        name = within or id_
        if name not in documents:
            documents[name] = _document(name, texts[within] if within else text, row)
        passages.append(Passage(f"{CHUNKS}#{id_}", text, found.get(id_, OpenExtraction()), name))
    return OpenResults(passages, failures, [documents[name] for name in sorted(documents)])


def _store(file: Path) -> Mapping[str, Mapping[str, Any]] | None:
    """Return what a key-value file holds, None where there is none."""
    if not file.is_file():
        return None
    try:
        found = json.loads(file.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{file} holds no keys and values")
    return {clean(id_): row for id_, row in found.items() if isinstance(row, dict)}


def _document(id_: str, text: str, row: Mapping[str, Any]) -> Document:
    path = row.get("file_path")
    path = clean(path).strip() if isinstance(path, str) else ""
    known = path and path != "unknown_source"  # what LightRAG writes where it was told of no file
    return Document(id_, Path(path).stem if known else "", path if known else id_, text, {}, len(text), digest(text))


def _stated(
    graph: Graphml, chunks: Mapping[str, Mapping[str, Any]], file: Path
) -> tuple[dict[str, OpenExtraction], list[Failure]]:
    """Return what is stated of each chunk, and the chunks that the graph names and nobody has."""
    entities: defaultdict[str, dict[str, None]] = defaultdict(dict)
    triples: defaultdict[str, dict[OpenTriple, None]] = defaultdict(dict)
    name_of: dict[str, str] = {}
    for node in graph.nodes:
        name = unquoted(clean(node.id))
        if name_key(name):
            name_of[node.id] = name
            for id_ in _sources(node):
                entities[id_].setdefault(name)
    for edge in graph.edges:
        source, target = name_of.get(edge.source), name_of.get(edge.target)
        if source and target and entity_key(source) != entity_key(target):
            triple = OpenTriple(source, predicate_of_keywords(edge.attributes.get(KEYWORDS, "")), target)
            for id_ in _sources(edge):
                triples[id_].setdefault(triple)
    named = entities.keys() | triples.keys()
    missing = [
        Failure(EXTRACT, f"{file.name}#{id_}", "a chunk that nobody has") for id_ in sorted(named - chunks.keys())
    ]
    return {id_: OpenExtraction(tuple(entities[id_]), tuple(triples[id_])) for id_ in named}, missing


def _sources(item: GraphmlItem) -> list[str]:
    return [each.strip() for each in clean(item.attributes.get("source_id", "")).split(SEPARATOR) if each.strip()]
