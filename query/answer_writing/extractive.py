"""Extractive reading without a language model: an answer quotes and cites excerpts of the passages.

Nothing is invented: the answer consists of the documents' own sentences, list items, table rows and code, or says that
it does not know. From top to bottom: the excerpts of the passages (`excerpts`) are scored against the question,
excerpts that together answer it are chosen within a word limit, the text needed to understand them is added, the best
are extended by the next sentence, and everything is shown in reading order, each with its citation.

The score of an excerpt is

    cosine of its label and text with the question
    + the share of the question's words (by idf) in it, and `_CONTEXT` of those that only its context contains
    - a small penalty for each rank of its passage

where the context is the document's title, the headings above it, its label and the question that it answers.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, pairwise
from math import ceil, fsum, log2

from conspectus.query.answer_writing.excerpts import ROWS, Excerpt, Part, excerpts, without_fences
from conspectus.query.answer_writing.short_answer import short_answer
from conspectus.query.answer_writing.support import declined, term_weights, unsupported
from conspectus.query.answering import Assembly, assembling
from conspectus.query.citations.numbered import Citations
from conspectus.query.context import Context
from conspectus.query.question.kinds import kind_of
from conspectus.query.question.parts import parts_of
from conspectus.query.question.question import open_question
from conspectus.query.types import Answer, Evidence, Passage, Retriever, Say, Step
from conspectus.storage.arrays import Vectors
from conspectus.storage.locators import sections_at
from conspectus.storage.records import Span
from conspectus.storage.text.names import words
from conspectus.storage.text.normalise import title_names

_MOST_ENCODED = 40
"""The number of excerpts that are embedded: those with most of the question's words, context included."""
_CONTEXT = 0.8
"""Weight of a question word that only the context contains, relative to a word in the excerpt."""
_RELATED = 0.6
"""Weight of a word that begins like a word of the question: "backups" and "backed up", "sichern" and "Sicherung"."""
_LEAST_PREFIX = 5
_PREFIX_SHARE = 0.6
_RANK = 0.06
"""Penalty of an excerpt for each doubling of its passage's rank."""
_BRIDGE = 0.5
"""Bonus of an excerpt whose passage is about something that an earlier quote names and the question does not."""
_COVERED = 0.3
"""The share of its weight that a word of the question loses once a chosen quote contains it."""
_WORTH_ADDING = 0.5
"""The smallest gain of a further excerpt, as a share of the gain of the first one."""
_MOST_WORDS = 150
"""The most words of prose that an answer quotes; the best excerpt is quoted at any length."""
_WITH_NEXT = 3
"""Number of best excerpts that are quoted with the next of their paragraph, which often continues them."""
_MOST_OF_OPENING = 60
"""The most words of a section that are shown before a step of a procedure."""
_NEXT_WITHIN = 3
"""The most characters between an excerpt and the next one."""
_LEAST_WORDS = 3
"""A sentence or item with fewer words is not quoted for its own sake ("Definitely.", "See below.")."""
_OF_A_PART = 4
"""Number of passages added for each part of a question that asks for several things."""
_REPEATS = 0.7
"""An excerpt that shares more than this share of its words with a chosen one repeats it."""

_Held = tuple[float, int, Excerpt, frozenset[str], frozenset[str]]
"""Words of the question in an excerpt, less the rank penalty; its position; itself; the stems in it and its context."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A scored excerpt.

    Attributes:
        excerpt: The excerpt.
        cosine: The cosine of its label and text with the question.
        covers: The stems of the question in the excerpt.
        near: The stems of the question that only its context contains.
        score: Larger is better; comparable within one question only.
        by_part: The score for each part of the question alone, if it has several.
        behind: The next excerpt in the same paragraph or list.
        opening: If a procedure is asked for and the section's heading contains a word of the question, the excerpts
        from
            the section's beginning to this one.
    """

    excerpt: Excerpt
    cosine: float
    covers: frozenset[str]
    near: frozenset[str]
    score: float
    by_part: tuple[float, ...] = ()
    behind: Excerpt | None = None
    opening: tuple[Excerpt, ...] = ()

    @property
    def text(self) -> str:
        """The text of the excerpt itself."""
        return self.excerpt.text

    @property
    def span(self) -> Span:
        """The span of the excerpt itself."""
        return self.excerpt.span


