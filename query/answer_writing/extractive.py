"""Extractive reading without a language model: an answer quotes and cites excerpts of the passages.

Nothing is invented: the answer consists of the documents' own sentences, list items, table rows and code, or says that
it does not know. From top to bottom: the excerpts of the passages (`excerpts`) are ranked by the probability that they
answer the question (`ranker`), those that together answer it are chosen within a word limit, the text needed to
understand them is added, the best are extended by the next sentence, and everything is shown, each with its citation.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, product

import numpy as np
import regex
from conspectus.query.answer_writing.asked import NUMBERED, Asked, asked_of
from conspectus.query.answer_writing.comparison import parts_asked, parts_to_compare, tells_value, winner
from conspectus.query.answer_writing.excerpts import Part, as_words, without_fences, word_count
from conspectus.query.answer_writing.features import kind_in, next_features
from conspectus.query.answer_writing.quotes import Quote, quotes_for
from conspectus.query.answer_writing.second_step import first_steps
from conspectus.query.answer_writing.section import quotes_of_section
from conspectus.query.answer_writing.short_answer import expected_answer, short_answer
from conspectus.query.answer_writing.support import declined, reader_weights, unsupported
from conspectus.query.answer_writing.versions import (
    definitions_of_others,
    is_of_another,
    item_asked,
    lost_clause,
    of_the_one_meant,
    with_definition,
    with_versions,
)
from conspectus.query.answering import Assembly, assembling
from conspectus.query.citations.numbered import Citations, documents_by_id
from conspectus.query.context import Context
from conspectus.query.logistic import probability
from conspectus.query.question.kinds import kind_of
from conspectus.query.question.parts import sides_of
from conspectus.query.question.question import open_question
from conspectus.query.question.terms import is_content_word
from conspectus.query.sayings import name_of_language, saying
from conspectus.query.types import Answer, Evidence, Passage, Retriever, Step
from conspectus.storage.locators import HEADING, places_at
from conspectus.storage.records import Span
from conspectus.storage.text.dates import date_of_document, dates_in
from conspectus.storage.text.names import word_keys
from conspectus.storage.text.normalise import title_names
from conspectus.storage.text.words import stem

_MOST_WORDS = 150
"""The most words of prose that an answer quotes; the best excerpt is quoted at any length."""
_WITH_NEXT = 3
"""Number of best excerpts that are quoted with the next of their paragraph, which often continues them: one, if the
question asks for a fact."""
_MOST_ITEMS = 20
"""The most items of a whole list that are shown."""
_FACTS = frozenset({"when", "where", "who", "how many", "yes or no"})
_OF_A_PART = 4
"""Number of passages added for each part of a question that asks for several things."""
_REPEATS = 0.7
"""An excerpt that shares more than this share of its words with a chosen one repeats it."""
_VALUE = 2
"""The most words in which two documents differ that say the same of two things, or of one at two times."""


class ExtractiveReader:
    """Answers with excerpts of the passages of a retriever."""

    def __init__(self, name: str, context: Context, retriever: Retriever) -> None:
        self._name = name
        self._context = context
        self._retriever = retriever

    async def answer(self, question: str) -> Answer:
        """Return up to `answer.sentences` excerpts that together answer the question, in reading order."""
        with assembling(question, self._name) as assembly:
            evidence = await self._retriever.retrieve(question, self._context.settings.answer.passages)
            evidence = await self._with_parts(question, evidence)
            found = read_quotes(self._context, question, evidence.passages)
            evidence, found = await self._in_two_steps(question, evidence, found)
            return write_quotes(assembly, self._context, evidence, found)

    async def _in_two_steps(self, question: str, evidence: Evidence, found: "Found") -> "tuple[Evidence, Found]":
        """Return what answers a question that describes a thing, asked with the thing's name; else what was found.

        A statement that only says what is described is no answer if it lacks the kind that is asked for.
        """
        steps = list(first_steps(self._context, question, found.quotes))
        explains = any(step.quote.span == quote.span for step in steps for quote in found.chosen[:1])
        for step in steps if found.reason or explains else ():
            more = await self._retriever.retrieve(step.question, self._context.settings.answer.passages)
            second = read_quotes(self._context, step.question, more.passages)
            told = set() if second.reason else second.chosen[0].held.told - step.name
            if told and not _repeats(step.quote, second.chosen[0]):  # more than the name
                first = [] if any(_repeats(step.quote, each) for each in second.chosen) else [step.quote]
                trace = (*evidence.trace, Step("two steps", f"{step.described}: {step.question}"), *more.trace)
                return replace(more, trace=trace), replace(second, chosen=[*first, *second.chosen])
        if explains and kind_in(asked_of(self._context, question), found.chosen[0].text)[0] is False:
            reason = "the nearest sentence only says what the question describes"
            return evidence, replace(found, chosen=[], reason=reason, nearest=found.chosen[0].text)
        return evidence, found

    async def _with_parts(self, question: str, evidence: Evidence) -> Evidence:
        """Return evidence extended by the best passages for each part of a question that asks for several things."""
        if not (parts := parts_asked(self._context, question)):
            return evidence
        passages = {passage.chunk_id: passage for passage in evidence.passages}
        for part in parts:
            for passage in (await self._retriever.retrieve(part, _OF_A_PART)).passages:
                passages.setdefault(passage.chunk_id, passage)
        step = Step("parts", f"{len(passages) - len(evidence.passages)} more passages for its {len(parts)} parts")
        return replace(evidence, passages=tuple(passages.values()), trace=(*evidence.trace, step))


def quote_evidence(assembly: Assembly, context: Context, evidence: Evidence) -> Answer:
    """Return the answer that quotes the passages of the evidence, all of them read.

    It quotes up to `answer.sentences` excerpts that together answer the question; without enough support it declines.
    The retrieval steps are added to the trace.
    """
    return write_quotes(assembly, context, evidence, read_quotes(context, assembly.question, evidence.passages))


@dataclass(frozen=True, slots=True)
class Found:
    """What was read for a question: all quotes, those that answer it, or the reason why none do and the nearest."""

    question: str
    quotes: list[Quote]
    chosen: list[Quote]
    reason: str = ""
    nearest: str = ""


def read_quotes(context: Context, question: str, passages: Sequence[Passage]) -> Found:
    """Return the quotes from passages that together answer a question, or why there are none."""
    quotes, asked = quotes_for(context, question, passages), asked_of(context, question)
    if section := _within(quotes_of_section(context, asked, question, quotes)):
        return Found(question, quotes, section)
    if item := item_asked(asked, question, quotes):
        return Found(question, quotes, item)
    if clause := lost_clause(question, quotes):
        return Found(question, quotes, [], f"nothing has the number {clause}")
    chosen = choose(context, question, quotes, context.settings.answer.sentences)
    reason, nearest = _unsupported(context, question, quotes, chosen)
    if chosen and is_of_another(open_question(context, question), asked, quotes, chosen[0]):
        reason = "the nearest sentence is about another name"
    if reason:
        return Found(question, quotes, [], reason, nearest)
    if not parts_asked(context, question):
        chosen = of_the_one_meant(context, open_question(context, question), chosen)
        chosen = definitions_of_others(asked, quotes, with_definition(asked, quotes, chosen))
        chosen = with_versions(context, asked, quotes, chosen)
    best = [_with_heading(context, asked, question, _clause(context, asked, quote)) for quote in chosen[:1]]
    return Found(question, quotes, [*best, *chosen[1:]])


def _clause(context: Context, asked: Asked, quote: Quote) -> Quote:
    """Return the part of a quote between semicolons that alone has a fact and all that is said of the question."""
    own = quote.excerpt.shown[0] if quote.excerpt.shown else None
    if own is None or own.kind != "sentence" or ";" not in own.text or not (asked.is_fact or asked.kind == "what"):
        return quote
    row = context.chunk_rows[quote.excerpt.passage.chunk_id]
    for found in _CLAUSE.finditer(own.text):
        if quote.covers <= {*context.bm25.analysis.stems(found[0], row)} and kind_in(asked, found[0])[0] is not False:
            start = own.span.start + found.start()
            part = Part(replace(own.span, start=start, end=start + len(found[0])), own.kind, found[0])
            return replace(quote, excerpt=replace(quote.excerpt, shown=(part, *quote.excerpt.shown[1:])))
    return quote


_CLAUSE = regex.compile(r"[^;\s][^;]*")
_WHICH = regex.compile(
    r"\b(?:which|what|welche\w*|quel\w*|qué|quale|qual|welke?|která|które\w*|какой|hangi)\s(\p{L}+)", regex.I
)


def _with_heading(context: Context, asked: Asked, question: str, quote: Quote) -> Quote:
    """Return a quote below the heading that has what it lacks: the date, or the number of "which version"."""
    passage, which = quote.excerpt.passage, _WHICH.search(question)
    begins = min(part.span.start for part in quote.excerpt.shown)
    numbered = which is not None and stem(which[1].casefold()) not in {stem(key) for key in word_keys(quote.text)}
    for place in reversed(places_at(context.places_of(passage.document_id), quote.span.start)):
        if place.kind != HEADING or not passage.start <= place.start < begins:
            continue
        has_kind = kind_in(asked, quote.text)[0] is False and kind_in(asked, place.label)[0] is True
        if has_kind or (numbered and asked.kind == "what" and NUMBERED.match(place.label.lstrip("[v§ "))):
            span = replace(quote.span, start=place.start, end=place.start + len(place.label))
            shown = (Part(span, "label", place.label), *quote.excerpt.shown)
            return replace(quote, excerpt=replace(quote.excerpt, shown=shown))
    return quote


def write_quotes(assembly: Assembly, context: Context, evidence: Evidence, found: Found) -> Answer:
    """Return the answer that shows what was read, or that it declines."""
    question, chosen = found.question, found.chosen
    citations = Citations(context)
    lines = list(shown(citations, chosen))
    if chosen and (items := chosen[0].whole)[_MOST_ITEMS:]:
        lines.append(f"({saying('first of', question, _MOST_ITEMS, len(items))})")
    if chosen and chosen[0].held.translated:
        language = context.bm25.analysis.language_of(context.chunk_rows[chosen[0].excerpt.passage.chunk_id])
        lines.append(f"({saying('language of the text', question, name_of_language(language))})")
    if chosen and (day := _day_of(context, question, chosen[0])):
        lines.append(f"({saying('date of the document', question, day)})")
    text = "\n".join(lines) or declined(context, question, evidence.passages, found.nearest)
    assembly.add(*evidence.trace)
    assembly.step("read", found.reason or f"{len(chosen)} of {len(found.quotes)} excerpts quoted")
    return assembly.assemble(
        text,
        citations=citations.made(),
        evidence=evidence,
        dropped_citations=citations.dropped,
        span=_short(context, question, chosen),
    )


def _day_of(context: Context, question: str, best: Quote) -> str:
    """Return the date of the document of a quote without one ("We opened today"), if it is asked when; else ""."""
    if kind_of(question) != "when" or any(dates_in(part.text) for part in best.excerpt.shown):
        return ""
    own = date_of_document(documents_by_id(context)[best.span.document_id])
    return own.first or "" if own and own.precision == "day" else ""


REPEATED = "(Quoted: the model only repeated itself, the question or its instructions.)"
UNSUPPORTED = "(Quoted: what the model wrote is not supported by what was found.)"
LACKS = "(Quoted: what the model wrote is supported, but does not say what the documents answer.)"
UNUSABLE = "(Without the model: none of its replies could be used.)"
"""Why an answer quotes although a model was asked."""
WITHHELD = "(What the model wrote is not shown: nothing that was found supports it.)"
"""Why an answer declines although a model wrote one."""


def quoted_instead(assembly: Assembly, context: Context, evidence: Evidence) -> Answer:
    """Return the answer of `quote_evidence`, marked as one that stands in for a model's."""
    answer = quote_evidence(assembly, context, evidence)
    return replace(answer, text=f"{answer.text}\n{REPEATED}")


