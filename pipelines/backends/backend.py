"""The steps that need judgement, behind one Protocol: with a language model, and without one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from conspectus.pipelines.steps.entities import Knowledge
from conspectus.prompts.client.usage import Spending
from conspectus.prompts.model import LanguageModel
from conspectus.prompts.replies.reask import Retried
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Failure, Origin, Relation, Report
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
