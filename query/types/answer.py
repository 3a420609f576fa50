"""Evidence and answers. Every value carries the ids of the records that it came from."""

from dataclasses import dataclass, field, replace

from conspectus.query.types.html_display import answer_html, answer_markdown, evidence_html
from conspectus.query.types.subgraph import CitedParts, RetrievedSubgraph
from conspectus.query.types.trace import WalkTrace
from conspectus.storage.records import Claim, Entity, Relation, Report

SPELLING = "spelling"
"""The name of the step that tells which words of a question were read as others."""
OVERVIEW = "overview"
"""The name of the step that tells that an answer is an outline."""
_SHOWN = 200
"""Characters of an answer that `repr` shows."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved chunk.

    Attributes:
        document_id: The id of its document.
        chunk_id: The id of the chunk.
        start: The offset of its first character in the text of the document.
        end: The offset after its last character.
        score: Larger is better. The scale is that of the method: cosine, BM25 score, PageRank mass. Scores compare
            passages of one result; they do not compare methods or questions.
        text: The text of the chunk.
        title: The title of the document.
        place: The place in the document in words (`page 3, "Risks"`); "" for a document without pages and headings.
    """

    document_id: str
    chunk_id: str
    start: int
    end: int
    score: float
    text: str
    title: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class ScoredReport:
    """A retrieved community report and its score: larger is better, comparable within one result only."""

    report: Report
    score: float


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a trace.

    Attributes:
        name: The stage of the method (`map`, `reduce`, `read`, `topics`).
        detail: What it did, in words and numbers for a reader.
    """

    name: str
    detail: str


@dataclass(frozen=True, slots=True)
class Topics:
    """The entities at which a walk begins, rows of the entity table, and the step that reports how they were found."""

    rows: tuple[int, ...]
    step: Step


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a method retrieved for a question. A field that the method does not use is empty.

    Attributes:
        passages: Chunks, best first.
        reports: Community reports, best first.
        trace: The steps of the retrieval, in order.
        entities: Entities, best first.
        relations: Relations, best first.
        claims: Claims, best first.
        walk: The decisions and paths of a walk over the graph; None for a method that does not walk.
        subgraph: The connected subgraph of the question; None for a method that retrieves none.
    """

    passages: tuple[Passage, ...] = ()
    reports: tuple[ScoredReport, ...] = ()
    trace: tuple[Step, ...] = ()
    entities: tuple[Entity, ...] = ()
    relations: tuple[Relation, ...] = ()
    claims: tuple[Claim, ...] = ()
    walk: WalkTrace | None = None
    subgraph: RetrievedSubgraph | None = None

    def _repr_html_(self) -> str:
        return evidence_html(self)


