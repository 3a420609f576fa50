"""Annotate chunks with an NLP pipeline instead of a language model, cached by text and run in shards."""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import islice
from pathlib import Path

from conspectus.pipelines.runner import Runner, shards
from conspectus.storage.errors import IndexUnusable
from conspectus.storage.hashing import digest
from conspectus.storage.made_rows import MadeRows
from conspectus.storage.memo import Memo
from conspectus.storage.records import LANGUAGE, Chunk, Document, Failure
from conspectus.storage.settings import ExtractionSettings
from conspectus.storage.text.language import function_words, language_of
from conspectus.storage.text.names import word_keys
from conspectus.storage.text.nlp import Annotation, Annotator, Phrase, Triple, open_annotator

STAGE = "extract"
_READ_AT_ONCE = 1_000
"""Annotations read from the memo at once."""
_KEY_BYTES = 32


def languages_of(documents: Sequence[Document], chunks: Sequence[Chunk]) -> list[str]:
    """Return the language of each chunk: its document's, or English if it has more English function words.

    A partly translated page is annotated in both languages.
    """
    known = {
        each.id: sys.intern(each.metadata.get(LANGUAGE) or language_of(each.text, each.metadata)) for each in documents
    }
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

    A failed chunk has an empty annotation; the others are read from the memo when they are asked for. Only texts that
    are not in the memo are annotated. `languages` are those of the chunks (see `languages_of`); if empty, they are
    unknown.
    """
    if not chunks:
        return [], []
    keys, pending = bytearray(), dict[str, tuple[str, str]]()
    each = zip(languages or [""] * len(chunks), (chunk.text for chunk in chunks), strict=True)
    while block := list(islice(each, _READ_AT_ONCE)):
        own = [_key(settings, *of_chunk) for of_chunk in block]
        keys += bytes.fromhex("".join(own))
        missing = set(memo.missing(STAGE, own))
        pending.update(pair for pair in zip(own, block, strict=True) if pair[0] in missing)
    work = partial(annotate_shard, settings=settings, memo_path=memo.path)
    parts = shards(list(pending.values()), shard_size)
    problems = dict(problem for part in run(STAGE, work, parts) for problem in part)
    found = _RememberedAnnotations(bytes(keys), memo)
    failed = set(memo.missing(STAGE, pending))
    failures = [
        Failure(STAGE, chunks[row].id, "the chunk could not be annotated", problems.get(key, ""))
        for row, key in enumerate(found.keys() if failed else ())
        if key in failed
    ]
    return found, failures


class _RememberedAnnotations(MadeRows[Annotation]):
    """Annotations in the memo, each read when it is asked for, or many at once when all are; one that failed is empty.

    Args:
        keys: Their keys, 32 bytes each.
        memo: The memo.
    """

    def __init__(self, keys: bytes, memo: Memo) -> None:
        self._keys = keys
        self._memo = memo

    def keys(self) -> Iterator[str]:
        """Yield the keys."""
        return (self._keys[at : at + _KEY_BYTES].hex() for at in range(0, len(self._keys), _KEY_BYTES))

    def __len__(self) -> int:
        return len(self._keys) // _KEY_BYTES

    def __iter__(self) -> Iterator[Annotation]:
        keys = self.keys()
        while block := list(islice(keys, _READ_AT_ONCE)):
            yield from self._read(block)

    def _made(self, row: int) -> Annotation:
        (found,) = self._read([self._keys[_KEY_BYTES * row : _KEY_BYTES * (row + 1)].hex()])
        return found

    def _read(self, keys: Sequence[str]) -> Iterator[Annotation]:
        found = self._memo.get_many(STAGE, keys)
        return (_decode(found[key]) if key in found else Annotation((), ()) for key in keys)


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
        for text, found in _annotated(_annotator(settings.pipeline, language), group):
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
def _annotator(pipeline: str, language: str) -> Annotator:
    return open_annotator(pipeline, language)


def _key(settings: ExtractionSettings, language: str, text: str) -> str:
    return digest(_annotator(settings.pipeline, language).name, text)


def _encode(annotation: Annotation) -> bytes:
    """Encode phrases once and triples by position: [[phrases], [[subject, predicate, object, start, end]]]."""
    position = {phrase: i for i, phrase in enumerate(annotation.phrases)}
    triples = [
        [position[triple.subject], triple.predicate, position[triple.object], triple.start, triple.end]
        for triple in annotation.triples
    ]
    return json.dumps([annotation.phrases, triples], ensure_ascii=False).encode()


def _decode(data: bytes) -> Annotation:
    try:
        phrase_rows, triple_rows = json.loads(data)
        phrases = tuple(Phrase(*row) for row in phrase_rows)
        triples = tuple(Triple(phrases[s], p, phrases[o], start, end) for s, p, o, start, end in triple_rows)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise IndexUnusable("the memo holds a damaged annotation; delete it to go on") from error
    return Annotation(phrases, triples)
