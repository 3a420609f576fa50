"""An extraction made elsewhere: named entities and triples by document, read from a file.

A line is one document: {"id": document id, "entities": [...], "triples": [[subject, predicate, object], ...]}. Nothing
of it is lost in silence: a line that is no such object, one of a document that is not there or was named before, and
each entity or triple that cannot be used is a failure, whose item is the line ("openie.jsonl:12").
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conspectus.pipelines.build_report import EXTRACT
from conspectus.pipelines.steps.extract.llm import LOST_RECORD
from conspectus.pipelines.steps.extract.openie import OpenExtraction, usable
from conspectus.storage.errors import InputError
from conspectus.storage.records import Chunk, Failure
from conspectus.storage.text.names import words


@dataclass(frozen=True, slots=True)
class OpenFile:
    """What a file says, by document id, and what was lost of it."""

    of_document: dict[str, OpenExtraction]
    failures: list[Failure]


def read_open(file: Path, document_ids: Collection[str]) -> OpenFile:
    """Return what a file says of these documents; InputError where it cannot be read at all."""
    try:
        lines = file.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"the extraction {file} cannot be read: {error.strerror or error}") from error
    read = OpenFile({}, [])
    for number, line in enumerate(lines, start=1):
        if line.strip():
            where = f"{file.name}:{number}"
            try:
                id_, entities, triples = _parts(json.loads(line.decode("utf-8-sig")))
            except (ValueError, RecursionError) as error:
                read.failures.append(Failure(EXTRACT, where, "the line is no extraction", str(error)))
                continue
            if id_ not in document_ids:
                read.failures.append(Failure(EXTRACT, where, "there is no document of this id", id_))
            elif id_ in read.of_document:
                read.failures.append(Failure(EXTRACT, where, "a second extraction of one document", id_))
            else:
                read.of_document[id_], wrong = usable(entities, triples)
                read.failures.extend(Failure(EXTRACT, where, LOST_RECORD, each) for each in wrong)
    return read


def _parts(row: Any) -> tuple[str, list[object], list[object]]:  # noqa: ANN401  (any JSON value may stand in a file)
    """Return a line's document id, entities and triples; ValueError says what is wrong with it."""
    if not isinstance(row, dict):
        raise ValueError("it is no object")
    id_, entities, triples = row.get("id"), row.get("entities", []), row.get("triples", [])
    if isinstance(id_, bool) or not isinstance(id_, str | int):
        raise ValueError(f"its id is {id_!r}")
    if not isinstance(entities, list) or not isinstance(triples, list):
        raise ValueError("entities and triples are not both lists")
    if not row.keys() & {"entities", "triples"}:
        raise ValueError("it has neither entities nor triples")
    return str(id_), entities, triples


def by_chunk(extraction: OpenExtraction, chunks: Sequence[Chunk]) -> list[OpenExtraction]:
    """Return what of a document's extraction belongs to each of its chunks.

    An entity or a triple belongs to every chunk that holds all its words; where none does, to the first of those that
    hold most of them.
    """
    if len(chunks) == 1:
        return [extraction]
    held = [frozenset(word.key for word in words(chunk.text)) for chunk in chunks]
    entities = [(each, _places(each, held)) for each in extraction.entities]
    triples = [(each, _places(each.told, held)) for each in extraction.triples]
    return [
        OpenExtraction(
            tuple(each for each, places in entities if number in places),
            tuple(each for each, places in triples if number in places),
        )
        for number in range(len(chunks))
    ]


def _places(text: str, held: Sequence[frozenset[str]]) -> list[int]:
    wanted = {word.key for word in words(text)}
    counts = [len(wanted & each) for each in held]
    most = max(counts)
    best = [number for number, count in enumerate(counts) if count == most]
    return best if most == len(wanted) else best[:1]
