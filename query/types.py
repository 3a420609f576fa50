"""What goes in and comes out of asking. Everything carries the ids it came from."""

from dataclasses import dataclass, field
from typing import Protocol

from storage.records import Report


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that was found: its place in its document, its text, and its score (larger is better)."""

    document_id: str
    chunk_id: str
    start: int
    end: int
    score: float
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class ScoredReport:
    """A community report that was found, and its score."""

    report: Report
    score: float


@dataclass(frozen=True, slots=True)
class Step:
    """One thing a method did, in words a person can follow."""

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a retriever found, best first, and the steps that found it."""

    passages: tuple[Passage, ...] = ()
    reports: tuple[ScoredReport, ...] = ()
    trace: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """A numbered pointer into a document: `quote` is its text at [start, end)."""

    number: int
    document_id: str
    title: str
    uri: str
    start: int
    end: int
    quote: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost. Calls and tokens are those of language models; `cost` is in US dollars."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its citations. `method` names what really ran (`global:offline` for a stand-in)."""

    question: str
    method: str
    text: str
    citations: tuple[Citation, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    usage: Usage = field(default_factory=Usage)
    trace: tuple[Step, ...] = ()
    dropped_citations: int = 0

    @property
    def known(self) -> bool:
        """Whether the answer rests on at least one citation."""
        return bool(self.citations)


class Retriever(Protocol):
    """Finds evidence for a question."""

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return up to `k` passages, best first, ties by chunk id."""
        ...


class Answerer(Protocol):
    """Answers a question, citing what it rests on."""

    async def answer(self, question: str) -> Answer:
        """Return the answer; one without support says that it does not know."""
        ...
