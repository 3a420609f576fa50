"""The final answer of a model over numbered material, with its citations.

The model cites numbers of its material; each citation then resolves to the sentences of the documents that support the
model's statement. The citations of an answer without marks are found by comparing it with the material
(`model_text.py`).
"""

from collections.abc import Sequence
from dataclasses import replace

from conspectus.prompts.language_model import LanguageModel, Request
from conspectus.prompts.render import messages
from conspectus.query.answer_writing.context_windows import ScoredUnit, Unit, evidence, sources
from conspectus.query.answer_writing.model_text import model_text
from conspectus.query.answering import Assembly
from conspectus.query.citations.entailment import CitedText
from conspectus.query.citations.matching import overlaps
from conspectus.query.citations.numbered import Citations, documents_by_id
from conspectus.query.context import Context
from conspectus.query.question.tasks import answer_style
from conspectus.query.types import Answer, Evidence
from conspectus.storage.records import Span

STEP = "reduce"
_SPANS = 3
"""The largest number of document spans that one cited finding resolves to."""


async def write(
    assembly: Assembly,
    context: Context,
    model: LanguageModel,
    material: str,
    units: Sequence[Unit],
    found: Evidence,
    *,
    prompt: str = "query/graphrag/global_reduce",
    step: str = STEP,
    most_words: int = 1000,
    dropped: int = 0,
) -> Answer:
    """Write the final answer from numbered material.

    Args:
        assembly: Assembles the answer.
        context: The open index.
        model: The language model.
        material: The text that the model reads, in which unit i has the number i + 1.
        units: The units of the material.
        found: The evidence of the answer.
        prompt: The prompt, with the fields material, question and words.
        step: The name of the call in usage, cache and trace.
        most_words: The length that the prompt asks for; unless `answer.words` is set: two pages.
        dropped: The number of citations before that did not resolve.

    Returns:
        The answer with its citations; the abstention if the model gives none, or, without a call, if there are no
        units.

    Raises:
        ModelError: The call fails.
    """
    question = assembly.question
    if not units:
        return replace(assembly.no_answer(found), dropped_citations=dropped)
    words_ = str(context.settings.answer.words or most_words)
    style = answer_style(context.settings.answer)
    asked = messages(prompt, material=material, question=question, words=words_, style=style)
    citations = Citations(context)
    support = _Support(context, units, citations)
    request = Request(asked, step, sources=sources(context, units))
    shown = [CitedText(unit.text, unit.title) for unit in units]
    told = await model_text(context, model, request, question, shown, support.cite)
    assembly.add(*told.steps)
    if not told.text:
        from conspectus.query.answer_writing.extractive import quoted_instead  # imports much, and is seldom needed

        read = evidence(context, [ScoredUnit(unit, 0.0) for unit in units])
        return replace(quoted_instead(assembly, context, read), evidence=found, dropped_citations=dropped)
    made = citations.made()
    assembly.step(step, f"{len(made)} citations made")
    dropped += citations.dropped
    return assembly.assemble(told.text, citations=made, evidence=found, dropped_citations=dropped)


class _Support:
    """Resolves a sentence and the number of a unit to the document spans that support the sentence."""

    def __init__(self, context: Context, units: Sequence[Unit], citations: Citations) -> None:
        self._units = units
        self._citations = citations
        self._weigh = context.bm25.inverse_document_frequency
        self._texts = documents_by_id(context)

    def cite(self, sentence: str, number: int) -> list[int]:
        """Cite the statement of the unit with the largest IDF-weighted word overlap with the sentence."""
        if not 1 <= number <= len(self._units):
            self._citations.dropped += 1
            return []
        statements = self._units[number - 1].statements()
        if not statements:
            self._citations.dropped += 1
            return []
        best = self._nearest(sentence, [statement.text for statement in statements])[0]
        spans = statements[best].spans
        if len(spans) > _SPANS:
            order = self._nearest(sentence, [self._quote(span) for span in spans])[:_SPANS]
            spans = tuple(spans[place] for place in sorted(order))
        return [made for span in spans if (made := self._citations.number(span))]

    def _nearest(self, sentence: str, texts: Sequence[str]) -> list[int]:
        """Return the positions of texts by word overlap with a sentence, largest first, ties by position."""
        scores = overlaps(sentence, texts, self._weigh)
        return sorted(range(len(texts)), key=lambda place: -scores[place])

    def _quote(self, span: Span) -> str:
        document = self._texts.get(span.document_id)
        return document.text[span.start : span.end] if document else ""
