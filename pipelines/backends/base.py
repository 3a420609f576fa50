"""What a backend is: the steps that differ with a language model, without one, or from files."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conspectus.pipelines.resolution.corrections import Rule
from conspectus.pipelines.runner import Pending, Progress, Runner
from conspectus.pipelines.steps.communities import Division, Earlier
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.prompts.client.usage_and_cost import Spending
from conspectus.prompts.language_model import LanguageModel
from conspectus.prompts.replies.structured import Retried
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Failure, Relation, Report
from conspectus.storage.settings import Settings
from conspectus.storage.text.nlp import Annotation


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result of extraction.

    Attributes:
        knowledge: Entities, relations and mentions, each sorted by id.
        claims: Claims, sorted by id.
        annotations: The annotation of each chunk, in the order of the chunks, whole or only its lead; empty
            if none was made.
        failures: Items that could not be extracted.
        notes: Messages for the user.
        entity_descriptions: If a model described entities chunk by chunk: its distinct descriptions, sorted, by the id
            of the entity.
        relation_descriptions: The same for relations.
        predicates: If a model stated relations: the predicate of each instance and the id of its subject entity, by the
            id of the relation.
    """

    knowledge: Knowledge
    claims: list[Claim]
    annotations: Sequence[Annotation]
    failures: list[Failure]
    notes: tuple[str, ...] = ()
    entity_descriptions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    relation_descriptions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    predicates: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Descriptions:
    """Entities and relations with their descriptions, and the failures."""

    entities: Sequence[Entity]
    relations: Sequence[Relation]
    failures: list[Failure]


@dataclass(frozen=True, slots=True)
class Reports:
    """Reports on communities, sorted by id, the failures, and notes for the user."""

    reports: Sequence[Report]
    failures: list[Failure]
    notes: tuple[str, ...] = ()


class Backend(ABC):
    """Extracts, describes and reports. A backend serves one build, and its methods are called in the order below.

    Attributes:
        is_remote: Whether it mostly waits for a server, so that other steps can run concurrently.
        describes: Whether descriptions are statements by a model or another program about an entity, and not
            quotations.
        model: The language model that extracts, which other steps may use too; None if there is none.
    """

    is_remote: bool = False
    describes: bool = False
    model: LanguageModel | None = None

    @abstractmethod
    def extract(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Extraction:
        """Return the statements of the chunks. The other methods are about the same documents and chunks."""

    @abstractmethod
    def describe(self, extraction: Extraction) -> Pending[Descriptions]:
        """Begin to describe entities and relations; reports may be written before all descriptions are."""

    @abstractmethod
    def divide(self, extraction: Extraction) -> Division:
        """Return the communities of the entities."""

    @abstractmethod
    def report(self, extraction: Extraction, communities: Sequence[Community]) -> Reports:
        """Return the reports on the communities."""

    def spending(self) -> tuple[Spending, ...]:
        """Return the calls to language models so far, by step and model."""
        return ()

    def retried(self) -> Retried:
        """Return the result of retrying incomplete cached replies."""
        return Retried()


def open_backend(
    settings: Settings,
    memo: Memo,
    run: Runner,
    progress: Progress,
    earlier: Earlier | None,
    *,
    retry_failed: bool,
    rules: Sequence[Rule] = (),
) -> Backend:
    """Return the backend that the settings name, for one build.

    Args:
        settings: Settings of the build; `extraction` and `llm` decide.
        memo: The cache of results.
        run: Runs the shards of a step.
        progress: Called as work advances.
        earlier: Loads the communities of the current version; None to detect them from scratch.
        retry_failed: Ask the model again for incomplete replies.
        rules: Corrections.

    Raises:
        NeedsModel: The settings want a model to extract, and name none.
        SettingsError: The prompts that the settings name cannot be read.
    """
    from conspectus.pipelines.backends.llm import LlmBackend
    from conspectus.pipelines.backends.nlp import AskedModel, NlpBackend
    from conspectus.pipelines.backends.openie import OpenieFileBackend, OpenieLlmBackend

    kind: type[NlpBackend]
    if settings.extraction.openie:
        kind = OpenieFileBackend
    elif settings.extracts_with:
        kind = OpenieLlmBackend if settings.extraction.method == "openie" else LlmBackend
    else:
        kind = NlpBackend
    asks = settings.reports_with or settings.extracts_with
    asked = AskedModel(settings, memo, retry=retry_failed) if asks else None
    return kind(settings, memo, run, earlier, progress, asked, rules=rules)


def extractor_name(settings: Settings) -> str:
    """Return the name of the extractor: a model, a pipeline, or a file and the pipeline for documents that it lacks."""
    if settings.extraction.openie:
        return f"{Path(settings.extraction.openie).name}, {settings.extraction.pipeline}"
    return settings.extracts_with or settings.extraction.pipeline
