"""Judgement over open information extraction, HippoRAG's way to an index: by a model's two prompts, or from a file.

HippoRAG has neither descriptions nor reports, so what comes after extraction is as without a model, and asks none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.pipelines.backends.base import Described, Found, Told
from conspectus.pipelines.backends.llm import AskedModel, MeteredModel, leads
from conspectus.pipelines.backends.nlp import OfflineJudgement
from conspectus.pipelines.exchange.openie.file import by_chunk, read_open
from conspectus.pipelines.exchange.openie.hipporag import read_results
from conspectus.pipelines.exchange.openie.passages import placed
from conspectus.pipelines.runner import Progress, Runner
from conspectus.pipelines.steps.communities import Earlier
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.pipelines.steps.extract.nlp import annotate_chunks
from conspectus.pipelines.steps.extract.openie import Annotated, OpenExtraction, extract_open, merge_open
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.client.event_loop import wait_for
from conspectus.prompts.client.usage import Spending
from conspectus.prompts.model import LanguageModel
from conspectus.prompts.replies.reask import Retried
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Document, Failure, Mention
from conspectus.storage.settings import Settings, read_tuned
from conspectus.storage.text.nlp import CONCEPT, Annotation


class OpenieModelJudgement:
    """Has a model list named entities and state triples; the rest is as without a model.

    The model is that of the settings, if no other is given; `retry` asks it again for the replies that lost something.
    NeedsModel, SettingsError and BudgetReached as for ModelJudgement.
    """

    waits = True

    def __init__(
        self,
        settings: Settings,
        memo: Memo,
        run: Runner,
        progress: Progress,
        model: MeteredModel | None = None,
        *,
        retry: bool = False,
        earlier: Earlier | None = None,
    ) -> None:
        self._settings = settings
        self._progress = progress
        self._persona = read_tuned(settings.extraction).extracts_as()
        self._offline = OfflineJudgement(settings, memo, run, earlier)
        self._asked = AskedModel(model or ModelClient(settings.llm, memo), retry=retry)
        self._model = self._asked.model

    @property
    def voter(self) -> LanguageModel:
        """The model that finds."""
        return self._model

    def find(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Found:
        """Return what the model states of each chunk, merged."""
        extractions, lost = wait_for(extract_open(chunks, self._model, self._progress, self._persona))
        found = [Annotated(chunk, each) for chunk, each in zip(chunks, extractions, strict=True)]
        knowledge = merge_open(documents, found, self._settings.names)
        return Found(knowledge, [], leads(chunks, _names(knowledge)), lost)

    def tell(self, documents: Sequence[Document], chunks: Sequence[Chunk], found: Found, described: Described) -> Told:
        """Return extractive descriptions and reports."""
        return self._offline.tell(documents, chunks, found, described)

    def spending(self) -> tuple[Spending, ...]:
        """Return what was asked of the model so far, by step and model."""
        return self._asked.spending()

    def retried(self) -> Retried:
        """Return what came of asking again so far."""
        return self._asked.retried()


@dataclass(frozen=True, slots=True)
class OpenieFileJudgement:
    """Takes what was extracted elsewhere from the file `extraction.openie`; no model is asked for anything.

    Documents that the file does not name are read by `extraction.pipeline`, so that they are in the graph too.
    InputError where the file cannot be read.
    """

    settings: Settings
    memo: Memo
    run: Runner
    earlier: Earlier | None = None
    waits: bool = False

    @property
    def voter(self) -> None:
        """No model is asked."""
        return None

    def find(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Found:
        """Return what the file states of its documents, and the pipeline of the others, merged."""
        settings = self.settings
        file = Path(settings.extraction.openie)
        stated, failures, said = _read(file, documents, chunks, settings)
        others = [each for each in chunks if each.id not in stated]
        annotations, lost = annotate_chunks(others, settings.extraction, self.memo, self.run, settings.build.shard_size)
        annotated = {each.id: annotation for each, annotation in zip(others, annotations, strict=True)}
        found = [
            Annotated(each, stated.get(each.id, OpenExtraction()), annotated.get(each.id, Annotation((), ())))
            for each in chunks
        ]
        knowledge = merge_open(documents, found, settings.names)
        begins = [
            annotated.get(each.id, lead) for each, lead in zip(chunks, leads(chunks, _names(knowledge)), strict=True)
        ]
        return Found(knowledge, [], begins, [*failures, *lost], (said,))

    def tell(self, documents: Sequence[Document], chunks: Sequence[Chunk], found: Found, described: Described) -> Told:
        """Return extractive descriptions and reports."""
        return OfflineJudgement(self.settings, self.memo, self.run, self.earlier).tell(
            documents, chunks, found, described
        )

    def spending(self) -> tuple[Spending, ...]:
        """Return nothing: no model is asked."""
        return ()

    def retried(self) -> Retried:
        """Return nothing: the file is read in every build."""
        return Retried()


def _names(knowledge: Knowledge) -> list[Mention]:
    """Return the mentions of names, which a text may begin with: neither concepts nor bare numbers and years."""
    named = {
        each.id
        for each in knowledge.entities
        if any(kind != CONCEPT for kind in each.types) and any(sign.isalpha() for sign in each.name)
    }
    return [each for each in knowledge.mentions if each.entity_id in named]


def _read(
    file: Path, documents: Sequence[Document], chunks: Sequence[Chunk], settings: Settings
) -> tuple[dict[str, OpenExtraction], list[Failure], str]:
    """Return what a file of either form states of each chunk, by id, what was lost of it, and what is told of it."""
    results = read_results(file)
    if results is not None:
        found = placed(results, documents, chunks)
        return found.stated, found.failures, _said(file, "chunks", len(found.stated), len(chunks), settings)
    read = read_open(file, {each.id for each in documents})
    chunks_of: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        chunks_of.setdefault(chunk.document_id, []).append(chunk)
    stated: dict[str, OpenExtraction] = {}
    for id_ in read.of_document.keys() & chunks_of.keys():
        own = chunks_of[id_]
        stated.update(zip((each.id for each in own), by_chunk(read.of_document[id_], own), strict=True))
    named = sum(each.id in read.of_document for each in documents)
    return stated, read.failures, _said(file, "documents", named, len(documents), settings)


def _said(file: Path, what: str, named: int, count: int, settings: Settings) -> str:
    said = f"{named:,} of {count:,} {what} as {file.name} has them"
    rest = count - named
    return f"{said}, the other {rest:,} by {settings.extraction.pipeline}" if rest else said