class ExtractiveReader:
    """Answers with excerpts of the passages of a retriever."""

    def __init__(self, name: str, context: Context, retriever: Retriever) -> None:
        self._name = name
        self._context = context
        self._retriever = retriever

    async def answer(self, question: str, say: Say) -> Answer:
        """Return up to `answer.sentences` excerpts that together answer the question, in reading order."""
        with assembling(question, self._name) as assembly:
            evidence = await self._retriever.retrieve(question, self._context.settings.answer.passages)
            return quote_evidence(assembly, self._context, await self._with_parts(question, evidence), say)

    async def _with_parts(self, question: str, evidence: Evidence) -> Evidence:
        """Return evidence extended by the best passages for each part of a question that asks for several things."""
        parts = parts_of(question)
        if len(parts) == 1:
            return evidence
        passages = {passage.chunk_id: passage for passage in evidence.passages}
        for part in parts:
            for passage in (await self._retriever.retrieve(part, _OF_A_PART)).passages:
                passages.setdefault(passage.chunk_id, passage)
        step = Step("parts", f"{len(passages) - len(evidence.passages)} more passages for its {len(parts)} parts")
        return replace(evidence, passages=tuple(passages.values()), trace=(*evidence.trace, step))


def quote_evidence(assembly: Assembly, context: Context, evidence: Evidence, say: Say) -> Answer:
    """Return the answer that quotes the passages of the evidence, all of them read.

    It quotes up to `answer.sentences` excerpts that together answer the question; without enough support it declines.
    The retrieval steps are added to the trace.
    """
    question = assembly.question
    quotes = quotes_for(context, question, evidence.passages)
    reason = unsupported(context, question, quotes)
    chosen = [] if reason else choose(context, question, quotes, context.settings.answer.sentences)
    citations = Citations(context)
    lines = list(shown(citations, chosen))
    text = "\n".join(lines) or declined(context, question, evidence.passages)
    say(text)
    assembly.add(*evidence.trace)
    assembly.step("read", reason or f"{len(chosen)} of {len(quotes)} excerpts quoted")
    return assembly.assemble(
        text,
        citations=citations.made(),
        evidence=evidence,
        dropped_citations=citations.dropped,
        span=short_answer(context, question, [quote.span for quote in chosen]) if lines else "",
    )


def quotes_for(context: Context, question: str, passages: Sequence[Passage]) -> list[Quote]:
    """Return the excerpts with most of the question's words, scored.

    Args:
        context: The open index.
        question: The question.
        passages: The passages, best first.

    Returns:
        The quotes, in the order of the passages and of reading.
    """
    weights = term_weights(context, question)
    beginnings: defaultdict[str, list[str]] = defaultdict(list)
    for term in weights:
        beginnings[term[:_LEAST_PREFIX]].append(term)
    found: list[_Held] = []
    every = excerpts(context, passages)
    read = sorted(every, key=lambda excerpt: (excerpt.span.document_id, excerpt.span.start))
    behind = {id(excerpt): after for excerpt, after in pairwise(read) if _adjoin(excerpt, after)}
    opening = _openings(context, every, beginnings) if kind_of(question) == "how to" else {}
    for excerpt in every:
        if excerpt.kind in ("sentence", "item") and len(excerpt.text.split()) < _LEAST_WORDS:
            continue
        row = context.chunk_rows[excerpt.passage.chunk_id]
        own = _matches(beginnings, context.bm25.analysis.terms(excerpt.text, row))
        title = " ".join((excerpt.passage.title, *excerpt.context))
        above = _matches(beginnings, context.bm25.analysis.terms(title, row))
        held = fsum(
            weights[term] * max(own.get(term, 0.0), _CONTEXT * above.get(term, 0.0)) for term in own.keys() | above
        )
        covers = frozenset(own)
        found.append((held - _RANK * log2(excerpt.rank + 1), len(found), excerpt, covers, frozenset(above) - covers))
    found = sorted(sorted(found, key=lambda item: (-item[0], item[1]))[:_MOST_ENCODED], key=lambda item: item[1])
    found = _best_rows(found)
    if not found:
        return []
    embedder = context.embedder
    vectors: Vectors = embedder.embed([embedder.windows(_labelled(excerpt))[0] for _, _, excerpt, _, _ in found])
    cosines = vectors @ open_question(context, question).vector
    parts = parts_of(question)
    part_cosines = [vectors @ open_question(context, part).vector for part in parts] if len(parts) > 1 else []
    part_weights = [term_weights(context, part) for part in parts]
    return [
        Quote(
            excerpt,
            float(cosines[row]),
            covers,
            near,
            float(cosines[row]) + held,
            tuple(
                float(cosine[row])
                + fsum(weight for term, weight in of_part.items() if term in covers)
                + _CONTEXT * fsum(weight for term, weight in of_part.items() if term in near)
                for cosine, of_part in zip(part_cosines, part_weights, strict=False)
            ),
            behind.get(id(excerpt)),
            opening.get(id(excerpt), ()),
        )
        for row, (held, _, excerpt, covers, near) in enumerate(found)
    ]


