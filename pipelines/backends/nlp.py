"""The backend without a language model: an NLP pipeline extracts, and the documents' own sentences describe.

With `reports.method=model` a model writes the reports from these (GraphRAG's fast mode, about a quarter of the cost of
extraction by the model).
"""

from collections.abc import Sequence

from conspectus.pipelines.backends.base import Descriptions, Extraction, Reports
from conspectus.pipelines.backends.llm import AskedModel, Extractive
from conspectus.pipelines.resolution.corrections import Rule
from conspectus.pipelines.runner import Progress, Ready, Runner, announced, no_progress
from conspectus.pipelines.steps.communities import Division, Earlier, divide
from conspectus.pipelines.steps.descriptions import quoted
from conspectus.pipelines.steps.extract.merge import merge, with_descriptions
from conspectus.pipelines.steps.extract.nlp import annotate_chunks, languages_of
from conspectus.pipelines.steps.extract.terms import choose_terms
from conspectus.pipelines.steps.reports.extractive import report_communities
from conspectus.pipelines.steps.reports.llm import write_reports
from conspectus.pipelines.steps.reports.prompt import Elements
from conspectus.pipelines.steps.sentences import Sentences, sentences_of
from conspectus.prompts.client.event_loop import wait_for
from conspectus.prompts.client.usage_and_cost import Spending
from conspectus.prompts.language_model import LanguageModel
from conspectus.prompts.replies.structured import Retried
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Community, Document, Entity, Failure
from conspectus.storage.settings import Settings, read_tuned
from conspectus.storage.tables import arrow_of
from conspectus.storage.text.nlp import Annotations


class NlpBackend:
    """Extracts with the pipeline of the settings and describes by quoting.

    Communities of an `earlier` version are preserved if possible. `reporter` writes the reports, which otherwise quote.
    Names are split by `rules`.
    """

    is_remote: bool = False
    describes = False
    model: LanguageModel | None = None

    def __init__(
        self,
        settings: Settings,
        memo: Memo,
        run: Runner,
        earlier: Earlier | None = None,
        progress: Progress = no_progress,
        reporter: AskedModel | None = None,
        *,
        rules: Sequence[Rule] = (),
    ) -> None:
        self._settings = settings
        self._memo = memo
        self._run = run
        self._progress = progress
        self._earlier = earlier
        self._reporter = reporter
        self._rules = rules
        self._described: Sequence[Entity] = []
        self._sentences: Sentences | None = None

    def extract(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Extraction:
        """Return names, noun phrases and the statements between them."""
        annotations, failures = self._annotations(documents, chunks)
        merged = announced(self._progress, "merge names", merge)(documents, chunks, annotations, self._rules)
        return Extraction(merged, [], annotations.leads(), failures)

    def _annotations(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> tuple[Annotations, list[Failure]]:
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
        """Return each entity with its most central sentences; relations have the sentence that states them."""
        knowledge = extraction.knowledge
        sentences = self._of(documents, chunks, extraction)
        rows_of = sentences.placed.of_entity.of_each(arrow_of(Entity, knowledge.entities, ["id"])["id"])
        described = with_descriptions(knowledge.entities, (quoted(rows, sentences) for rows in rows_of))
        if self._reporter:
            self._described = described
        return Ready(Descriptions(described, knowledge.relations, []))

    def divide(self, documents: Sequence[Document], chunks: Sequence[Chunk], extraction: Extraction) -> Division:
        """Return communities of entities that relations or sentences join."""
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
        """Return reports that quote the most informative sentences about a community, or those of the reporter."""
        if self._reporter:
            return self._model_reports(self._reporter, documents, chunks, extraction, communities)
        sentences = self._of(documents, chunks, extraction)
        entities, min_size = extraction.knowledge.entities, self._settings.reports.min_size
        made = report_communities(communities, entities, sentences, len(chunks), min_size, documents)
        self._sentences = None  # nothing is made of them any more
        return Reports(made, [])

    def _model_reports(
        self,
        reporter: AskedModel,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        extraction: Extraction,
        communities: Sequence[Community],
    ) -> Reports:
        known = extraction.knowledge
        elements = Elements(
            self._described, known.relations, extraction.claims, known.mentions, chunks, n_documents=len(documents)
        )
        stand_in = Extractive(documents, chunks, known.mentions, known.entities, self._settings)
        persona = read_tuned(self._settings.extraction).reports_as()
        made = Reports(
            *wait_for(write_reports(communities, elements, reporter.model, self._settings.reports, stand_in, persona))
        )
        reporter.check()
        return made

    def spending(self) -> tuple[Spending, ...]:
        """Return the calls to the reporter so far."""
        return self._reporter.spending() if self._reporter else ()

    def retried(self) -> Retried:
        """Return the results of the reporter's retries."""
        return self._reporter.retried() if self._reporter else Retried()

    def _of(self, documents: Sequence[Document], chunks: Sequence[Chunk], extraction: Extraction) -> Sentences:
        """Return the sentences of the documents, indexed on first use."""
        self._sentences = self._sentences or sentences_of(documents, chunks, extraction.knowledge.mentions)
        return self._sentences
