"""Read named entities and triples that another program extracted, in three formats, and match it to our chunks.

JSON lines (`read_open`). A line is one document:
    {"id": document id, "entities": [...], "triples": [[subject, predicate, object], ...]}

HippoRAG's results (`read_results`; Gutiérrez et al. 2024, its file openie_results_*.json), by passage:
    {"docs": [{"idx": "chunk-...", "passage": "Title\\ntext", "extracted_entities": [...],
               "extracted_triples": [[subject, predicate, object], ...]}, ...], "avg_ent_chars": ..., ...}
A passage is identified by its text, whatever its id: the text of a chunk or a document, with or without a title on
the first line. If nothing else is indexed, the passages are the documents.

The working folder of LightRAG or nano-graphrag (`read_lightrag`): graph_chunk_entity_relation.graphml, whose nodes and
edges list their source chunks, kv_store_text_chunks.json, and kv_store_full_docs.json if there is one.

Items that cannot be used are failures, whose item is the place in the file ("openie.jsonl:12", "results.json#3").
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conspectus.pipelines.build_report import EXTRACT
from conspectus.pipelines.exchange.kg.nodes_and_edges import (
    KEYWORDS,
    SEPARATOR,
    Item,
    NodesAndEdges,
    is_rag,
    network_of,
    predicate_of_keywords,
    unquoted,
)
from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.steps.extract.llm import LOST_RECORD
from conspectus.pipelines.steps.extract.openie import OpenExtraction, OpenTriple, usable
from conspectus.pipelines.steps.extract.validate import name_key
from conspectus.storage.errors import InputError
from conspectus.storage.hashing import digest, short_id
from conspectus.storage.records import Chunk, Document, Failure
from conspectus.storage.text.names import words
from conspectus.storage.text.normalise import entity_key

_LONGEST_TITLE = 150
"""Maximum characters of a title."""
_ENDS_A_SENTENCE = (".", "!", "?", ":", ";", ",", "。", "！", "？", "؟", "।")


@dataclass(frozen=True, slots=True)
class ExtractedPassage:
    """A passage, what was extracted from it, and its place in the file; `within` is the document that contains it."""

    item: str
    text: str
    extraction: OpenExtraction
    within: str = ""


@dataclass(frozen=True, slots=True)
class OpenResults:
    """The passages of a file in file order, its failures, and the documents to index if the user names none."""

    passages: list[ExtractedPassage]
    failures: list[Failure]
    documents: list[Document]


def titled(passage: str) -> tuple[str, str]:
    """Return the title and the text of a passage; a title is a short first line that does not end a sentence."""
    first, _, rest = passage.strip().partition("\n")
    title = " ".join(first.split())
    if not rest.strip() or not title or len(title) > _LONGEST_TITLE or title.endswith(_ENDS_A_SENTENCE):
        return "", passage.strip()
    return title, rest.strip()


def match_passages(
    results: OpenResults, documents: Sequence[Document], chunks: Sequence[Chunk]
) -> tuple[dict[str, OpenExtraction], list[Failure]]:
    """Return the extraction of each chunk by its id, and the failures with the passages that match no chunk.

    A passage matches a chunk or a document if it has the same text, apart from whitespace and a first line with the
    title; or it is part of the document that it is `within`. The extraction of a passage that matches several chunks is
    divided among them (see `by_chunk`).
    """
    document_of = {document.id: document for document in documents}
    text_of = {document.id: document.text for document in documents}
    of_document: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        of_document[chunk.document_id].append(chunk)
    known = [(document_of[chunk.document_id].title, chunk.text, [chunk]) for chunk in chunks]
    known += [(each.title, each.text, of_document[each.id]) for each in documents if len(of_document[each.id]) > 1]
    whole: defaultdict[str, dict[tuple[str, ...], list[Chunk]]] = defaultdict(dict)
    for title, text, several in known:
        for key in (_key(text), _key(f"{title}\n{text}")):
            whole[key][tuple(chunk.id for chunk in several)] = several
    stated: dict[str, OpenExtraction] = {}
    failures = list(results.failures)
    for passage in results.passages:
        found = whole.get(_key(passage.text)) or whole.get(_key(titled(passage.text)[1]), {})
        run = _run(passage, text_of, of_document)
        if run:
            _add(stated, passage.extraction, run)
        elif not found:
            failures.append(Failure(EXTRACT, passage.item, "no document or chunk has this text", passage.text[:200]))
        elif any(id_ in stated for ids in found for id_ in ids):
            failures.append(Failure(EXTRACT, passage.item, "a second extraction of one text", passage.text[:200]))
        else:
            for several in found.values():
                _add(stated, passage.extraction, several)
    return stated, failures


def _run(passage: ExtractedPassage, text_of: Mapping[str, str], of_document: Mapping[str, list[Chunk]]) -> list[Chunk]:
    """Return the chunks that a passage of a document overlaps, none if its document is not known."""
    text = passage.text.strip()
    start = text_of.get(passage.within, "").find(text)
    chunks = of_document.get(passage.within, ()) if start >= 0 else ()
    return [chunk for chunk in chunks if chunk.start < start + len(text) and start < chunk.end]


def _add(stated: dict[str, OpenExtraction], extraction: OpenExtraction, chunks: Sequence[Chunk]) -> None:
    """Divide an extraction among chunks; a chunk may receive extractions of several overlapping passages."""
    for chunk, own in zip(chunks, by_chunk(extraction, chunks), strict=True):
        before = stated.get(chunk.id, OpenExtraction())
        stated[chunk.id] = OpenExtraction(
            tuple(dict.fromkeys((*before.entities, *own.entities))),
            tuple(dict.fromkeys((*before.triples, *own.triples))),
        )


def _key(text: str) -> str:
    return digest(" ".join(text.split()))


def by_chunk(extraction: OpenExtraction, chunks: Sequence[Chunk]) -> list[OpenExtraction]:
    """Divide the extraction of a document among its chunks.

    An entity or a triple belongs to every chunk that contains all its words or, if there is none, to the first of those
    that contain most of them.
    """
    if len(chunks) == 1:
        return [extraction]
    words_of_chunks = [frozenset(word.key for word in words(chunk.text)) for chunk in chunks]
    entities = [(entity, _places(entity, words_of_chunks)) for entity in extraction.entities]
    triples = [(triple, _places(triple.told, words_of_chunks)) for triple in extraction.triples]
    return [
        OpenExtraction(
            tuple(entity for entity, places in entities if number in places),
            tuple(triple for triple, places in triples if number in places),
        )
        for number in range(len(chunks))
    ]


def _places(text: str, words_of_chunks: Sequence[frozenset[str]]) -> list[int]:
    wanted = {word.key for word in words(text)}
    counts = [len(wanted & present) for present in words_of_chunks]
    most = max(counts)
    best = [number for number, count in enumerate(counts) if count == most]
    return best if most == len(wanted) else best[:1]


def read_open(file: Path, document_ids: Collection[str]) -> tuple[dict[str, OpenExtraction], list[Failure]]:
    """Read the extractions of these documents from JSON lines, and the failures. Raises InputError."""
    found: dict[str, OpenExtraction] = {}
    failures: list[Failure] = []
    for number, line in enumerate(_bytes_of(file).splitlines(), start=1):
        if line.strip():
            where = f"{file.name}:{number}"
            try:
                id_, entities, triples = _parts(json.loads(line.decode("utf-8-sig")))
            except (ValueError, RecursionError) as error:
                failures.append(Failure(EXTRACT, where, "the line is not an extraction", str(error)))
                continue
            if id_ not in document_ids:
                failures.append(Failure(EXTRACT, where, "no document has this id", id_))
            elif id_ in found:
                failures.append(Failure(EXTRACT, where, "a second extraction of one document", id_))
            else:
                found[id_], wrong = usable(entities, triples)
                failures.extend(Failure(EXTRACT, where, LOST_RECORD, item) for item in wrong)
    return found, failures


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise InputError(f"the extraction {file} cannot be read: {error.strerror or error}") from error


def _parts(row: Any) -> tuple[str, list[object], list[object]]:  # noqa: ANN401  (any JSON value may appear in a file)
    """Return the document id, entities and triples of a line; ValueError states what is wrong."""
    if not isinstance(row, dict):
        raise ValueError("it is no object")
    id_, lists = row.get("id"), _lists(row, "entities", "triples")
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        raise ValueError(f"its id is {id_!r}")
    if not row.keys() & {"entities", "triples"}:
        raise ValueError("it has neither entities nor triples")
    return str(id_), *lists


def _lists(row: dict[str, Any], one: str, other: str) -> tuple[list[object], list[object]]:
    entities, triples = row.get(one, []), row.get(other, [])
    if not isinstance(entities, list) or not isinstance(triples, list):
        raise ValueError(f"{one} and {other} are not both lists")
    return entities, triples


GRAPHML = ".graphml"
"""The file ending of LightRAG's graph."""


