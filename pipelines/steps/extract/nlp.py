"""Annotate chunks with an NLP pipeline instead of a language model, cached by text and run in shards."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from conspectus.pipelines.runner import Runner, shards
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo
from conspectus.storage.records import LANGUAGE, Chunk, Document, Failure
from conspectus.storage.settings import ExtractionSettings
from conspectus.storage.text.language import function_words, language_of
from conspectus.storage.text.names import word_keys
from conspectus.storage.text.nlp import Annotation, Annotations, Annotator, Phrase, Triple, open_annotator

STAGE = "extract"
_READ_AT_ONCE = 10_000
"""Annotations read from the memo at once."""


def languages_of(documents: Sequence[Document], chunks: Sequence[Chunk]) -> list[str]:
    """Return the language of each chunk: its document's, or English if it has more English function words.

    A partly translated page is annotated in both languages.
    """
    known = {each.id: each.metadata.get(LANGUAGE) or language_of(each.text, each.metadata) for each in documents}
    return [_language(chunk.text, known[chunk.document_id]) for chunk in chunks]


def _language(text: str, of_document: str) -> str:
    if of_document in {"", "en"}:
        return of_document
    keys = set(word_keys(text))
    english, own = function_words("en"), function_words(of_document)
    return "en" if len(keys & english - own) > len(keys & own - english) else of_document


def annotate_chunks(
    chunks: Sequence[Chunk],
    settings: ExtractionSettings,
    memo: Memo,
    run: Runner,
    shard_size: int,
    languages: Sequence[str] = (),
) -> tuple[Sequence[Annotation], list[Failure]]:
    """Return the annotation of each chunk, in order, and a failure for each chunk that could not be annotated.

    A failed chunk has an empty annotation. Only texts that are not in the memo are annotated. `languages` are those of
    the chunks (see `languages_of`); if empty, they are unknown.
    """
    if not chunks:
        return [], []
    languages = languages or [""] * len(chunks)
    keys = [_key(settings, *each) for each in zip(languages, (chunk.text for chunk in chunks), strict=True)]
    texts = {key: (language, chunk.text) for key, language, chunk in zip(keys, languages, chunks, strict=True)}
    pending = [texts[key] for key in memo.missing(STAGE, keys)]
    work = partial(annotate_shard, settings=settings, memo_path=memo.path)
    problems = dict(problem for part in run(STAGE, work, shards(pending, shard_size)) for problem in part)

    annotations = Annotations()
    failures = []
    for start in range(0, len(keys), _READ_AT_ONCE):
        block = keys[start : start + _READ_AT_ONCE]
        found = memo.get_many(STAGE, block)
        annotations.extend(_decode(found[key]) if key in found else Annotation((), ()) for key in block)
        failures += [
            Failure(STAGE, chunks[row].id, "the chunk could not be annotated", problems.get(key, ""))
            for row, key in enumerate(block, start)
            if key not in found
        ]
    return annotations, failures


def unannotated(
    documents: Sequence[Document], chunks: Sequence[Chunk], settings: ExtractionSettings, memo: Memo
) -> list[str]:
    """Return the memo keys of the distinct chunk texts that have no annotation yet."""
    languages = languages_of(documents, chunks)
    return memo.missing(
        STAGE, (_key(settings, *each) for each in zip(languages, (c.text for c in chunks), strict=True))
    )


def annotate_shard(
    texts: Sequence[tuple[str, str]], settings: ExtractionSettings, memo_path: Path
) -> list[tuple[str, str]]:
    """Annotate (language, text) into the memo; return (memo key, reason) for each text that the pipeline failed on."""
    results: dict[str, bytes] = {}
    sources: dict[str, list[str]] = {}
    problems = []
    in_language: defaultdict[str, list[str]] = defaultdict(list)
    for language, text in texts:
        in_language[language].append(text)
    for language, group in in_language.items():
        for text, found in _annotated(_annotator(settings.pipeline, settings.concepts, language), group):
            key = _key(settings, language, text)
            if isinstance(found, Annotation):
                results[key] = _encode(found)
                sources[key] = [digest(text)]
            else:
                problems.append((key, f"{type(found).__name__}: {found}"))
    Memo(memo_path).put_many(STAGE, results, sources)
    return problems


_FAILURES = (ValueError, TypeError, LookupError, ArithmeticError, RuntimeError)


def _annotated(annotator: Annotator, texts: Sequence[str]) -> Iterator[tuple[str, Annotation | Exception]]:
    """Yield each text with its annotation, or with the error of the pipeline."""
    try:
        yield from zip(texts, annotator.annotate_all(texts), strict=True)
    except _FAILURES:  # one text fails: find out which
        for text in texts:
            try:
                yield text, annotator.annotate(text)
            except _FAILURES as error:
                yield text, error


@cache
def _annotator(pipeline: str, concepts: bool, language: str) -> Annotator:
    return open_annotator(pipeline, concepts, language)


def _key(settings: ExtractionSettings, language: str, text: str) -> str:
    return digest(_annotator(settings.pipeline, settings.concepts, language).name, text)


def _encode(annotation: Annotation) -> bytes:
    """Encode phrases once and triples by position: [[phrases], [[subject, predicate, object, start, end]]]."""
    position = {phrase: i for i, phrase in enumerate(annotation.phrases)}
    triples = [
        [position[triple.subject], triple.predicate, position[triple.object], triple.start, triple.end]
        for triple in annotation.triples
    ]
    return json.dumps([annotation.phrases, triples], ensure_ascii=False).encode()


def _decode(data: bytes) -> Annotation:
    phrase_rows, triple_rows = json.loads(data)
    phrases = tuple(Phrase(*row) for row in phrase_rows)
    triples = tuple(Triple(phrases[s], p, phrases[o], start, end) for s, p, o, start, end in triple_rows)
    return Annotation(phrases, triples)
