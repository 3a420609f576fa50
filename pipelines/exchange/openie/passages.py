"""Match passages, with what another program extracted from them, to our chunks."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conspectus.pipelines.build_report import EXTRACT
from conspectus.pipelines.steps.extract.openie import OpenExtraction
from conspectus.storage.hashing import digest
from conspectus.storage.records import Chunk, Document, Failure
from conspectus.storage.text.names import words

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
    title_of = {document.id: document.title for document in documents}
    text_of = {document.id: document.text for document in documents}
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
                whole[key][tuple(item.id for item in several)] = several
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


def _keys(title: str, text: str) -> set[str]:
    return {_key(text), _key(f"{title}\n{text}")}


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
