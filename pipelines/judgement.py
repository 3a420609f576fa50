"""The steps that need judgement, behind one Protocol: with a language model, and without one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pipelines.steps.entities import Knowledge
from prompts.usage import Spending
from storage.records import Chunk, Claim, Community, Document, Entity, Failure, Relation, Report
from storage.text.nlp import Annotation


@dataclass(frozen=True, slots=True)
class Found:
    """What stands in the chunks. `annotations` are in the order of the chunks, empty where none were made."""

    knowledge: Knowledge
    claims: list[Claim]
    annotations: list[Annotation]
    failures: list[Failure]


@dataclass(frozen=True, slots=True)
class Told:
    """What is said about it: entities and relations with their descriptions, the hierarchy, and its reports."""

    entities: list[Entity]
    relations: list[Relation]
    communities: list[Community]
    reports: list[Report]
    failures: list[Failure]


class Judgement(Protocol):
    """Finds what the documents say, and says what it is about. Use one for one build."""

    @property
    def waits(self) -> bool:
        """Whether its time is spent waiting for a server, so that other work is worth doing meanwhile."""
        ...

    def find(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Found:
        """Return what the chunks state."""
        ...

    def tell(self, documents: Sequence[Document], chunks: Sequence[Chunk], found: Found) -> Told:
        """Return what was found with descriptions, communities and reports."""
        ...

    def spending(self) -> tuple[Spending, ...]:
        """Return what was asked of language models so far."""
        ...
