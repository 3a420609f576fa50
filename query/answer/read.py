"""Reading without a language model: the sentences of the best passages that answer, quoted and cited.

Nothing is invented: the answer is made of the documents' own sentences, or says that it does not know.
"""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from query.citations import cite
from query.context import Context
from query.types import Answer, Passage, Retriever, Step, Usage
from storage.records import Span
from storage.text.names import words
from storage.text.sentences import sentence_spans

UNKNOWN = "I do not know: nothing in the indexed documents supports an answer."

_LEAST_COSINE = 0.25
_LEAST_COVERAGE = 0.35


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a passage: its words, where it stands, its cosine with the question, and what it covers."""

    text: str
    span: Span
    cosine: float
    covers: frozenset[str]


class ExtractiveReader:
    """Answers with sentences from the passages that a retriever finds."""

    def __init__(self, name: str, context: Context, retriever: Retriever) -> None:
        self._name = name
        self._context = context
        self._retriever = retriever

    async def answer(self, question: str) -> Answer:
        """Return up to `answer.sentences` sentences that together cover the question, best first."""
        began = time.perf_counter()
        settings = self._context.settings.answer
        evidence = await self._retriever.retrieve(question, settings.passages)
        weights = word_weights(self._context, question)
        quotes = quotes_for(self._context, question, evidence.passages, weights)
        chosen = choose(quotes, weights, settings.sentences)
        reason = unsupported(chosen, quotes, weights)
        cited = cite(self._context, [] if reason else [(each.text, each.span) for each in chosen])
        step = Step("read", reason or f"{len(chosen)} of {len(quotes)} sentences quoted")
        return Answer(
            question=question,
            method=self._name,
            text="\n".join(cited.lines) or UNKNOWN,
            citations=cited.citations,
            evidence=evidence,
            usage=Usage(seconds=time.perf_counter() - began),
            trace=(*evidence.trace, step),
            dropped_citations=cited.dropped,
        )


def word_weights(context: Context, question: str) -> dict[str, float]:
    """Return the question's words with their share of its meaning: inverse document frequencies, summing to 1.

    A word that no document holds weighs most of all: a question about it finds no support.
    """
    raw = {word.key: context.bm25.inverse_document_frequency(word.key) ** 2 for word in words(question)}
    total = sum(raw.values())
    return {word: weight / total for word, weight in raw.items()} if total else {}


def quotes_for(context: Context, question: str, passages: Sequence[Passage], weights: dict[str, float]) -> list[Quote]:
    """Return every sentence of the passages, compared with the question. A title's words count for its sentences."""
    placed = [(passage, start, end) for passage in passages for start, end in sentence_spans(passage.text)]
    if not placed:
        return []
    embedder = context.embedder
    texts = [embedder.windows(f"{passage.title}: {passage.text[start:end]}")[0] for passage, start, end in placed]
    cosines = embedder.embed(texts) @ embedder.embed_query(question)
    quotes = []
    for (passage, start, end), cosine in zip(placed, cosines, strict=True):
        text = passage.text[start:end]
        held = {word.key for word in words(f"{passage.title} {text}")}
        span = Span(passage.document_id, passage.chunk_id, passage.start + start, passage.start + end)
        shown = re.sub(r"\s+", " ", text)
        quotes.append(Quote(shown, span, float(cosine), frozenset(word for word in weights if word in held)))
    return quotes


def choose(quotes: Sequence[Quote], weights: dict[str, float], count: int) -> list[Quote]:
    """Pick greedily by cosine plus the weight of question words that no earlier choice covers."""
    chosen: list[Quote] = []
    covered: set[str] = set()
    left = list(quotes)

    def gain(quote: Quote) -> tuple[float, str, int]:
        fresh = sum(weights[word] for word in quote.covers - covered)
        return (-(quote.cosine + fresh), quote.span.document_id, quote.span.start)

    while left and len(chosen) < count:
        best = min(left, key=gain)
        if chosen and -gain(best)[0] < 0.5 * chosen[0].cosine:
            break
        chosen.append(best)
        covered |= best.covers
        left = [each for each in left if each.text != best.text]
    return chosen


def unsupported(chosen: Sequence[Quote], quotes: Sequence[Quote], weights: dict[str, float]) -> str:
    """Return why the sentences do not support an answer, or "" where they do."""
    if not chosen:
        return "no sentence was found"
    nearest = max(each.cosine for each in chosen)
    coverage = sum(weights[word] for word in frozenset().union(*(each.covers for each in quotes)))
    if nearest < _LEAST_COSINE:
        return f"the nearest sentence is too far from the question (cosine {nearest:.2f} < {_LEAST_COSINE})"
    if coverage < _LEAST_COVERAGE:
        return f"the passages hold too little of what the question names ({coverage:.2f} < {_LEAST_COVERAGE})"
    return ""