def _best_rows(found: Sequence[_Held]) -> list[_Held]:
    """Return the excerpts without table rows whose match is a subset of another row's."""
    tables: dict[tuple[str, ...], list[frozenset[str]]] = {}
    for _, _, excerpt, covers, _ in found:
        if excerpt.kind in ROWS:
            tables.setdefault((excerpt.passage.chunk_id, *excerpt.context), []).append(covers)
    return [
        item
        for item in found
        if item[2].kind not in ROWS
        or not any(item[3] < covers for covers in tables[item[2].passage.chunk_id, *item[2].context])
    ]


def _adjoin(excerpt: Excerpt, after: Excerpt) -> bool:
    """Return whether one excerpt directly continues another, with no blank line between them.

    The next passage of the document may begin between them. Rows do not continue each other.
    """
    gap = after.span.start - excerpt.span.end
    if excerpt.span.document_id != after.span.document_id or not 0 <= gap <= _NEXT_WITHIN:
        return False
    if not ROWS.isdisjoint((excerpt.kind, after.kind)):
        return False
    passage = excerpt.passage if after.passage is excerpt.passage else after.passage
    between = passage.text[max(0, excerpt.span.end - passage.start) : after.span.start - passage.start]
    return "\n\n" not in between and (passage.start <= excerpt.span.end or gap <= 1)


def _openings(
    context: Context, every: Sequence[Excerpt], beginnings: Mapping[str, Sequence[str]]
) -> dict[int, tuple[Excerpt, ...]]:
    """Return the excerpts before each one in its section, if the heading contains a word of the question.

    They have up to `_MOST_OF_OPENING` words together; if there are more, the excerpt is quoted alone.
    """
    found: dict[int, tuple[Excerpt, ...]] = {}

    def section(excerpt: Excerpt) -> tuple[str, tuple[str, ...]]:
        headings = sections_at(context.places_of(excerpt.span.document_id), excerpt.span.start)
        return excerpt.passage.chunk_id, headings

    for (chunk_id, headings), group in groupby(every, section):
        row = context.chunk_rows[chunk_id]
        if not headings or not _matches(beginnings, context.bm25.analysis.terms(headings[-1], row)):
            continue
        before: list[Excerpt] = []
        length = 0
        for excerpt in group:
            if before and length <= _MOST_OF_OPENING:
                found[id(excerpt)] = tuple(before)
            before.append(excerpt)
            length += len(excerpt.text.split())
    return found


def _matches(beginnings: Mapping[str, Sequence[str]], terms: Sequence[str]) -> dict[str, float]:
    """Return a question's stems, given by their first letters, among terms: 1 if equal, `_RELATED` if related."""
    found: dict[str, float] = {}
    for stem in set(terms):
        for term in beginnings.get(stem[:_LEAST_PREFIX], ()):
            if term == stem:
                found[term] = 1.0
            elif _related(term, stem):
                found.setdefault(term, _RELATED)
    return found


def _related(term: str, other: str) -> bool:
    """Return whether two words share a prefix of at least five letters and 60 % of the shorter one."""
    length = min(len(term), len(other))
    least = max(_LEAST_PREFIX, ceil(_PREFIX_SHARE * length))
    return length >= least and term[:least] == other[:least]


def _labelled(excerpt: Excerpt) -> str:
    """Return the text of an excerpt, preceded by its label."""
    label = excerpt.context[-1] if excerpt.context else excerpt.passage.title
    return f"{label}: {excerpt.text}" if label else excerpt.text


