"""The backend without a language model: an NLP pipeline extracts, and the documents' own sentences describe.

With `reports.method=model` a model writes the reports from these (GraphRAG's fast mode, about a quarter of the cost of
extraction by the model).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from conspectus.pipelines.backends.base import Backend, Descriptions, Extraction, Reports
from conspectus.pipelines.resolution.corrections import Rule
from conspectus.pipelines.runner import Pending, Progress, Ready, Runner, announced, no_progress
from conspectus.pipelines.steps.communities import Division, Earlier, divide
from conspectus.pipelines.steps.descriptions import quoted
from conspectus.pipelines.steps.extract.merge import merge, with_descriptions
from conspectus.pipelines.steps.extract.nlp import annotate_chunks, languages_of
from conspectus.pipelines.steps.extract.terms import choose_terms
from conspectus.pipelines.steps.reports.extractive import report_communities
from conspectus.pipelines.steps.reports.llm import Ready as WhenReady
from conspectus.pipelines.steps.reports.llm import write_reports
from conspectus.pipelines.steps.reports.prompt import Elements
from conspectus.pipelines.steps.sentences import Sentences, sentences_of
from conspectus.prompts.client.batch import Outbox
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.client.event_loop import wait_for
from conspectus.prompts.client.usage_and_cost import Spending
from conspectus.prompts.language_model import LanguageModel
from conspectus.prompts.replies.structured import Retried, Retrying
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Community, Document, Entity, Failure, Report
from conspectus.storage.settings import Settings, read_tuned
from conspectus.storage.tables import arrow_of
from conspectus.storage.text.nlp import Annotations


class AskedModel:
    """The model of a build, and the results of its calls; with `retry` incomplete replies are requested again.

    Results of `build.batch` are imported first, and requests wait for it; `check` ends the build if there are any.
    NeedsModel if the settings name no model, InputError if the results of a batch cannot be read.
    """

    def __init__(self, settings: Settings, memo: Memo, *, retry: bool) -> None:
        self._outbox = Outbox(Path(settings.build.batch), memo) if settings.build.batch else None
        if self._outbox:
            self._outbox.take_back(retry=retry)
        client = ModelClient(settings.llm, memo, outbox=self._outbox)
        self._meter = client.meter
        self._retrying = Retrying(client) if retry else None
        self.model: LanguageModel = self._retrying or client

    def check(self) -> None:
        """Raise BatchWritten if requests wait for a batch: the next steps need their replies."""
        if self._outbox:
            self._outbox.check()

    def spending(self) -> tuple[Spending, ...]:
        """Return the calls to the model so far, by step."""
        return self._meter.spending()

    def retried(self) -> Retried:
        """Return the results of retries so far."""
        return self._retrying.retried if self._retrying else Retried()


class NlpBackend(Backend):
    """Extracts with the pipeline of the settings and describes by quoting.

    Communities of an `earlier` version are preserved if possible. The model that is `asked` writes the reports if the
    settings say so; otherwise they quote. Names are split by `rules`.
    """

    def __init__(
        self,
        settings: Settings,
        memo: Memo,
        run: Runner,
        earlier: Earlier | None = None,
        progress: Progress = no_progress,
        asked: AskedModel | None = None,
        *,
        rules: Sequence[Rule] = (),
    ) -> None:
        self._settings = settings
        self._memo = memo
        self._run = run
        self._progress = progress
        self._earlier = earlier
        self._asked: AskedModel | None = asked
        self.model = asked.model if asked and self.is_remote else None
        self._rules = rules
        self._described: Sequence[Entity] = []
        self._sentences: Sentences | None = None
        self._documents: Sequence[Document] = []
        self._chunks: Sequence[Chunk] = []

    def extract(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Extraction:
        """Return names, noun phrases and the statements between them."""
        self._documents, self._chunks = documents, chunks
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

    def describe(self, extraction: Extraction) -> Pending[Descriptions]:
        """Return each entity with its most central sentences; relations have the sentence that states them."""
        knowledge = extraction.knowledge
        sentences = self._of(extraction)
        rows_of = sentences.placed.of_entity.of_each(arrow_of(Entity, knowledge.entities, ["id"])["id"])
        described = with_descriptions(knowledge.entities, (quoted(rows, sentences) for rows in rows_of))
        if self._asked:
            self._described = described
        return Ready(Descriptions(described, knowledge.relations, []))

    def divide(self, extraction: Extraction) -> Division:
        """Return communities of entities that relations or sentences join."""
        return self._divided(extraction, self._of(extraction))

    def _divided(self, extraction: Extraction, sentences: Sentences | None) -> Division:
        known, settings = extraction.knowledge, self._settings.communities
        return divide(known.entities, known.relations, known.mentions, sentences, settings, self._earlier)

    def report(self, extraction: Extraction, communities: Sequence[Community]) -> Reports:
        """Return reports that quote the most informative sentences about a community, or those of the reporter."""
        if self._asked and self._settings.reports_with:
            reports = Reports(*wait_for(self._written(extraction, communities)))
            self._asked.check()
            return reports
        sentences, n_chunks = self._of(extraction), len(self._chunks)
        entities, min_size = extraction.knowledge.entities, self._settings.reports.min_size
        made = report_communities(communities, entities, sentences, n_chunks, min_size, self._documents)
        self._sentences = None  # nothing is made of them any more
        return Reports(made, [])

    async def _written(
        self,
        extraction: Extraction,
        communities: Sequence[Community],
        texts: Mapping[str, str] | None = None,
        when: WhenReady | None = None,
    ) -> tuple[list[Report], list[Failure]]:
        """Return the reports of the model; one that it did not write quotes the documents."""
        known, settings, chunks = extraction.knowledge, self._settings.reports, self._chunks
        entities = self._described or known.entities

        def quoting(community: Community) -> Report | None:
            made = report_communities([community], known.entities, self._of(extraction), len(chunks), settings.min_size)
            return made[0] if made else None

        elements = Elements(
            entities, known.relations, extraction.claims, known.mentions, chunks, texts, len(self._documents)
        )
        assert self._asked is not None, "the settings name a model"
        persona = read_tuned(self._settings.extraction).reports_as()
        return await write_reports(communities, elements, self._asked.model, settings, quoting, persona, when)

    def spending(self) -> tuple[Spending, ...]:
        """Return the calls to the model so far, by step."""
        return self._asked.spending() if self._asked else ()

    def retried(self) -> Retried:
        """Return the results of retries so far."""
        return self._asked.retried() if self._asked else Retried()

    def _of(self, extraction: Extraction) -> Sentences:
        """Return the sentences of the documents, indexed on first use."""
        mentions = extraction.knowledge.mentions
        self._sentences = self._sentences or sentences_of(self._documents, self._chunks, mentions)
        return self._sentences
