"""The steps that need judgement, behind one Protocol: with a language model, and without one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from conspectus.pipelines.runner import Progress, Runner
from conspectus.pipelines.steps.communities import Earlier
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.prompts.client.usage import Spending
from conspectus.prompts.model import LanguageModel
from conspectus.prompts.replies.reask import Retried
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Failure, Origin, Relation, Report
from conspectus.storage.settings import Settings
from conspectus.storage.text.nlp import Annotation


@dataclass(frozen=True, slots=True)
class Found:
    """What stands in the chunks. `annotations` are in the order of the chunks, empty where none were made.

    `notes` say in words what whoever ordered the build should know. Where a model described things chunk by chunk, the
    descriptions stand by the id of the entity or relation, sorted and each once.
    """

    knowledge: Knowledge
    claims: list[Claim]
    annotations: list[Annotation]
    failures: list[Failure]
    notes: tuple[str, ...] = ()
    entity_descriptions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    relation_descriptions: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Told:
    """What is said about it: entities and relations with their descriptions, the hierarchy, and its reports.

    `notes` say in words what whoever ordered the build should know; `origins` where another program's rows went.
    """

    entities: list[Entity]
    relations: list[Relation]
    communities: list[Community]
    reports: list[Report]
    failures: list[Failure]
    notes: tuple[str, ...] = ()
    origins: Sequence[Origin] = ()


Described = Callable[[Sequence[Relation]], None]
"""Takes the relations as they will stand in the index."""


class Judgement(Protocol):
    """Finds what the documents say, and says what it is about. Use one for one build."""

    @property
    def waits(self) -> bool:
        """Whether its time is spent waiting for a server, so that other work is worth doing meanwhile."""
        ...

    @property
    def voter(self) -> LanguageModel | None:
        """The model that may be asked what its findings leave open, None where none finds."""
        ...

    def find(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Found:
        """Return what the chunks state."""
        ...

    def tell(self, documents: Sequence[Document], chunks: Sequence[Chunk], found: Found, described: Described) -> Told:
        """Return what was found with descriptions, communities and reports.

        `described` gets the relations as soon as all have their descriptions, while reports may still be written.
        """
        ...

    def spending(self) -> tuple[Spending, ...]:
        """Return what was asked of language models so far."""
        ...

    def retried(self) -> Retried:
        """Return what came of asking again where replies had lost something."""
        ...


# ---- """Which judgement a build's settings ask for."""


def judgement_of(
    settings: Settings, memo: Memo, run: Runner, progress: Progress, earlier: Earlier | None, *, retry_failed: bool
) -> Judgement:
    """Return the judgement of the settings, for one build; with `retry_failed` what failed is asked again."""
    if settings.extraction.openie:
        from conspectus.pipelines.backends.openie import OpenieFileJudgement

        return OpenieFileJudgement(settings, memo, run, earlier)
    if settings.extracts_with and settings.extraction.method == "openie":
        from conspectus.pipelines.backends.openie import OpenieModelJudgement

        return OpenieModelJudgement(settings, memo, run, progress, retry=retry_failed, earlier=earlier)
    if settings.extracts_with:
        from conspectus.pipelines.backends.llm import ModelJudgement

        return ModelJudgement(settings, memo, progress, retry=retry_failed, earlier=earlier)
    from conspectus.pipelines.backends.nlp import OfflineJudgement

    return OfflineJudgement(settings, memo, run, earlier)


def extractor_of(settings: Settings) -> str:
    """Return the name of what extracted: a model, a pipeline, or both a file and the pipeline for what it lacks."""
    if settings.extraction.openie:
        return f"{Path(settings.extraction.openie).name}, {settings.extraction.pipeline}"
    return settings.extracts_with or settings.extraction.pipeline