def tells(context: Context, question: str, told: str, short: str = "") -> bool:
    """Return whether a supported text can be an answer, beside the short answer that the documents give, if any.

    It says something beyond the question, has what the question asks for, and names a part of the short answer.
    """
    asked, keys = asked_of(context, question), set(word_keys(told))
    wanted = {key for key in word_keys(short) if is_content_word(key, asked.language)}
    chooses = asked.kind == "yes or no" or bool(parts_asked(context, question))  # of what the question names
    beyond = any(is_content_word(key, asked.language) for key in keys - asked.keys)
    is_said = chooses or (beyond and kind_in(asked, told)[0] is not False)
    return is_said and (not wanted or not wanted.isdisjoint(keys))


def _short(context: Context, question: str, chosen: Sequence[Quote]) -> str:
    """Return the short answer that the chosen quotes give: how many items a list has, or a part of their text."""
    expected = expected_answer(question)
    if expected and expected.counted and chosen and chosen[0].whole:
        above = {stem(key) for text in chosen[0].excerpt.context for key in word_keys(text)}
        return str(len(chosen[0].whole)) if expected.counted in above else ""
    if chosen and parts_to_compare(context, question):
        return winner(question, [quote.text for quote in _of_parts(context, question, chosen)])
    return short_answer(context, question, [quote.span for quote in chosen])