def read_results(file: Path) -> OpenResults | None:
    """Read HippoRAG's results or, from a .graphml file, LightRAG's; None for a file in another format.

    InputError if the file cannot be read.
    """
    if file.suffix.lower() == GRAPHML:
        return read_lightrag(file)
    content = _bytes_of(file)
    try:
        found = json.loads(content.decode("utf-8-sig")) if content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" else None
    except (ValueError, RecursionError):  # probably JSON lines, which are read line by line
        return None
    docs = found.get("docs") if isinstance(found, dict) else None
    if not isinstance(docs, list):
        return None
    passages: list[ExtractedPassage] = []
    failures: list[Failure] = []
    for number, row in enumerate(docs):
        item = f"{file.name}#{number}"
        try:
            text, entities, triples = _passage_parts(row)
        except ValueError as error:
            failures.append(Failure(EXTRACT, item, "not a passage with its extraction", str(error)))
            continue
        extraction, wrong = usable(entities, triples)
        passages.append(ExtractedPassage(item, text, extraction))
        failures.extend(Failure(EXTRACT, item, LOST_RECORD, one) for one in wrong)
    return OpenResults(passages, failures, _documents(passages, file))


def _passage_parts(row: Any) -> tuple[str, list[object], list[object]]:  # noqa: ANN401  (any JSON value may appear in a file)
    if not isinstance(row, dict):
        raise ValueError("it is no object")
    text = row.get("passage")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("its passage is no text")
    return clean(text), *_lists(row, "extracted_entities", "extracted_triples")


