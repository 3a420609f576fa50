"""Meter, time and assemble an answer: every method builds its `Answer` here.

A method opens an assembly before it does any work, records its steps, and assembles the answer:

    async def answer(self, question: str) -> Answer:
        with assembling(question, self._name) as assembly:
            evidence = await self._retriever.retrieve(question, 5)
            assembly.add(*evidence.trace)
            text, citations = ...                          # model calls in here are metered
            assembly.step("read", "5 passages read")
            return assembly.assemble(text, citations=citations, evidence=evidence)

The usage of the answer includes every model call made inside the block (by this task and its child tasks) and the
seconds from the start of the block to `assemble`. If another method answers (a fallback, a reader over passages
already found), `Assembly.adopt` takes over its answer. If no answer is assembled but work is added to an existing one
(verification, rewriting of a follow-up question), `measured` gives the usage alone.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from conspectus.prompts.client.usage_and_cost import Meter, metered
from conspectus.prompts.language_model import LanguageModel
from conspectus.query.abstention import NO_ANSWER, no_answer
from conspectus.query.context import Context
from conspectus.query.step_listeners import tell_step
from conspectus.query.types import Answer, Citation, CitedTriple, Evidence, Step, Usage


class Measure:
    """The model calls and the time since a starting point."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._began = time.perf_counter()

    def usage(self) -> Usage:
        """Return the calls and the time until now."""
        spent = self._meter.total()
        return Usage(
            calls=spent.calls,
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
            cost=spent.cost,
            seconds=time.perf_counter() - self._began,
            remembered=spent.remembered,
        )


@contextmanager
def measured() -> Iterator[Measure]:
    """Meter the model calls made inside the block, and time them.

    >>> with measured() as measure:
    ...     pass
    >>> measure.usage().calls
    0
    """
    with metered() as meter:
        yield Measure(meter)


@dataclass(slots=True)
class Assembly:
    """An answer under construction.

    Attributes:
        question: The question as the method received it.
        method: The name of the running method (`global:offline` for a fallback).
        measure: The calls and time so far.
        units: The number of reports, passages or records that the answer is based on.
        context_tokens: Their tokens, in total.
        depth: The number of steps of a walk.
        trace: The steps so far, in order.
    """

    question: str
    method: str
    measure: Measure
    units: int = 0
    context_tokens: int = 0
    depth: int = 0
    trace: list[Step] = field(default_factory=list)

    def step(self, name: str, detail: str) -> None:
        """Add one step to the trace."""
        self.add(Step(name, detail))

    def add(self, *steps: Step) -> None:
        """Add steps to the trace."""
        self.trace += steps
        for each in steps:
            tell_step(each)

    def over(self, units: int, context_tokens: int) -> None:
        """Set the number of units that the answer is based on, and their tokens."""
        self.units, self.context_tokens = units, context_tokens

    def usage(self) -> Usage:
        """Return the usage until now."""
        measured = self.measure.usage()
        return replace(measured, units=self.units, context_tokens=self.context_tokens, depth=self.depth)

    def assemble(
        self,
        text: str,
        *,
        citations: tuple[Citation, ...] = (),
        evidence: Evidence | None = None,
        dropped_citations: int = 0,
        names: tuple[str, ...] = (),
        triples: tuple[CitedTriple, ...] = (),
        span: str = "",
        computed: bool = False,
    ) -> Answer:
        """Return the answer with the usage and the trace so far; the fields are those of `Answer`."""
        return Answer(
            question=self.question,
            method=self.method,
            text=no_answer(self.question) if text == NO_ANSWER else text,
            citations=citations,
            evidence=evidence or Evidence(),
            usage=self.usage(),
            trace=tuple(self.trace),
            dropped_citations=dropped_citations,
            names=names,
            triples=triples,
            span=span,
            computed=computed,
        )

    def no_answer(self, evidence: Evidence | None = None) -> Answer:
        """Return the abstention."""
        return self.assemble(no_answer(self.question), evidence=evidence)

    def adopt(self, answer: Answer, evidence: Evidence | None = None) -> Answer:
        """Return the answer of another method as the answer of this one.

        Its trace follows the steps so far; the question, method name and usage are those of this assembly (calls that
        the other method made inside the block are metered here). `evidence`, if given, replaces its evidence.
        """
        return replace(
            answer,
            question=self.question,
            method=self.method,
            evidence=answer.evidence if evidence is None else evidence,
            usage=self.usage(),
            trace=(*self.trace, *answer.trace),
        )


@contextmanager
def assembling(question: str, method: str) -> Iterator[Assembly]:
    """Open the assembly of one answer; model calls made inside the block count towards its usage.

    Args:
        question: The question to answer.
        method: The name of the method that actually runs.

    Example:
        >>> with assembling("Who wrote it?", "bm25") as assembly:
        ...     assembly.step("read", "no passage found")
        ...     answer = assembly.no_answer()
        >>> answer.method, answer.known, answer.trace[0].detail
        ('bm25', False, 'no passage found')
    """
    with measured() as measure:
        yield Assembly(question, method, measure)


class ModelMethod:
    """A method that runs with a language model, or without one if `model` is None."""

    def __init__(self, name: str, context: Context, model: LanguageModel | None) -> None:
        self._name = name
        self._context = context
        self._model = model


class TopicMethod(ModelMethod, ABC):
    """A method that starts from entities: those linked from the question, or given ones."""

    async def answer(self, question: str) -> Answer:
        """Return the answer from the entities linked to the question."""
        return await self._answer(question, None)

    async def answer_about(self, question: str, topics: Sequence[str]) -> Answer:
        """Return the answer from the entities with these names; the trace lists unknown names."""
        return await self._answer(question, topics)

    @abstractmethod
    async def _answer(self, question: str, given: Sequence[str] | None) -> Answer:
        """Answer from the given entities, or with None from those linked from the question."""
