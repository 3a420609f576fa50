"""The backend without a language model: an NLP pipeline extracts, and the documents' own sentences describe."""

from collections.abc import Sequence

from conspectus.pipelines.backends.base import Descriptions, Extraction, Reports
from conspectus.pipelines.runner import Progress, Ready, Runner, announced, no_progress
from conspectus.pipelines.steps.communities import Division, Earlier, divide
from conspectus.pipelines.steps.descriptions import describe
from conspectus.pipelines.steps.extract.merge import merge, with_descriptions
from conspectus.pipelines.steps.extract.nlp import annotate_chunks, languages_of
from conspectus.pipelines.steps.extract.terms import choose_terms
from conspectus.pipelines.steps.reports.extractive import report_communities
from conspectus.pipelines.steps.sentences import Sentences, sentences_of
from conspectus.prompts.client.usage import Spending
from conspectus.prompts.model import LanguageModel
from conspectus.prompts.replies.structured import Retried
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Community, Document, Failure
from conspectus.storage.settings import Settings
from conspectus.storage.text.nlp import Annotation


class NlpBackend:
    """Extracts with the pipeline of the settings and describes by quoting; asks no model.

    Communities of an `earlier` version stay where they can.
    """

    is_remote: bool = False
    model: LanguageModel | None = None

    def __init__(
        self,
        settings: Settings,
        memo: Memo,
        run: Runner,
        earlier: Earlier | None = None,
        progress: Progress = no_progress,
    ) -> None:
        self._settings = settings
        self._memo = memo
        self._run = run
        self._progress = progress
        self._earlier = earlier
        self._sentences: Sentences | None = None

    def extract(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Extraction:
        """Return names, noun phrases and the statements between them."""
        annotations, failures = self._annotations(documents, chunks)
        merged = announced(self._progress, "merge names", merge)(documents, chunks, annotations, self._settings.names)
        return Extraction(merged, [], annotations, failures)

    def _annotations(
        self, documents: Sequence[Document], chunks: Sequence[Chunk]
    ) -> tuple[list[Annotation], list[Failure]]:
        """Return the terms of each chunk with what is stated between them, and what could not be read."""
        settings, languages = self._settings, languages_of(documents, chunks)
        annotations, failures = annotate_chunks(
            chunks, settings.extraction, self._memo, self._run, settings.build.shard_size, languages
        )
        choose = announced(self._progress, "choose terms", choose_terms)
        return choose(chunks, annotations, languages, documents), failures

    def describe(
        self, documents: Sequence[Document], chunks: Sequence[Chunk], extraction: Extraction
    ) -> Ready[Descriptions]:
        """Return each entity with its most central sentences; relations keep the sentence that states them."""
        knowledge = extraction.knowledge
        sentences = self._of(documents, chunks, extraction)
        texts = describe(knowledge.entities, sentences, self._settings.descriptions)
        return Ready(Descriptions(with_descriptions(knowledge.entities, texts), knowledge.relations, []))

    def divide(self, documents: Sequence[Document], chunks: Sequence[Chunk], extraction: Extraction) -> Division:
        """Return communities of entities that a relation or a sentence joins."""
        knowledge, sentences = extraction.knowledge, self._of(documents, chunks, extraction)
        return divide(
            knowledge.entities,
            knowledge.relations,
            knowledge.mentions,
            sentences,
            self._settings.communities,
            self._earlier,
        )

    def report(
        self,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        extraction: Extraction,
        communities: Sequence[Community],
    ) -> Reports:
        """Return reports that quote the sentences which say most about a community."""
        sentences = self._of(documents, chunks, extraction)
        entities, settings = extraction.knowledge.entities, self._settings.reports
        made = report_communities(communities, entities, sentences, len(chunks), settings, documents)
        return Reports(made, [])

    def spending(self) -> tuple[Spending, ...]:
        """Return nothing: no model is asked."""
        return ()

    def retried(self) -> Retried:
        """Return nothing: failures are not remembered, so every build tries again."""
        return Retried()

    def _of(self, documents: Sequence[Document], chunks: Sequence[Chunk], extraction: Extraction) -> Sentences:
        """Return the sentences of the documents, indexed when they are first needed."""
        self._sentences = self._sentences or sentences_of(documents, chunks, extraction.knowledge.mentions)
        return self._sentences
