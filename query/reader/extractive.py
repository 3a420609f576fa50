"""Extractive reading without a language model: an answer quotes and cites sentences of the passages.

Nothing is invented: the answer is made of the documents' own sentences, or says that it does not know.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from conspectus.query.abstention import no_answer
from conspectus.query.answering import Assembly, assembling
from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.reader.short_answer import short_answer
from conspectus.query.types import Answer, Evidence, Passage, Retriever, Say
from conspectus.storage.records import Span
from conspectus.storage.text.names import words
from conspectus.storage.text.normalise import title_names
from conspectus.storage.text.sentences import sentence_spans

_LEAST_SUPPORT = 0.57
_COVERAGE_WEIGHT = 0.2
"""An answer is given if the best cosine + 0.2 x coverage is at least 0.57: measured by benchmarks/answers.py on
questions with and without an answer in the documents."""
_MOST_SENTENCES = 40
"""The number of sentences that are embedded: those that contain most of the question's words."""
_BRIDGE = 0.5
"""The bonus of a sentence whose passage is about something that an earlier quote names and the question does not."""
_WORTH_ADDING = 0.5
"""The least gain of a further sentence, as a share of the gain of the first one."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a passage: its text and span, its cosine with the question, and the question words it covers."""

    text: str
    title: str
    span: Span
    cosine: float
    covers: frozenset[str]


class ExtractiveReader:
    """Answers with sentences of the passages of a retriever."""

    def __init__(self, name: str, context: Context, retriever: Retriever) -> None:
        self._name = name
        self._context = context
        self._retriever = retriever

    async def answer(self, question: str, say: Say) -> Answer:
        """Return up to `answer.sentences` sentences that together cover the question, best first."""
        with assembling(question, self._name) as assembly:
            evidence = await self._retriever.retrieve(question, self._context.settings.answer.passages)
            return quote_evidence(assembly, self._context, evidence, say)


def quote_evidence(assembly: Assembly, context: Context, evidence: Evidence, say: Say) -> Answer:
    """Return the answer that quotes the passages of the evidence, all of them read.

    It quotes up to `answer.sentences` sentences that together cover the question, best first; without enough support
    it is `no_answer`. The steps that found the evidence are added to the trace.
    """
    question = assembly.question
    weights = word_weights(context, question)
    quotes = quotes_for(context, question, evidence.passages, weights)
    chosen = choose(question, quotes, weights, context.settings.answer.sentences)
    reason = unsupported(chosen, quotes, weights)
    citations = Citations(context)
    lines = [] if reason else [citations.cite(quote.text, quote.span) for quote in chosen]
    text = "\n".join(line for line in lines if line) or no_answer(question)
    say(text)
    assembly.add(*evidence.trace)
    assembly.step("read", reason or f"{len(chosen)} of {len(quotes)} sentences quoted")
    return assembly.assemble(
        text,
        citations=citations.made(),
        evidence=evidence,
        dropped_citations=citations.dropped,
        span="" if reason else short_answer(context, question, [quote.span for quote in chosen]),
    )


def word_weights(context: Context, question: str) -> dict[str, float]:
    """Return the weights of the question's words: the squared inverse document frequency, normalised to sum to 1.

    A word that no document contains has the largest weight: a question about it finds no support.
    """
    raw = {word.key: context.bm25.inverse_document_frequency(word.key) ** 2 for word in words(question)}
    total = sum(raw.values())
    return {word: weight / total for word, weight in raw.items()} if total else {}


def quotes_for(context: Context, question: str, passages: Sequence[Passage], weights: dict[str, float]) -> list[Quote]:
    """Return the sentences of the passages that contain most of the question's words, with their cosines.

    The words of a passage's title count for every sentence of it.
    """
    found: list[tuple[float, int, Passage, Span, frozenset[str]]] = []
    for passage in passages:
        for start, end in sentence_spans(passage.text):
            held = {word.key for word in words(f"{passage.title} {passage.text[start:end]}")}
            covers = frozenset(word for word in weights if word in held)
            span = Span(passage.document_id, passage.chunk_id, passage.start + start, passage.start + end)
            found.append((-fsum(weights[word] for word in covers), len(found), passage, span, covers))
    found = sorted(sorted(found)[:_MOST_SENTENCES], key=lambda item: item[1])
    if not found:
        return []
    texts = [passage.text[span.start - passage.start : span.end - passage.start] for _, _, passage, span, _ in found]
    embedder = context.embedder
    titled = [f"{item[2].title}: {text}" if item[2].title else text for item, text in zip(found, texts, strict=True)]
    cosines = embedder.embed([embedder.windows(text)[0] for text in titled]) @ embedder.embed_query(question)
    return [
        Quote(" ".join(text.split()), passage.title, span, float(cosine), covers)
        for (_, _, passage, span, covers), text, cosine in zip(found, texts, cosines, strict=True)
    ]


def choose(question: str, quotes: Sequence[Quote], weights: dict[str, float], count: int) -> list[Quote]:
    """Choose up to `count` sentences greedily by their gain over those already chosen.

    The gain is the cosine, plus the weights of question words that no chosen sentence covers, plus a bonus for the
    second hop: the passage is about something that a chosen sentence names and the question does not.
    """
    chosen: list[Quote] = []
    covered: set[str] = set()
    left = list(quotes)
    gains: list[float] = []
    while left and len(chosen) < count:
        named = " ".join(_as_words(item.text) for item in chosen)
        gain = {
            quote: quote.cosine
            + fsum(weights[word] for word in quote.covers - covered)
            + _BRIDGE * _is_bridge(quote, named, _as_words(question))
            for quote in left
        }
        best = min(left, key=lambda quote: (-gain[quote], quote.span.document_id, quote.span.start))
        gains.append(gain[best])
        if gains[-1] < _WORTH_ADDING * gains[0]:
            break
        chosen.append(best)
        covered |= best.covers
        left = [quote for quote in left if quote.text != best.text]
    return chosen


def _is_bridge(quote: Quote, named: str, question: str) -> bool:
    names = [_as_words(name) for name in title_names(quote.title)]
    return any(name.strip() and name in named and name not in question for name in names)


def _as_words(text: str) -> str:
    """Return the words of a text joined and surrounded by spaces, for substring search by whole words."""
    return f" {' '.join(word.key for word in words(text))} "


def unsupported(chosen: Sequence[Quote], quotes: Sequence[Quote], weights: dict[str, float]) -> str:
    """Return why the sentences do not support an answer; "" if they do."""
    if not chosen:
        return "no sentence was found"
    nearest = max(quote.cosine for quote in quotes)
    coverage = fsum(weights[word] for word in frozenset[str]().union(*(quote.covers for quote in quotes)))
    if nearest + _COVERAGE_WEIGHT * coverage >= _LEAST_SUPPORT:
        return ""
    return (
        f"no support: the nearest sentence has cosine {nearest:.2f} and the passages hold {coverage:.0%} "
        f"of what the question says"
    )