@dataclass(frozen=True, slots=True)
class Citation:
    """A numbered reference to a passage of a document.

    Attributes:
        number: The number of its mark in the text of the answer (`[1]`).
        document_id: The id of the document.
        title: The title of the document.
        uri: The path or address that the document was read from.
        start: The offset of the first quoted character in the text of the document.
        end: The offset after the last quoted character.
        quote: The text of the document at [start, end), unchanged.
        place: The place in words (`pages 3-4, "2. Methods > Data"`); "" for a document without pages and headings.
        pages: The labels of the pages, slides or sheets that the quote is on.
        headings: The headings above the quote, outermost first.
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
class CitedTriple:
    """A numbered reference to a relation of the graph, for answers that rest on the graph.

    Attributes:
        number: The number of its mark in the text of the answer; citations and triples share one numbering.
        relation_id: The id of the relation.
        source: The name of the source entity.
        predicate: The predicate.
        target: The name of the target entity.
    """

    number: int
    relation_id: str
    source: str
    predicate: str
    target: str


@dataclass(frozen=True, slots=True)
class Check:
    """The verification of one sentence against the sources that it cites.

    Attributes:
        sentence: The sentence, without marks.
        citations: The numbers that it cites.
        supported: Whether these support it.
        why: What is missing; "" for a supported sentence.
    """

    sentence: str
    citations: tuple[int, ...]
    supported: bool
    why: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer cost.

    Attributes:
        calls: Calls to language models. Replies from the cache do not count.
        prompt_tokens: Tokens of their prompts.
        completion_tokens: Tokens of their replies.
        cost: US dollars; None if the settings have no price for a model that was called.
        seconds: Wall-clock time.
        remembered: Replies taken from the cache.
        units: The number of reports, passages or records that the answer is based on.
        context_tokens: Their tokens, in total.
        depth: The steps of a walk over the graph; 0 for other methods.
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
        """Return this usage with the calls, tokens, cost, seconds and cached replies of `more` added.

        `units`, `context_tokens` and `depth` describe the answer and stay. The cost is None if either cost is.

        >>> Usage(calls=1, units=4).plus(Usage(calls=2, cost=0.5, units=9))
        Usage(calls=3, prompt_tokens=0, completion_tokens=0, cost=0.5, seconds=0.0, remembered=0, units=4, \
context_tokens=0, depth=0)
        """
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


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """An answer with its citations, its evidence and its cost.

    `str(answer)` is its text. A notebook shows the text with its sources.

    Attributes:
        question: The question as the user asked it.
        method: The method that actually ran: `global:offline` if `global` ran without a language model.
        text: The answer with its citation marks (`[1]`, `[2][3]`); each mark is the number of one of `citations` or
            `triples`. The sentence `abstention.NO_ANSWER`, without marks, if nothing supports an answer.
        citations: The cited passages of documents, by number.
        evidence: What the method retrieved.
        usage: Calls, tokens, dollars, seconds.
        trace: The steps of the method, in order.
        dropped_citations: Citations of the model that do not resolve, and were removed.
        standalone: In a conversation, the question that was answered: `question` with its references resolved.
            "" outside of a conversation.
        names: The entities that answer, best first, for methods that walk the graph.
        triples: The cited relations of the graph, by number.
        narrowed: The filter in words (`where year >= 2020`); "" if the whole index was asked.
        span: The few words of a quoted sentence that answer the question, if a reader without a language model found
            them; "" otherwise.
        computed: Whether the answer is computed from the triples or rows that it cites (a count, a total): there is
            no sentence of a model or a document to verify.
        cited_parts: Which nodes and edges of its subgraph the answer cites, and how many of these there are; None for a
            method whose model is not asked for them.
        checks: The verification of each sentence with citations, in the order of the text before unsupported sentences
            were marked or removed. Empty if nothing was verified.
    """

    question: str
    method: str
    text: str
    citations: tuple[Citation, ...] = ()
    evidence: Evidence = field(default_factory=Evidence)
    usage: Usage = field(default_factory=Usage)
    trace: tuple[Step, ...] = ()
    dropped_citations: int = 0
    standalone: str = ""
    names: tuple[str, ...] = ()
    triples: tuple[CitedTriple, ...] = ()
    narrowed: str = ""
    span: str = ""
    checks: tuple[Check, ...] = ()
    computed: bool = False
    cited_parts: CitedParts | None = None

    def __str__(self) -> str:
        """Return the text."""
        return self.text

    def __repr__(self) -> str:
        """Return the method, the number of citations and the beginning of the text."""
        text = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}..."
        return f"Answer({text!r}, method={self.method!r}, citations={len(self.citations)})"

    def _repr_html_(self) -> str:
        return answer_html(self)

    def _repr_markdown_(self) -> str:
        return answer_markdown(self)

    @property
    def unsupported(self) -> int:
        """The number of sentences that their citations do not support."""
        return sum(not check.supported for check in self.checks)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know besides the text: how the question was read, and what is in doubt."""
        notes = [f"understood as: {self.standalone}"] if self.standalone not in ("", self.question) else []
        notes += [step.detail for step in self.trace if step.name in {SPELLING, OVERVIEW}]
        if self.dropped_citations:
            notes.append(f"citations that did not resolve and were dropped: {self.dropped_citations}")
        doubted = [check for check in self.checks if not check.supported]
        return (*notes, *(f"not supported by what is cited: {check.sentence} ({check.why})" for check in doubted))

    @property
    def known(self) -> bool:
        """Whether at least one citation or triple supports the answer."""
        return bool(self.citations or self.triples)