_LIKE = 8
"""The best quotes of each of two things among which those that say the same of both are looked for."""


def _of_parts(context: Context, question: str, quotes: Sequence[Quote]) -> list[Quote]:
    """Return the best quote for each part of a question.

    For two things that are compared these tell the value that is asked for, or the most of the same: "weighs 64 kg" is
    best compared with what the other one weighs.
    """
    parts = parts_asked(context, question) if quotes else ()
    best = [sorted(quotes, key=lambda quote: -quote.by_part[at].score) for at in range(len(parts))]
    sides = sides_of(question)
    if len(sides) != len(parts) or len(sides) != 2:
        return [each[0] for each in best]
    named = [asked_of(context, side).weights.keys() for side in sides]
    own = [
        [quote for quote in best[at] if named[at] <= quote.by_part[at].held.told and not named[1 - at] <= quote.covers]
        for at in range(2)
    ]
    valued = [[quote for quote in each if tells_value(question, quote.text)] for each in own]
    if all(valued) or not all(own):
        return [each[0] for each in (valued if all(valued) else best)]

    def likeness(pair: tuple[Quote, Quote]) -> tuple[int, float]:
        one, other = pair
        return len(one.held.keys & other.held.keys), one.by_part[0].score + other.by_part[1].score

    alike = max(product(own[0][:_LIKE], own[1][:_LIKE]), key=likeness)
    return list(alike)


