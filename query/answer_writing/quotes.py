"""The statements of passages, each with the probability that it answers a question: what a reader may quote.

Lists belong together: an item that says nothing of the question answers with all items of its list, and what stands
under the opposite of a heading is left out.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np
from conspectus.query.answer_writing.asked import NEGATION, Asked, asked_of
from conspectus.query.answer_writing.comparison import parts_asked
from conspectus.query.answer_writing.excerpts import MESSAGE, ROWS, Excerpt, excerpts, word_count
from conspectus.query.answer_writing.features import (
    OF_MEANING,
    STATEMENT_FEATURES,
    Held,
    Meanings,
    held_by,
    statement_features,
)
from conspectus.query.answer_writing.support import reader_weights
from conspectus.query.context import Context
from conspectus.query.types import Passage
from conspectus.storage.arrays import Floats
from conspectus.storage.locators import sections_at
from conspectus.storage.records import Span
from conspectus.storage.text.names import word_keys

_MOST_ENCODED = 40
"""The number of excerpts that are embedded: those with most of the question's words, context included."""
_SETS = frozenset({"what", "who", "other", "how many"})
"""Kinds of questions that a whole list may answer."""
_MOST_OF_OPENING = 60
"""The most words of a section that are shown before a step of a procedure."""
_NEXT_WITHIN = 3
"""The most characters between an excerpt and the next one."""
_LEAST_WORDS = 3
"""A sentence, line or item with fewer words is not quoted for its own sake ("Definitely.", "See below.")."""
_ABOUT_ORDERS = re.compile(r"instruct|prompt|inject|ignore|anweisung|consigne|instrucci", re.IGNORECASE)
"""Words of questions about orders to a language model, which are otherwise not quoted."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A scored excerpt.

    Attributes:
        excerpt: The excerpt.
        held: What it has of the question.
        features: Its features (`ranker.STATEMENT_FEATURES`).
        score: The logit of the probability that it answers the question.
        by_part: The same excerpt as a quote for each part of the question alone, if it has several.
        behind: The next excerpt in the same paragraph or list.
        opening: If a procedure is asked for and the section's heading contains a word of the question, the excerpts
            from the section's beginning to this one.
        whole: If it is an item that has no word of the question, all items of its list: what leads to the list is
            about the question, so each of them answers.
    """

    excerpt: Excerpt
    held: Held
    features: Floats
    score: float
    by_part: "tuple[Quote, ...]" = ()
    behind: Excerpt | None = None
    opening: tuple[Excerpt, ...] = ()
    whole: tuple[Excerpt, ...] = ()

    @property
    def covers(self) -> frozenset[str]:
        """The stems of the question in the excerpt."""
        return self.held.covers

    @property
    def near(self) -> frozenset[str]:
        """The stems of the question that only its context contains, or of which it contains another form."""
        return self.held.near | self.held.related

    @property
    def has_kind(self) -> bool:
        """Whether it has a date, number, name or reason, as the question asks for."""
        return bool(self.features[STATEMENT_FEATURES.index("has the kind")])

    @property
    def defines(self) -> bool:
        """Whether it says what the thing is that the question asks about."""
        return bool(self.features[STATEMENT_FEATURES.index("definition")])

    @property
    def cosine(self) -> float:
        """The cosine of its label and text with the question."""
        return float(self.features[STATEMENT_FEATURES.index("cosine")])

    @property
    def text(self) -> str:
        """The text of the excerpt itself."""
        return self.excerpt.text

    @property
    def span(self) -> Span:
        """The span of the excerpt itself."""
        return self.excerpt.span


def quotes_for(context: Context, question: str, passages: Sequence[Passage]) -> list[Quote]:
    """Return the excerpts with most of the question's words, each with the probability that it answers.

    Args:
        context: The open index.
        question: The question.
        passages: The passages, best first.

    Returns:
        The quotes, in the order of the passages and of reading.
    """
    asked = asked_of(context, question)
    every = excerpts(context, passages, orders=bool(_ABOUT_ORDERS.search(question)), dates=asked.kind == "when")
    every = _of_asked_side(context, asked, every) if asked.kind in _SETS else every
    read = sorted(every, key=lambda excerpt: (excerpt.span.document_id, excerpt.span.start))
    behind = {id(excerpt): after for excerpt, after in pairwise(read) if _adjoin(excerpt, after)}
    opening = _openings(context, every, asked) if asked.kind == "how to" else {}
    lists = _lists(every)
    brief = ("sentence", "item") if asked.kind == "when" else ("sentence", "line", "item")
    every = [
        each
        for each in every
        if each.kind not in brief
        or any(word_count(one.text) >= _LEAST_WORDS for one in (each, *lists.get(id(each), ())))
    ]
    if not every:
        return []
    held = held_by(context, asked, every)
    model = reader_weights(asked.by_many_languages).statement
    drafted = model.logits(statement_features(asked, every, held, np.zeros((len(every), OF_MEANING))))
    kept = _without_poorer_rows(every, held, sorted((-drafted).argsort(kind="stable")[:_MOST_ENCODED].tolist()))
    every, held = [every[row] for row in kept], [held[row] for row in kept]
    meanings = Meanings(context, every) if asked.understood or asked.by_many_languages else None

    def features_for(asked: Asked, held: Sequence[Held]) -> Floats:
        return statement_features(
            asked, every, held, meanings.of(asked) if meanings else np.zeros((len(every), OF_MEANING))
        )

    features = features_for(asked, held)
    scores = model.logits(features).tolist()
    by_part = []
    for part in parts_asked(context, question):
        of_part = asked_of(context, part)
        has = held_by(context, of_part, every)
        own = features_for(of_part, has)
        by_part.append(list(map(Quote, every, has, own, model.logits(own).tolist())))
    return [
        Quote(
            excerpt,
            held[row],
            features[row],
            scores[row],
            tuple(part[row] for part in by_part),
            behind.get(id(excerpt)) if excerpt.kind != "item" or asked.kind == "how to" else None,
            opening.get(id(excerpt), ()),
            lists.get(id(excerpt), ())
            if asked.kind in _SETS and (excerpt.kind != "item" or held[row].covers <= asked.names)
            else (),
        )
        for row, excerpt in enumerate(every)
    ]


