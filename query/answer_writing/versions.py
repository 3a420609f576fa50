"""Statements of several documents that belong together: a rule and what amends it, and an older and a newer document
about the same.

Nothing is retired silently: both are quoted, the later one first. A document has the date of its metadata, else the one
in its title, its name or its first lines.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import regex
from conspectus.query.answer_writing.asked import Asked
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.context import Context
from conspectus.storage.records import Document
from conspectus.storage.text.dates import DATE, KEYS
from conspectus.storage.text.literals import parse_literal

if TYPE_CHECKING:
    from conspectus.query.answer_writing.quotes import Quote

_CHANGES = regex.compile(
    r"\b(?:replac\p{L}+|repeal\p{L}*|struck|delet\p{L}+|amend\p{L}+|insert\p{L}+|supersed\p{L}+|revok\p{L}+|no longer"
    r"|ersetz\p{L}+|aufgehoben|gestrichen|geändert|eingefügt|entfällt|remplac\p{L}+|abrog\p{L}+|supprim\p{L}+|modifi\p{L}+"
    r"|sustitu\p{L}+|derog\p{L}+|suprim\p{L}+|замен\p{L}+|отмен\p{L}+|исключ\p{L}+)\b|改为|废止|删除|修改",
    regex.I,
)
"""Words of a statement that changes another one."""
_CLAUSE = regex.compile(
    r"(?:\b(?:sections?|clauses?|articles?|paragraphs?|rules?|items?|points?|art\.|abschnitt|ziffer|artikel|klausel|absatz"
    r"|punkt|cláusula|artículo|apartado|пункт\p{L}*|стать\p{L}+)|§+|第)\s?(?P<number>\d+(?:\.\d+)*)",
    regex.I,
)
_OWN_NUMBER = regex.compile(r"(?P<number>\d+(?:\.\d+)+)\s")
_HEAD = 300
"""Characters at the beginning of a document in which its date is looked for."""
_CLOSE = 2.0
"""The most by which the logit of a later statement is below that of the best one, unless it is asked what holds now."""


def with_versions(context: Context, asked: Asked, quotes: "Sequence[Quote]", chosen: "list[Quote]") -> "list[Quote]":
    """Return the chosen quotes after those that change the best ones, or say it later."""
    if not chosen:
        return chosen
    changes = [
        quote
        for quote in quotes
        if quote not in chosen[:1]
        and _CHANGES.search(quote.text)
        and any(_clauses(each) & _cited(quote.text) and each is not quote for each in chosen)
    ]
    later = changes[:2] or [quote for quote in quotes if _says_later(context, asked, quote, chosen[0])][:1]
    return [*later, *(quote for quote in chosen if quote not in later)]


def _clauses(quote: "Quote") -> set[str]:
    """Return the numbers of the clauses that a quote is in."""
    own = _OWN_NUMBER.match(quote.text)
    return {found["number"] for text in quote.excerpt.context for found in _CLAUSE.finditer(text)} | (
        {own["number"]} if own else set()
    )


def _cited(text: str) -> set[str]:
    return {found["number"] for found in _CLAUSE.finditer(text)}


def _says_later(context: Context, asked: Asked, quote: "Quote", best: "Quote") -> bool:
    """Return whether a later document answers as well as the best quote, with an answer of the same kind."""
    if quote.span.document_id == best.span.document_id:
        return False
    told, names = quote.held.told & best.held.told, best.held.told & asked.names
    rarest = max(best.held.told, key=lambda term: asked.rarity[term], default="")
    if quote.score < best.score - _CLOSE and not (asked.of_now and rarest in told):
        return False
    if not quote.has_kind or not told or not names <= told:
        return False
    documents = documents_by_id(context)
    own, other = (date_of(documents[each.span.document_id]) for each in (quote, best))
    return own is not None and other is not None and own > other


def date_of(document: Document) -> float | None:
    """Return the day of a document, counted from 1 January of the year 1; None if it names none."""
    stated = [document.metadata[key] for key in KEYS if key in document.metadata]
    for text in (*stated, document.title, document.uri.rpartition("/")[2], document.text[:_HEAD]):
        days = [value for found in DATE.finditer(text) if (value := parse_literal(found[0]))]
        if days:
            return max(value.day[0] if value.day else value.low for value in days)
    return None