def _unsupported(context: Context, question: str, quotes: Sequence[Quote], chosen: Sequence[Quote]) -> tuple[str, str]:
    """Return why the chosen quotes do not support an answer and the nearest of them, as `unsupported` does.

    A comparison is supported if what is quoted for each of the two things is.
    """
    sides = parts_to_compare(context, question)
    best = _of_parts(context, question, quotes)
    for part, text in enumerate(sides):
        of_part = [quote.by_part[part] for quote in quotes]
        reason, nearest = unsupported(context, text, of_part, [best[part].by_part[part]] if best else [])
        if reason:
            return reason, nearest
    return ("", "") if sides else unsupported(context, question, quotes, chosen)


def choose(context: Context, question: str, quotes: Sequence[Quote], count: int) -> list[Quote]:
    """Choose up to `count` quotes, best first.

    If a question asks for several things, the best quote for each comes first. Any other is chosen if it is probable
    enough that it answers what the chosen ones do not: it tells more words of the question, or its passage is about
    something that a chosen quote names and the question does not (the second hop). A quote that repeats a chosen one
    is left out, as is one that would make the answer longer than `_MOST_WORDS`.
    """
    chosen: list[Quote] = []
    sides = sides_of(question)  # that say the same of two things
    for best in _of_parts(context, question, quotes):
        if not any(best is quote or (not sides and _repeats(best, quote)) for quote in chosen):
            chosen.append(best)
    asked = asked_of(context, question)
    weights = reader_weights(asked.by_many_languages)
    left = [quote for quote in quotes if quote not in chosen]
    length = sum(map(_length, chosen))
    while left and len(chosen) < count and not _is_all(asked, chosen):
        rows = np.array([_further(asked, question, quote, chosen) for quote in left])
        gains = weights.next.logits(rows) if chosen else rows[:, 0]
        best = left[min(range(len(left)), key=lambda at: (-gains[at], left[at].span.document_id, left[at].span.start))]
        if best.whole and not chosen:
            return [_with_list(best)]
        if chosen and probability(float(gains.max())) < weights.least_next:
            break
        left.remove(best)
        words_more = _length(best)
        if chosen and (length + words_more > _MOST_WORDS or any(_repeats(best, quote) for quote in chosen)):
            continue
        chosen.append(best)
        length += words_more
    return _with_next(chosen, 1 if kind_of(question) in _FACTS else _WITH_NEXT)


