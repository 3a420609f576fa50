"""Annotate chunks with an NLP pipeline instead of a language model, cached by text and run in shards."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple
from functools import cache, partial
from pathlib import Path

from conspectus.pipelines.runner import Runner, shards
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Failure
from conspectus.storage.settings import ExtractionSettings
from conspectus.storage.text.nlp import Annotation, Annotator, Phrase, Triple, open_annotator

STAGE = "extract"


def annotate_chunks(
    chunks: Sequence[Chunk], settings: ExtractionSettings, memo: Memo, run: Runner, shard_size: int
) -> tuple[list[Annotation], list[Failure]]:
    """Return the annotation of each chunk, in order, and a failure for each that could not be made.

    A chunk that failed has an empty annotation. Only texts that the memo does not hold are worked on.
    """
    if not chunks:
        return [], []
    annotator = _annotator(settings.pipeline, settings.concepts)
    keys = [_key(annotator, chunk.text) for chunk in chunks]
    texts = {key: chunk.text for key, chunk in zip(keys, chunks, strict=True)}
    pending = [texts[key] for key in memo.missing(STAGE, keys)]
    work = partial(annotate_shard, settings=settings, memo_path=memo.path)
    problems = dict(problem for part in run(STAGE, work, shards(pending, shard_size)) for problem in part)

    found = memo.get_many(STAGE, keys)
    empty = Annotation((), ())
    annotations = [_decode(found[key]) if key in found else empty for key in keys]
    failures = [
        Failure(STAGE, chunk.id, "the chunk could not be annotated", problems.get(key, ""))
        for key, chunk in zip(keys, chunks, strict=True)
        if key not in found
    ]
    return annotations, failures


def unannotated(chunks: Sequence[Chunk], settings: ExtractionSettings, memo: Memo) -> list[str]:
    """Return the memo keys of the different chunk texts that have no annotation yet."""
    annotator = _annotator(settings.pipeline, settings.concepts)
    return memo.missing(STAGE, (_key(annotator, chunk.text) for chunk in chunks))


def annotate_shard(texts: Sequence[str], settings: ExtractionSettings, memo_path: Path) -> list[tuple[str, str]]:
    """Annotate texts into the memo; return (memo key, reason) for each that the pipeline could not take."""
    annotator = _annotator(settings.pipeline, settings.concepts)
    results: dict[str, bytes] = {}
    sources: dict[str, list[str]] = {}
    problems = []
    for text in texts:
        key = _key(annotator, text)
        try:
            results[key] = _encode(annotator.annotate(text))
            sources[key] = [digest(text)]
        except (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError) as error:
            problems.append((key, f"{type(error).__name__}: {error}"))
    Memo(memo_path).put_many(STAGE, results, sources)
    return problems


@cache
def _annotator(pipeline: str, concepts: bool) -> Annotator:
    return open_annotator(pipeline, concepts)


def _key(annotator: Annotator, text: str) -> str:
    return digest(annotator.name, text)


def _encode(annotation: Annotation) -> bytes:
    """Write phrases once and triples by position: [[phrases], [[subject, predicate, object, start, end]]]."""
    position = {phrase: i for i, phrase in enumerate(annotation.phrases)}
    triples = [
        [position[triple.subject], triple.predicate, position[triple.object], triple.start, triple.end]
        for triple in annotation.triples
    ]
    return json.dumps([[astuple(phrase) for phrase in annotation.phrases], triples], ensure_ascii=False).encode()


def _decode(data: bytes) -> Annotation:
    phrase_rows, triple_rows = json.loads(data)
    phrases = tuple(_phrases(phrase_rows))
    triples = tuple(Triple(phrases[s], p, phrases[o], start, end) for s, p, o, start, end in triple_rows)
    return Annotation(phrases, triples)


def _phrases(rows: Iterable[Sequence[object]]) -> Iterable[Phrase]:
    return (Phrase(*row) for row in rows)  # type: ignore[arg-type]  # as _encode wrote them
