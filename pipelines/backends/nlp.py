"""Judgement without a language model: spaCy finds, and the documents' own sentences tell."""

from collections.abc import Sequence
from dataclasses import dataclass

from conspectus.pipelines.backends.base import Described, Found, Told
from conspectus.pipelines.runner import Runner
from conspectus.pipelines.steps.communities import Earlier, divide
from conspectus.pipelines.steps.descriptions import describe
from conspectus.pipelines.steps.extract.merge import merge, with_descriptions
from conspectus.pipelines.steps.extract.nlp import annotate_chunks
from conspectus.pipelines.steps.reports.extractive import report_communities
from conspectus.pipelines.steps.sentences import sentences_of
from conspectus.prompts.client.usage import Spending
from conspectus.prompts.replies.reask import Retried
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Document
from conspectus.storage.settings import Settings


@dataclass(frozen=True, slots=True)
class OfflineJudgement:
    """Finds with a spaCy pipeline and describes by quoting; keeps communities of an `earlier` version."""

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
        """Return names, noun phrases and the statements between them."""
        settings = self.settings
        annotations, lost = annotate_chunks(chunks, settings.extraction, self.memo, self.run, settings.build.shard_size)
        return Found(merge(documents, chunks, annotations, settings.names), [], annotations, lost)

    def tell(self, documents: Sequence[Document], chunks: Sequence[Chunk], found: Found, described: Described) -> Told:
        """Return extractive descriptions and reports, over communities of stated and of shared sentences."""
        settings, knowledge = self.settings, found.knowledge
        described(knowledge.relations)
        sentences = sentences_of(documents, chunks, knowledge.mentions)
        entities = with_descriptions(knowledge.entities, describe(knowledge.entities, sentences, settings.descriptions))
        divided = divide(
            entities, knowledge.relations, knowledge.mentions, sentences, settings.communities, self.earlier
        )
        reports = report_communities(divided.communities, entities, sentences, len(chunks), settings.reports)
        return Told(entities, knowledge.relations, divided.communities, reports, [], divided.notes)

    def spending(self) -> tuple[Spending, ...]:
        """Return nothing: no model is asked."""
        return ()

    def retried(self) -> Retried:
        """Return nothing: what had failed is remembered nowhere, and is tried in every build."""
        return Retried()
