"""What goes in and comes out of asking. Everything carries the ids it came from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from conspectus.query.methods.gretriever.carry_over import Kept
from conspectus.query.methods.gretriever.types import FoundSubgraph
from conspectus.query.walk.trace import WalkTrace
from conspectus.storage.records import Claim, Entity, Relation, Report


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
    place: str = ""
    """Where the passage stands, in words: `page 3, "Risks"`; "" where the document has no places."""


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
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    claims: tuple[Claim, ...] = ()
    walk: WalkTrace | None = None
    subgraph: FoundSubgraph | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """A numbered pointer into a document: `quote` is its text at [start, end).

    `place` says in words where that is (`pages 3-4, "2. Methods > Data"`), "" where the document has no places;
    `pages` are the labels of the pages, slides or sheets that the quote stands on, `headings` those above it.
    """

    number: int
    document_id: str
    title: str
    uri: str
    start: int
    end: int
    quote: str
    place: str = ""
    pages: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """Whether what a sentence of an answer cites supports it: `citations` are the numbers, `why` what it lacks."""

    sentence: str
    citations: tuple[int, ...]
    supported: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class CitedTriple:
    """A numbered pointer at a row of the relations: what an answer rests on where a graph says it and no document."""

    number: int
    relation_id: str
    source: str
    predicate: str
    target: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer took. Calls and tokens are those of language models, `remembered` the replies that needed none.

    `cost` is in US dollars, None where the settings name no price of the model. `units` are the reports or passages
    that the answer was made over, and `context_tokens` what they have together; `depth` counts the steps of a walk.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    remembered: int = 0
    units: int = 0
    context_tokens: int = 0
    depth: int = 0

    def plus(self, more: "Usage") -> "Usage":
        """Return this with the calls, tokens, cost, seconds and remembered replies of what was done besides."""
        known = self.cost is not None and more.cost is not None
        return replace(
            self,
            calls=self.calls + more.calls,
            prompt_tokens=self.prompt_tokens + more.prompt_tokens,
            completion_tokens=self.completion_tokens + more.completion_tokens,
            cost=(self.cost or 0.0) + (more.cost or 0.0) if known else None,
            seconds=self.seconds + more.seconds,
            remembered=self.remembered + more.remembered,
        )


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
    standalone: str = ""
    """In a conversation: what was answered, `question` with what the turns before it add. "" outside of one."""
    names: tuple[str, ...] = ()
    """The things that answer, best first, where a walk over a knowledge graph found them; `text` says them in words."""
    triples: tuple[CitedTriple, ...] = ()
    narrowed: str = ""
    """What the index was narrowed to, in words (`where year >= 2020`); "" where the whole of it was asked."""
    span: str = ""
    """The few words of a quoted sentence that answer, where a reader without a model finds such; `text` is whole."""

    checks: tuple[Check, ...] = ()
    """What came of checking each sentence that cites, in the order of the answer as it was made."""

    @property
    def unsupported(self) -> int:
        """The number of cited sentences that what they cite does not support."""
        return sum(not each.supported for each in self.checks)

    @property
    def known(self) -> bool:
        """Whether the answer rests on at least one citation, or on a triple of a knowledge graph."""
        return bool(self.citations or self.triples)


class Retriever(Protocol):
    """Finds evidence for a question."""

    async def retrieve(self, question: str, k: int) -> Evidence:
        """Return up to `k` passages, best first, ties by chunk id."""
        ...


@runtime_checkable
class RetrievesAbout(Retriever, Protocol):
    """Finds evidence around the things that a question is about; `retrieve` finds these in the question itself."""

    async def retrieve_about(self, question: str, topics: Sequence[str], k: int) -> Evidence:
        """Return the same from around the entities of these names; one that is unknown is told in the trace."""
        ...


Say = Callable[[str], None]
"""Gets an answer piece by piece as it is made."""


def nobody(piece: str) -> None:
    """Listen to an answer that is only wanted whole."""


class Answerer(Protocol):
    """Answers a question, citing what it rests on."""

    async def answer(self, question: str, say: Say) -> Answer:
        """Return the answer, and say it as it is made; one without support says that it does not know.

        A model may say what the answer then leaves out: what cites nothing, and citations that do not resolve.
        """
        ...


@runtime_checkable
class AnswersAfter(Answerer, Protocol):
    """Answers a further question of a conversation with what the answers before have kept of their subgraphs."""

    async def answer_after(self, question: str, kept: Kept, say: Say) -> Answer:
        """Return the answer to a question that stands alone, looked for around what was kept too."""
        ...


@runtime_checkable
class AnswersAbout(Answerer, Protocol):
    """Answers a question from the things that it is about: a walk over the graph, which begins there.

    `answer` finds these in the question itself.
    """

    async def answer_about(self, question: str, topics: Sequence[str], say: Say) -> Answer:
        """Return the answer of a walk from the entities of these names; a name that is unknown is told in the trace."""
        ...