def _is_all(asked: Asked, chosen: Sequence[Quote]) -> bool:
    """Return whether the first of some quotes has the one fact that is asked for, and every word of the question."""
    fact = asked.kind in ("who", "when") and not asked.plural
    return fact and any(quote.has_kind and asked.weights.keys() <= quote.covers for quote in chosen[:1])


def _further(asked: Asked, question: str, quote: Quote, chosen: Sequence[Quote]) -> list[float]:
    """Return the features of a quote beside those that are chosen."""
    bridge = any(is_bridge(quote, each, question) for each in chosen)
    same = any(each.excerpt.passage.chunk_id == quote.excerpt.passage.chunk_id for each in chosen)
    return next_features(asked, quote.score, quote.held, [each.held for each in chosen], bridge=bridge, same=same)


def _with_list(quote: Quote) -> Quote:
    """Return a quote that shows the items of its list."""
    parts = dict.fromkeys(part for item in quote.whole[:_MOST_ITEMS] for part in item.shown)
    return replace(quote, excerpt=replace(quote.excerpt, shown=tuple(parts)))


def _within(section: Sequence[Quote]) -> list[Quote]:
    """Return the first quotes of a section, within `_MOST_WORDS`, at least one; its list, if that is all of it."""
    if section and section[0].whole and all(quote.whole == section[0].whole for quote in section):
        return [_with_list(section[0])]
    lengths = accumulate(map(_length, section))
    return [
        quote
        for at, (quote, length) in enumerate(zip(section, lengths, strict=True))
        if not at or length <= _MOST_WORDS
    ]


def _with_next(chosen: Sequence[Quote], most: int) -> list[Quote]:
    """Return the quotes, best first, within `_MOST_WORDS`; the first `most` include their surroundings."""
    taken: list[Quote] = []
    length = 0
    for place, quote in enumerate(chosen):
        if taken and length + _length(quote) > _MOST_WORDS:
            continue
        if place < most:
            parts = [part for excerpt in quote.opening for part in excerpt.shown]
            parts += [*quote.excerpt.shown, *(quote.behind.shown if quote.behind else ())]
            longer = replace(quote, excerpt=replace(quote.excerpt, shown=tuple(parts)))
            quote = longer if length + _length(longer) <= _MOST_WORDS else quote
        taken.append(quote)
        length += _length(quote)
    return taken


