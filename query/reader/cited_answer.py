"""The final answer over numbered material, written by a model: streamed, and each sentence cited.

What the model cites must be a number of its material, and the citation then names the sentences of the documents
that support what was said. An answer that cites nothing is not given.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from conspectus.prompts.model import LanguageModel, Message, Request
from conspectus.prompts.render import render
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.citations.alignment import overlaps
from conspectus.query.citations.numbered import Citations, documents_by_id
from conspectus.query.citations.streaming import Citing
from conspectus.query.context import Context
from conspectus.query.reader.material import Unit, sources
from conspectus.query.types import Citation, Say
from conspectus.storage.records import Span

STEP = "reduce"
_SPANS = 3
"""Most places in the documents that one cited finding leads to."""


@dataclass(frozen=True, slots=True)
class Written:
    """An answer and its citations; `dropped` counts those that named nothing."""

    text: str
    citations: tuple[Citation, ...]
    dropped: int


async def write(
    context: Context,
    model: LanguageModel,
    question: str,
    material: str,
    units: Sequence[Unit],
    say: Say,
    *,
    prompt: str = "query/global_reduce",
    step: str = STEP,
    most_words: int | None = None,
) -> Written:
    """Return the model's answer from the material, in which unit i is cited as i + 1.

    Without a citation that is NO_ANSWER, or what the model says behind the word for nothing. Without any unit it is
    NO_ANSWER too, and no model is asked.

    The prompt has the places material, question and words: `most_words`, by default those of global search.
    """
    if not units:
        say(NO_ANSWER)
        return Written(NO_ANSWER, (), 0)
    words_ = str(most_words or context.settings.global_search.reduce_words)
    message = Message("user", render(prompt, material=material, question=question, words=words_))
    citations = Citations(context)
    support = _Support(context, units, citations)
    citing = Citing(support.cite)
    said: list[str] = []

    def tell(text: str) -> None:
        if text:
            said.append(text)
            say(text)

    async for piece in model.stream(Request((message,), step, sources=sources(context, units))):
        tell(citing.take(piece))
    tell(citing.end())
    if not said:
        say(NO_ANSWER)
    text = "".join(said) if citations.made() or (said and citing.is_nothing) else NO_ANSWER
    return Written(text, citations.made(), citations.dropped)


class _Support:
    """From a sentence and the number of a unit to the places in the documents that support it."""

    def __init__(self, context: Context, units: Sequence[Unit], citations: Citations) -> None:
        self._units = units
        self._citations = citations
        self._weigh = context.bm25.inverse_document_frequency
        self._texts = documents_by_id(context)

    def cite(self, sentence: str, number: int) -> list[int]:
        """Return the numbers of citations: of what the unit says, that nearest to the sentence by shared words."""
        if not 1 <= number <= len(self._units):
            self._citations.dropped += 1
            return []
        statements = self._units[number - 1].statements()
        if not statements:
            self._citations.dropped += 1
            return []
        best = self._nearest(sentence, [each.text for each in statements])[0]
        spans = statements[best].spans
        if len(spans) > _SPANS:
            order = self._nearest(sentence, [self._quote(each) for each in spans])[:_SPANS]
            spans = tuple(spans[place] for place in sorted(order))
        return [made for each in spans if (made := self._citations.number(each))]

    def _nearest(self, sentence: str, texts: Sequence[str]) -> list[int]:
        """Return the places of texts, those that overlap most with a sentence first, ties by place."""
        scores = overlaps(sentence, texts, self._weigh)
        return sorted(range(len(texts)), key=lambda place: -scores[place])

    def _quote(self, span: Span) -> str:
        document = self._texts.get(span.document_id)
        return document.text[span.start : span.end] if document else ""