def _lists(every: Sequence[Excerpt]) -> dict[int, tuple[Excerpt, ...]]:
    """Return for each item of a list with a heading or introduction, and for this, all items, by its identity."""

    def place(excerpt: Excerpt) -> tuple[bool, str, tuple[str, ...]]:
        return excerpt.kind == "item", excerpt.passage.chunk_id, excerpt.context

    found: dict[int, tuple[Excerpt, ...]] = {}
    before: Excerpt | None = None
    for (is_item, _, above), group in groupby(every, place):
        items = tuple(group)
        if is_item and above and len(items) > 1:
            found |= dict.fromkeys(map(id, items), items)
            if before is not None and before.text == above[-1]:
                found[id(before)] = items
        before = items[-1]
    return found


def _of_asked_side(context: Context, asked: Asked, every: Sequence[Excerpt]) -> list[Excerpt]:
    """Return the excerpts without those under the opposite of a heading about the same ("Not included" of "Included").

    Two headings or introductions of a document are opposite if both have a word of the question, and one says "not" or
    has the opposite of a word. What stands before a colon introduces the rest of its line.
    """
    leads: dict[int, str] = {}
    sides: dict[tuple[str, str], bool] = {}
    for excerpt in every:
        row = context.chunk_rows[excerpt.passage.chunk_id]
        label, _, more = excerpt.text.partition(":")
        for lead in (*([label] if more else []), *reversed(excerpt.context)):
            if lead and not asked.weights.keys().isdisjoint(context.bm25.analysis.terms(lead, row)):
                opposite = NEGATION.search(lead) or not asked.opposites.isdisjoint(word_keys(lead))
                sides[excerpt.span.document_id, lead] = bool(opposite) != asked.negated
                leads[id(excerpt)] = lead
                break
    both = {document for (document, _), other in sides.items() if other}
    both &= {document for (document, _), other in sides.items() if not other}
    return [
        excerpt
        for excerpt in every
        if excerpt.span.document_id not in both or not sides.get((excerpt.span.document_id, leads.get(id(excerpt), "")))
    ]


def _without_poorer_rows(every: Sequence[Excerpt], held: Sequence[Held], rows: Sequence[int]) -> list[int]:
    """Return the excerpts without table rows whose match is a subset of another row's."""
    tables: dict[tuple[str, ...], list[frozenset[str]]] = {}
    for row in rows:
        if every[row].kind in ROWS:
            tables.setdefault((every[row].passage.chunk_id, *every[row].context), []).append(held[row].covers)
    return [
        row
        for row in rows
        if every[row].kind not in ROWS
        or not any(held[row].covers < covers for covers in tables[every[row].passage.chunk_id, *every[row].context])
    ]


def _adjoin(excerpt: Excerpt, after: Excerpt) -> bool:
    """Return whether one excerpt directly continues another, with no blank line between them.

    The next passage of the document may begin between them. Rows do not continue each other.
    """
    if "line" in (excerpt.kind, after.kind) and not MESSAGE.match(after.text):
        return False  # a line of notes or of a log says something of its own
    gap = after.span.start - excerpt.span.end
    if excerpt.span.document_id != after.span.document_id or not 0 <= gap <= _NEXT_WITHIN:
        return False
    if not ROWS.isdisjoint((excerpt.kind, after.kind)):
        return False
    passage = excerpt.passage if after.passage is excerpt.passage else after.passage
    between = passage.text[max(0, excerpt.span.end - passage.start) : after.span.start - passage.start]
    return "\n\n" not in between and (passage.start <= excerpt.span.end or gap <= 1)


def _openings(context: Context, every: Sequence[Excerpt], asked: Asked) -> dict[int, tuple[Excerpt, ...]]:
    """Return the excerpts before each one in its section, if the heading contains a word of the question.

    They have up to `_MOST_OF_OPENING` words together; if there are more, the excerpt is quoted alone.
    """
    found: dict[int, tuple[Excerpt, ...]] = {}

    def section(excerpt: Excerpt) -> tuple[str, tuple[str, ...]]:
        headings = sections_at(context.places_of(excerpt.span.document_id), excerpt.span.start)
        return excerpt.passage.chunk_id, headings

    for (chunk_id, headings), group in groupby(every, section):
        row = context.chunk_rows[chunk_id]
        if not headings or asked.weights.keys().isdisjoint(context.bm25.analysis.terms(headings[-1], row)):
            continue
        before: list[Excerpt] = []
        length = 0
        for excerpt in group:
            is_option = excerpt.text.startswith("-")  # of a command: no step of a procedure
            if before and length <= _MOST_OF_OPENING and not is_option:
                found[id(excerpt)] = tuple(before)
            before.append(excerpt)
            length += word_count(excerpt.text)
    return found