def _keys(text: str) -> frozenset[str]:
    return frozenset(word.key for word in words(text))


def choose(context: Context, question: str, quotes: Sequence[Quote], count: int) -> list[Quote]:
    """Choose up to `count` quotes greedily by their gain over those already chosen, best first.

    If a question asks for several things, the best quote for each comes first. The gain of any other is its score,
    less `_COVERED` times the weights of the words that chosen quotes already cover, plus a bonus for the second hop
    if the passage is about something that a chosen quote names and the question does not. A quote that repeats a chosen
    one is left out, as is one that would make the answer longer than `_MOST_WORDS`.
    """
    weights = term_weights(context, question)
    chosen: list[Quote] = []
    for part in range(len(parts_of(question)) if len(parts_of(question)) > 1 else 0):
        best = max(quotes, key=lambda quote: quote.by_part[part], default=None)
        if best is not None and not any(best is quote or _repeats(best, quote) for quote in chosen):
            chosen.append(best)
    covered = {term for quote in chosen for term in quote.covers}
    left = [quote for quote in quotes if quote not in chosen]
    first = max((quote.score for quote in quotes), default=0.0) if chosen else 0.0
    length = sum(map(_length, chosen))
    while left and len(chosen) < count:
        named = " ".join(_as_words(quote.text) for quote in chosen)
        gain = {
            id(quote): quote.score
            - _COVERED * fsum(weights[term] for term in quote.covers & covered)
            + _BRIDGE * _is_bridge(quote, named, _as_words(question))
            for quote in left
        }
        best = min(left, key=lambda quote: (-gain[id(quote)], quote.span.document_id, quote.span.start))
        first = first or gain[id(best)]
        if gain[id(best)] < _WORTH_ADDING * first:
            break
        left.remove(best)
        words_more = _length(best)
        if chosen and (length + words_more > _MOST_WORDS or any(_repeats(best, quote) for quote in chosen)):
            continue
        chosen.append(best)
        length += words_more
        covered |= best.covers
    return _with_next(chosen)


def _with_next(chosen: Sequence[Quote]) -> list[Quote]:
    """Return the quotes, best first, within `_MOST_WORDS`; the first `_WITH_NEXT` include their surroundings."""
    taken: list[Quote] = []
    length = 0
    for place, quote in enumerate(chosen):
        if taken and length + _length(quote) > _MOST_WORDS:
            continue
        if place < _WITH_NEXT:
            parts = [part for excerpt in quote.opening for part in excerpt.shown]
            parts += [*quote.excerpt.shown, *(quote.behind.shown if quote.behind else ())]
            longer = replace(quote, excerpt=replace(quote.excerpt, shown=tuple(parts)))
            quote = longer if length + _length(longer) <= _MOST_WORDS else quote
        taken.append(quote)
        length += _length(quote)
    return taken


def _is_bridge(quote: Quote, named: str, question: str) -> bool:
    names = [_as_words(name) for name in title_names(quote.excerpt.passage.title)]
    return any(name.strip() and name in named and name not in question for name in names)


@lru_cache(maxsize=1_000)  # the same titles are looked up for each quote that is chosen
def _as_words(text: str) -> str:
    """Return the words of a text joined and surrounded by spaces, for substring search by whole words."""
    return f" {' '.join(word.key for word in words(text))} "


def _length(quote: Quote) -> int:
    """Return the number of words that a quote shows, without code."""
    return sum(len(part.text.split()) for part in quote.excerpt.shown if part.kind != "code")


def _repeats(quote: Quote, other: Quote) -> bool:
    """Return whether a quote adds few words to another."""
    own, theirs = _keys(quote.text), _keys(other.text)
    return len(own & theirs) > _REPEATS * min(len(own), len(theirs))


def shown(citations: Citations, chosen: Sequence[Quote]) -> Iterator[str]:
    """Yield the lines of an answer: the chosen quotes with the text that belongs to them, in reading order, with
    citations.

    Documents come in the order of their best quote. Text shared by several quotes, such as the introduction of a list,
    is shown once. Adjoining parts share one citation.
    """
    order = {quote.span.document_id: place for place, quote in reversed(list(enumerate(chosen)))}
    told: list[Span] = []
    for quote in sorted(chosen, key=lambda quote: (order[quote.span.document_id], _beginning(quote), quote.span.start)):
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
