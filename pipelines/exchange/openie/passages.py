"""Passages with what was extracted of them elsewhere, and which of our chunks they are."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conspectus.pipelines.build_report import EXTRACT
from conspectus.pipelines.steps.extract.openie import OpenExtraction
from conspectus.storage.hashing import digest
from conspectus.storage.records import Chunk, Document, Failure
from conspectus.storage.text.names import words

_LONGEST_TITLE = 150
"""Characters; a first line that is longer is no title."""
_ENDS_A_SENTENCE = (".", "!", "?", ":", ";", ",", "。", "！", "？", "؟", "।")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage, what was extracted of it, and where it stands in the file; `within` is the document that holds it."""

    item: str
    text: str
    extraction: OpenExtraction
    within: str = ""


@dataclass(frozen=True, slots=True)
class OpenResults:
    """The passages of a file in its order, what was lost of it, and which documents they are where none are named."""

    passages: list[Passage]
    failures: list[Failure]
    documents: list[Document]


def titled(passage: str) -> tuple[str, str]:
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
    or without; or it is a run of the document that it is `within`. What is stated of several chunks is divided among
    them (see `by_chunk`).
    """
    title_of = {each.id: each.title for each in documents}
    text_of = {each.id: each.text for each in documents}
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
    return Placed(stated, failures)


def _run(passage: Passage, text_of: Mapping[str, str], of_document: Mapping[str, list[Chunk]]) -> list[Chunk]:
    """Return the chunks that a passage of a document reaches into, none where it is not known to be one."""
    text = passage.text.strip()
    start = text_of.get(passage.within, "").find(text)
    return [
        each for each in of_document.get(passage.within, ()) if start >= 0 and _meets(each, start, start + len(text))
    ]


def _meets(chunk: Chunk, start: int, end: int) -> bool:
    return chunk.start < end and start < chunk.end


def _add(stated: dict[str, OpenExtraction], extraction: OpenExtraction, chunks: Sequence[Chunk]) -> None:
    """Divide an extraction among chunks; passages that overlap both state something of one."""
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
