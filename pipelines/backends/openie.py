"""Backends over open information extraction, HippoRAG's index (arXiv 2405.14831): by two prompts, or from a file.

HippoRAG has neither descriptions nor reports, so they are made as without a model.
"""

from collections.abc import Sequence
from pathlib import Path

from conspectus.pipelines.backends.base import Extraction
from conspectus.pipelines.backends.llm import name_phrases
from conspectus.pipelines.backends.nlp import AskedModel, NlpBackend
from conspectus.pipelines.exchange.openie.read import by_chunk, match_passages, read_open, read_results
from conspectus.pipelines.steps.extract.llm import guidance_of
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.pipelines.steps.extract.openie import Annotated, OpenExtraction, extract_open, merge_open
from conspectus.prompts.client.event_loop import wait_for
from conspectus.storage.records import Chunk, Document, Failure, Mention
from conspectus.storage.settings import Settings
from conspectus.storage.text.nlp import CONCEPT, Annotation


class OpenieLlmBackend(NlpBackend):
    """Lets a model list named entities and state triples; the other steps are those without a model.

    Raises SettingsError and BudgetReached like `LlmBackend`.
    """

    is_remote = True

    _asked: AskedModel

    def extract(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Extraction:
        """Return the model's statements about each chunk, merged."""
        self._documents, self._chunks = documents, chunks
        persona = guidance_of(self._settings.extraction).persona
        extractions, failures = wait_for(extract_open(documents, chunks, self._asked.model, self._progress, persona))
        self._asked.check()
        stated = [Annotated(chunk, extraction) for chunk, extraction in zip(chunks, extractions, strict=True)]
        knowledge = merge_open(documents, stated, self._rules)
        return Extraction(knowledge, [], name_phrases(chunks, _names(knowledge)), failures)


class OpenieFileBackend(NlpBackend):
    """Reads extractions by another program from the file `extraction.openie`; no model is used.

    Documents that the file does not name are annotated by `extraction.pipeline`, so that they are in the graph too.
    Raises InputError if the file cannot be read.
    """

    def extract(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Extraction:
        """Return the file's extractions of its documents, and the pipeline's of the others, merged."""
        self._documents, self._chunks, settings = documents, chunks, self._settings
        stated, failures, note = _read(Path(settings.extraction.openie), documents, chunks, settings)
        others = [chunk for chunk in chunks if chunk.id not in stated]
        annotations, unread = self._annotations(documents, others)
        annotated = {chunk.id: annotation for chunk, annotation in zip(others, annotations, strict=True)}
        found = [
            Annotated(chunk, stated.get(chunk.id, OpenExtraction()), annotated.get(chunk.id, Annotation((), ())))
            for chunk in chunks
        ]
        knowledge = merge_open(documents, found, self._rules)
        named = name_phrases(chunks, _names(knowledge))
        begins = [annotated.get(chunk.id, phrases) for chunk, phrases in zip(chunks, named, strict=True)]
        return Extraction(knowledge, [], begins, [*failures, *unread], (note,))


def _names(knowledge: Knowledge) -> list[Mention]:
    """Return the mentions of names that a text may begin with: neither concepts nor bare numbers and years."""
    named = {
        entity.id
        for entity in knowledge.entities
        if any(kind != CONCEPT for kind in entity.types) and any(sign.isalpha() for sign in entity.name)
    }
    return [mention for mention in knowledge.mentions if mention.entity_id in named]


def _read(
    file: Path, documents: Sequence[Document], chunks: Sequence[Chunk], settings: Settings
) -> tuple[dict[str, OpenExtraction], list[Failure], str]:
    """Return the extraction of each chunk from a file of either format, by id, the failures, and a note."""
    results = read_results(file)
    if results is not None:
        stated, failures = match_passages(results, documents, chunks)
        return stated, failures, _note(file, "chunks", len(stated), len(chunks), settings)
    of_document, failures = read_open(file, {document.id for document in documents})
    chunks_of: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        chunks_of.setdefault(chunk.document_id, []).append(chunk)
    stated = {}
    for id_ in of_document.keys() & chunks_of.keys():
        own = chunks_of[id_]
        stated.update(zip((chunk.id for chunk in own), by_chunk(of_document[id_], own), strict=True))
    named = sum(document.id in of_document for document in documents)
    return stated, failures, _note(file, "documents", named, len(documents), settings)


def _note(file: Path, what: str, named: int, count: int, settings: Settings) -> str:
    said = f"{named:,} of {count:,} {what} as {file.name} has them"
    rest = count - named
    return f"{said}, the other {rest:,} by {settings.extraction.pipeline}" if rest else said
