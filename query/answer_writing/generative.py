"""Reading with a language model: an answer over the passages of a retriever, with citations.

The model cites passages by number; each citation then names the sentences of the passage that support the text. The
citations of an answer without marks are found by comparing it with the passages (`model_text.py`).
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.thinking import without_thinking
from conspectus.query.abstention import is_unknown
from conspectus.query.answer_writing.extractive import quoted_instead
from conspectus.query.answer_writing.model_text import model_text
from conspectus.query.answering import Assembly, assembling
from conspectus.query.citations.entailment import CitedText
from conspectus.query.citations.forms import marks_in
from conspectus.query.citations.marks import UNVERIFIED, keep_marks, without_marks
from conspectus.query.citations.matching import aligned_span
from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.question.tasks import Task, answer_style, prompt_for
from conspectus.query.types import Answer, Evidence, Passage, Retriever
from conspectus.query.walk.verdicts import final_answer, mention
from conspectus.storage.hashing import digest
from conspectus.storage.records import Span
from conspectus.storage.text.tokens import count_each

STEP = "answer"
_MOST_TOKENS = 1_000_000
"""Tokens of passages, if the context of the model is unknown."""
_ANSWER_LINE = re.compile(
    r"(?:^|[.!?\])]\s)\W*(?:(?:the|my|so|final|short|brief)\s+)*(?:answer|antwort|réponse|respuesta|答案|回答)\W*?[:：]"
    r"[\s*_]*(?P<said>\S.*)",
    re.IGNORECASE | re.MULTILINE,
)
"""The last line that prompts/query/answer/briefly.txt asks for; the answer may follow on the line below the label."""


class ModelReader:
    """Answers with a model from the passages of a retriever: one call per question, plus those of the retriever."""

    def __init__(
        self, name: str, context: Context, retriever: Retriever, model: LanguageModel, passages: int | None = None
    ) -> None:
        """Read up to `passages` passages of the retriever; by default `answer.passages`."""
        self._passages = passages or context.settings.answer.passages
        self._name = name
        self._context = context
        self._retriever = retriever
        self._model = model

    async def answer(self, question: str) -> Answer:
        """Return the answer of the model; its citations are sentences of the passages."""
        with assembling(question, self._name) as assembly:  # a retriever may call a model too
            evidence = await self._retriever.retrieve(question, self._passages)
            assembly.add(*evidence.trace)
            if not evidence.passages:
                return assembly.no_answer()
            settings = self._context.settings
            brief = settings.answer.form == "brief" and settings.tog.task == "qa"
            style = answer_style(settings.answer, brief=brief)
            shown = _that_fits(evidence, self._context.room(STEP, _MOST_TOKENS))
            request = reading(question, shown, settings.tog.task, style, brief=brief)
            citing = _PassageCitations(self._context, shown.passages)
            sources = [CitedText(passage.text, passage.title) for passage in shown.passages]
            if brief:
                return await self._brief(assembly, request, shown, citing)
            told = await model_text(self._context, self._model, request, question, sources, citing.cite)
            assembly.add(*told.steps)
            if not told.text:
                return quoted_instead(assembly, self._context, evidence)
            text, citations = citing.made(told.text)
            assembly.step("read", f"{len(shown.passages)} passages read, {len(citations.made())} citations made")
            return assembly.assemble(
                text, citations=citations.made(), evidence=evidence, dropped_citations=citations.dropped
            )

    async def _brief(
        self, assembly: Assembly, request: Request, evidence: Evidence, citing: "_PassageCitations"
    ) -> Answer:
        """Return a short answer with the citations of the thoughts before it, else the passages that contain it."""
        reply = without_thinking((await self._model.complete(request)).text)
        thoughts, _, last = reply.rpartition("\n") if "\n" in reply.strip() else ("", "", reply)
        short = short_answer(reply, assembly.question)
        assembly.step("thoughts", " ".join(thoughts.split()) or "none")
        if not short or is_unknown(short):
            return assembly.no_answer(evidence)
        shown = len(evidence.passages)
        numbers = dict.fromkeys(number for mark in marks_in(f"{thoughts} {last}", shown) for number in mark.numbers)
        if not numbers:
            holds = (at for at, passage in enumerate(evidence.passages, 1) if mention(passage.text, [short]))
            numbers = dict.fromkeys(list(holds)[:1])
        for number in numbers:
            citing.cite(f"{thoughts} {short}", number)
        marks = "".join(f"[{number}]" for number in numbers) or UNVERIFIED
        text, citations = citing.made(f"{short} {marks}")
        assembly.step("read", f"{shown} passages read, {len(citations.made())} citations made")
        return assembly.assemble(
            text, citations=citations.made(), evidence=evidence, dropped_citations=citations.dropped, span=short
        )


def _that_fits(evidence: Evidence, room: int) -> Evidence:
    """Return the evidence with as many of the first passages as have `room` tokens, one at least."""
    if room == _MOST_TOKENS:
        return evidence
    ends = list(accumulate(count_each([passage.text for passage in evidence.passages])))
    return replace(evidence, passages=evidence.passages[: max(1, sum(end <= room for end in ends))])


class _PassageCitations:
    """The citations of one answer: one per cited passage, over the sentences that support the text."""

    def __init__(self, context: Context, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._weigh = context.bm25.inverse_document_frequency
        self._citations = Citations(context)
        self._spans: dict[int, list[Span]] = {}

    def cite(self, sentence: str, number: int) -> list[int]:
        """Cite the sentence of a passage that best supports a sentence."""
        if not 1 <= number <= len(self._passages):
            self._citations.dropped += 1
            return []
        span = aligned_span(sentence, self._passages[number - 1], self._weigh)
        self._spans.setdefault(number, []).append(span)
        return [number]

    def made(self, text: str) -> tuple[str, Citations]:
        """Return the text with the marks that resolve, and the citations."""
        spans = sorted(self._spans.items())
        kept = {number for number, parts in spans if self._citations.number(_hull(parts), number)}
        return keep_marks(text, kept), self._citations


def short_answer(reply: str, question: str) -> str:
    """Return the short answer at the end of a reply to prompts/query/answer/briefly.txt, without marks; "" for none.

    >>> short_answer("The bridge is Hanna Olsson's [1].\\n**Answer:** Hanna Olsson [1].", "Whose is it?")
    'Hanna Olsson'
    """
    lines = [found["said"] for found in _ANSWER_LINE.finditer(reply)]
    said = lines[-1] if lines else final_answer(reply, question)
    if re.search(r"[{\\]", said):  # braces, LaTeX
        said = final_answer(said)
    said = without_marks(said).strip(' \t*_`"{}').rstrip(".")
    return "" if said.endswith(":") else said


def _hull(spans: Sequence[Span]) -> Span:
    """Return the smallest span that contains the spans of one passage."""
    first = spans[0]
    return replace(first, start=min(span.start for span in spans), end=max(span.end for span in spans))


def reading(question: str, evidence: Evidence, task: Task = "qa", style: str = "", *, brief: bool = False) -> Request:
    """Return the request for an answer over the passages; it depends on their texts and titles only.

    `style` describes the form of the answer (`answer_style`); a `brief` answer is reasoning, then a few words.
    """
    passages = "\n\n".join(_numbered(number, passage) for number, passage in enumerate(evidence.passages, start=1))
    name = "query/answer/briefly" if brief else prompt_for(task, "query/answer/from_passages")
    styled = {"style": style} if task == "qa" else {}
    prompt = messages(name, passages=passages, question=question, **styled)
    return Request(prompt, STEP, sources=tuple(digest(passage.text) for passage in evidence.passages))


def _numbered(number: int, passage: Passage) -> str:
    title = f" {passage.title}" if passage.title else ""
    return f"[{number}]{title}\n{passage.text}"
