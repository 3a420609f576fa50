"""What a beam search did and came to: its record as it goes, and the answer that is made of it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from conspectus.query.abstention import NO_ANSWER
from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import Branch, chain_of, hops_to
from conspectus.query.methods.tog.policy import Ruling, Verdict
from conspectus.query.types import Answer, Evidence, Passage, Say, Step, Usage
from conspectus.query.types.trace import Chain, Considered, Decision, WalkTrace
from conspectus.query.walk.graph import KnowledgeGraph, spoken
from conspectus.query.walk.provenance import numbers_of, open_grounds
from conspectus.storage.records import Span

_MOST_TRIPLES = 20
BEST_EFFORT = "(best effort: what was found does not settle it)"


@dataclass(slots=True, eq=False)
class Record:
    """The decisions of one walk, in order, each with the seconds since the one before it."""

    decisions: list[Decision] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)
    _last: float = field(default_factory=time.perf_counter)

    def tell(self, stage: str, depth: int, at: str, considered: Sequence[Considered], outcome: str, calls: int) -> None:
        """Write a decision down."""
        now = time.perf_counter()
        self.decisions.append(Decision(stage, depth, at, tuple(considered), outcome, now - self._last, calls))
        self._last = now

    def ruled(self, stage: str, depth: int, at: str, ruling: Ruling) -> None:
        """Write a ruling down."""
        outcome = f"{len(ruling.kept)} of {len(ruling.considered)} kept" + (f" ({ruling.why})" if ruling.why else "")
        self.tell(stage, depth, at, ruling.considered, outcome, ruling.calls)

    def judged(self, depth: int, at: str, verdict: Verdict) -> None:
        """Write a verdict down."""
        said = "sufficient" if verdict.sufficient else "not sufficient"
        detail = "; ".join(part for part in (verdict.text[:200], verdict.why) if part)
        self.tell("reasoning", depth, at, verdict.considered, f"{said}: {detail}" if detail else said, verdict.calls)

    def end(self, branches: Sequence[Branch], why: str = "") -> None:
        """Write down the paths that the walk holds; of a branch with many entities the first one's."""
        for each in branches:
            if each.ways and len(each.entities):
                self.chains.append(chain_of(each, int(each.entities[0]), why))

    def steps(self) -> tuple[Step, ...]:
        """Return the decisions in words."""
        return tuple(
            Step(
                each.stage,
                f"{_when(each)}{f', {each.at}' if each.at else ''}: {each.outcome}",
            )
            for each in self.decisions
        )

    def trace(self) -> WalkTrace:
        """Return the decisions and the chains."""
        return WalkTrace(tuple(self.decisions), tuple(self.chains))


@dataclass(frozen=True, slots=True)
class Found:
    """What a walk came to. `settled` tells a best effort apart; `branch` is where the answer stands, if anywhere."""

    verdict: Verdict
    settled: bool
    depth: int
    branch: Branch | None = None
    passages: tuple[Passage, ...] = ()


def answered(
    name: str,
    context: Context,
    graph: KnowledgeGraph,
    question: str,
    found: Found,
    record: Record,
    before: Sequence[Step],
    say: Say,
) -> Answer:
    """Return the answer of a walk: its names, and the triples and passages that it rests on, numbered in this order."""
    verdict = found.verdict
    relations = verdict.rests_on if found.branch is None else _relations_to(found.branch, verdict.rests_on)
    grounds = open_grounds(context) if relations else None
    citations = Citations(context)
    numbered = len(relations)
    made = 0
    for number, each in enumerate(verdict.passages, start=numbered + 1):
        made += bool(citations.number(Span(each.document_id, each.chunk_id, each.start, each.end), number))
    from_documents = grounds.citations(relations) if grounds else ()
    known = bool(verdict.text) and (bool(relations) or made or not found.settled)
    if known:
        marks = numbers_of(numbered + len(verdict.passages))
        text = " ".join(part for part in (verdict.text, marks, "" if found.settled else BEST_EFFORT) if part)
    else:
        text = NO_ANSWER
    say(text)
    evidence = Evidence(found.passages, trace=(*before, *record.steps()), walk=record.trace())
    return Answer(
        question=question,
        method=name,
        text=text,
        citations=(*from_documents, *citations.made()),
        evidence=evidence,
        usage=Usage(depth=found.depth),
        trace=(*before, *record.steps()),
        dropped_citations=citations.dropped,
        names=verdict.names if known else (),
        triples=grounds.triples(relations) if grounds and known else (),
    )


def _relations_to(branch: Branch, entities: Sequence[int]) -> tuple[int, ...]:
    """Return the triples of one path to each of some entities, in their order, at most twenty."""
    rows = dict.fromkeys(hop.relation for each in entities for hop in hops_to(branch, each))
    return tuple(rows)[:_MOST_TRIPLES]


def _when(decision: Decision) -> str:
    return f"round {decision.depth}" if decision.depth else "start"


def named(graph: KnowledgeGraph, rows: Sequence[int]) -> str:
    """Return entities in words."""
    return ", ".join(spoken(graph.names[row]) for row in rows) or "nothing"