def is_bridge(quote: Quote, other: Quote, question: str) -> bool:
    """Return whether the passage of a quote is about something that another quote names and the question does not."""
    named, asked = as_words(other.text), as_words(question)
    names = [as_words(name) for name in title_names(quote.excerpt.passage.title)]
    return any(name.strip() and name in named and name not in asked for name in names)


def _length(quote: Quote) -> int:
    """Return the number of words that a quote shows, without code."""
    return sum(word_count(part.text) for part in quote.excerpt.shown if part.kind != "code")


def _repeats(quote: Quote, other: Quote) -> bool:
    """Return whether a quote adds few words to another, and is not the same sentence of another thing or time."""
    own, theirs = set(word_keys(quote.text)), set(word_keys(other.text))
    other_value = 0 < len(own - theirs) <= _VALUE and 0 < len(theirs - own) <= _VALUE
    if other_value and quote.span.document_id != other.span.document_id:
        return False
    return len(own & theirs) > _REPEATS * min(len(own), len(theirs))


def shown(citations: Citations, chosen: Sequence[Quote]) -> Iterator[str]:
    """Yield the lines of an answer: the chosen quotes with the text that belongs to them, with citations.

    The best quote comes first, unless it is a step of a procedure, then documents in the order of their best quote, in
    reading order. Text shared by several quotes, such as the introduction of a list, is shown once. Adjoining parts
    share one citation.
    """
    order = {quote.span.document_id: place for place, quote in reversed(list(enumerate(chosen)))}
    told: list[Span] = []
    first = chosen[0] if chosen and not any(quote.opening for quote in chosen) else None

    def place(quote: Quote) -> tuple[bool, int, int, int]:
        return quote is not first, order[quote.span.document_id], _beginning(quote), quote.span.start

    for quote in sorted(chosen, key=place):
        passage = quote.excerpt.passage
        run: list[Part] = []
        for part in quote.excerpt.shown:
            if any(
                earlier.start <= part.span.start and part.span.end <= earlier.end
                for earlier in told
                if earlier.document_id == part.span.document_id
            ):
                continue
            told.append(part.span)
            if run and passage.text[run[-1].span.end - passage.start : part.span.start - passage.start].strip("> \t\n"):
                yield from _cited(citations, run)
                run = []
            run.append(part)
        yield from _cited(citations, run)


def _beginning(quote: Quote) -> int:
    return min(part.span.start for part in quote.excerpt.shown)


def _cited(citations: Citations, run: Sequence[Part]) -> Iterator[str]:
    """Yield the lines of adjoining parts with one citation, which is in the first line; sentences share a line."""
    if not run:
        return
    first, rest = run[0], run[1:]
    text = _presented(first)
    if first.kind == "label" and rest and rest[0].kind == "sentence":
        text = f"{first.text.rstrip(':')}: {rest[0].text}"
        rest = rest[1:]
    while first.kind in ("sentence", "label", "item") and rest and rest[0].kind == "sentence":
        text = f"{text} {rest[0].text}"
        rest = rest[1:]
    opening, _, more = text.partition("\n")
    if first.kind == "code":
        opening, more = text, ""
    whole = Span(first.span.document_id, first.span.chunk_id, first.span.start, run[-1].span.end)
    line = citations.cite(opening, whole)
    if line is not None:
        yield "\n".join([line, *([more] if more else []), *(_presented(part) for part in rest)])


def _presented(part: Part) -> str:
    if part.kind == "code":
        code = without_fences(part.text)
        return f"```\n{code}\n```" if "\n" in part.text else f"    {code}"
    return part.text
