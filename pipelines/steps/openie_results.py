"""An extraction as HippoRAG keeps it (Gutiérrez et al. 2024; its file openie_results_*.json): by passage, with text.

    {"docs": [{"idx": "chunk-...", "passage": "Title\\ntext", "extracted_entities": [...],
               "extracted_triples": [[subject, predicate, object], ...]}, ...], "avg_ent_chars": ..., ...}

A passage is known by its text, whatever its id: it is a chunk, or a document, with its title on a line before it or
without. Where nothing else is indexed, the passages are the documents.
"""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.lost import EXTRACT
from pipelines.steps.extraction_model import LOST_RECORD
from pipelines.steps.openie import OpenExtraction, usable
from pipelines.steps.openie_file import by_chunk
from pipelines.steps.readers.encodings import clean
from storage.errors import InputError
from storage.hashing import digest, short_id
from storage.records import Chunk, Document, Failure

_LONGEST_TITLE = 150
"""Characters; a first line that is longer is no title."""
_ENDS_A_SENTENCE = (".", "!", "?", ":", ";", ",", "。", "！", "？", "؟", "।")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage, what was extracted of it, and where it stands in the file."""

    item: str
    text: str
    extraction: OpenExtraction


@dataclass(frozen=True, slots=True)
class OpenResults:
    """The passages of a file in its order, and what was lost of it."""

    passages: list[Passage]
    failures: list[Failure]


def read_results(file: Path) -> OpenResults | None:
    """Return what a file of HippoRAG's holds, None for one that is none; InputError where it cannot be read at all.

    What cannot be used is a failure, whose item is the place among the passages ("results.json#3", from 0).
    """
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
    read = OpenResults([], [])
    for number, row in enumerate(docs):
        item = f"{file.name}#{number}"
        try:
            text, entities, triples = _parts(row)
        except ValueError as error:
            read.failures.append(Failure(EXTRACT, item, "no passage with what was extracted of it", str(error)))
            continue
        extraction, wrong = usable(entities, triples)
        read.passages.append(Passage(item, text, extraction))
        read.failures.extend(Failure(EXTRACT, item, LOST_RECORD, each) for each in wrong)
    return read


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
    """Return the passages of a file as documents, each text once, sorted by id.

    A first line that looks like a title is one. InputError where the file has no passage.
    """
    results = read_results(file)
    if results is None or not results.passages:
        raise InputError(f"{file} has no passages to index: name the documents that it was made from")
    made: dict[str, Document] = {}
    for each in results.passages:
        title, text = _titled(each.text)
        id_ = short_id("passage", title, text)
        uri = f"{file.name}#{each.item.rpartition('#')[2]}"
        made.setdefault(id_, Document(id_, title, uri, text, {}, len(text), digest(text)))
    return [made[id_] for id_ in sorted(made)]


def _titled(passage: str) -> tuple[str, str]:
    """Return the title and the text of a passage; a title is a short first line that ends no sentence."""
    first, _, rest = passage.strip().partition("\n")
    title = " ".join(first.split())
    if not rest.strip() or not title or len(title) > _LONGEST_TITLE or title.endswith(_ENDS_A_SENTENCE):
        return "", passage.strip()
    return title, rest.strip()


@dataclass(frozen=True, slots=True)
class Placed:
    """What is stated of each chunk, by id, and what of the file belongs to none."""

    stated: dict[str, OpenExtraction]
    failures: list[Failure]


def placed(results: OpenResults, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Placed:
    """Return which chunks the passages are.

    A passage is a chunk, or else a document, whose text it is, but for whitespace, with the title on a line before it
    or without. What is stated of a document is divided among its chunks (see `by_chunk`).
    """
    title_of = {each.id: each.title for each in documents}
    of_document: defaultdict[str, list[Chunk]] = defaultdict(list)
    whole: defaultdict[str, dict[tuple[str, ...], list[Chunk]]] = defaultdict(dict)
    for chunk in chunks:
        of_document[chunk.document_id].append(chunk)
        for key in _keys(title_of[chunk.document_id], chunk.text):
            whole[key][(chunk.id,)] = [chunk]
    for document in documents:
        several = of_document[document.id]
        if len(several) > 1:
            for key in _keys(document.title, document.text):
                whole[key][tuple(each.id for each in several)] = several
    stated: dict[str, OpenExtraction] = {}
    failures = list(results.failures)
    for passage in results.passages:
        found = whole.get(_key(passage.text)) or whole.get(_key(_titled(passage.text)[1]), {})
        if not found:
            failures.append(Failure(EXTRACT, passage.item, "no document or chunk has this text", passage.text[:200]))
        elif any(id_ in stated for ids in found for id_ in ids):
            failures.append(Failure(EXTRACT, passage.item, "a second extraction of one text", passage.text[:200]))
        else:
            for several in found.values():
                own = by_chunk(passage.extraction, several)
                stated.update(zip((each.id for each in several), own, strict=True))
    return Placed(stated, failures)


def _keys(title: str, text: str) -> set[str]:
    return {_key(text), _key(f"{title}\n{text}")}


def _key(text: str) -> str:
    return digest(" ".join(text.split()))