def read_passages(file: Path) -> list[Document]:
    """Return the passages of a file as documents, sorted by id; InputError if the file has no passage."""
    results = read_results(file)
    if results is None or not results.documents:
        raise InputError(f"{file} has no passages to index: name the documents that it was made from")
    return results.documents


def _documents(passages: Sequence[ExtractedPassage], file: Path) -> list[Document]:
    """Return the distinct passages as documents, sorted by id; a first line that looks like a title is the title."""
    made: dict[str, Document] = {}
    for passage in passages:
        title, text = titled(passage.text)
        id_ = short_id("passage", title, text)
        uri = f"{file.name}#{passage.item.rpartition('#')[2]}"
        made.setdefault(id_, Document(id_, title, uri, text, {}, len(text), digest(text)))
    return [made[id_] for id_ in sorted(made)]


CHUNKS = "kv_store_text_chunks.json"
DOCUMENTS = "kv_store_full_docs.json"


def read_lightrag(file: Path) -> OpenResults:
    """Return the chunks with the statements of the graph in `file` about them, and the documents of the chunks.

    A chunk that only the graph names, and a chunk without a text, are failures. InputError if the graph lists no
    chunks, or the files of the chunks are missing.
    """
    graph = network_of(file)
    if not is_rag(graph):
        raise InputError(f"{file} does not list the chunks that it comes from: import it with --kg")
    chunks = _store(file.with_name(CHUNKS))
    if chunks is None:
        raise InputError(f"{file} has no {CHUNKS} beside it, which contains the texts: import it with --kg")
    full = _store(file.with_name(DOCUMENTS)) or {}
    texts = {id_: clean(row["content"]) for id_, row in full.items() if isinstance(row.get("content"), str)}
    found, failures = _stated(graph, chunks, file)
    passages: list[ExtractedPassage] = []
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
        passages.append(ExtractedPassage(f"{CHUNKS}#{id_}", text, found.get(id_, OpenExtraction()), name))
    return OpenResults(passages, failures, [documents[name] for name in sorted(documents)])


def _store(file: Path) -> Mapping[str, Mapping[str, Any]] | None:
    """Return the content of a key-value file, None if it does not exist."""
    if not file.is_file():
        return None
    try:
        found = json.loads(file.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{file} contains no keys and values")
    return {clean(id_): row for id_, row in found.items() if isinstance(row, dict)}


def _document(id_: str, text: str, row: Mapping[str, Any]) -> Document:
    path = row.get("file_path")
    path = clean(path).strip() if isinstance(path, str) else ""
    known = path and path != "unknown_source"  # what LightRAG writes if it does not know the file
    return Document(id_, Path(path).stem if known else "", path if known else id_, text, {}, len(text), digest(text))


def _stated(
    graph: NodesAndEdges, chunks: Mapping[str, Mapping[str, Any]], file: Path
) -> tuple[dict[str, OpenExtraction], list[Failure]]:
    """Return the extraction of each chunk, and a failure for each chunk that only the graph names."""
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
        Failure(EXTRACT, f"{file.name}#{id_}", "a chunk that is in no file") for id_ in sorted(named - chunks.keys())
    ]
    return {id_: OpenExtraction(tuple(entities[id_]), tuple(triples[id_])) for id_ in named}, missing


def _sources(item: Item) -> list[str]:
    return [part.strip() for part in clean(item.attributes.get("source_id", "")).split(SEPARATOR) if part.strip()]
