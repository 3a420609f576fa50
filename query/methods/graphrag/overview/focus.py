"""What the corpus says about a subject: the most relevant statements of the parts that mention it.

1. passages    the best by words and by meaning (`ppr/seeds.py`)
2. statements  those that together answer, chosen as for any other question (`answer_writing/extractive`)
3. themes      the parts that they are in, the best first: top-level sections of documents, or conversations
"""

import numpy as np
import regex
from conspectus.query.answer_writing.excerpts import Excerpt
from conspectus.query.answer_writing.extractive import choose
from conspectus.query.answer_writing.quotes import quotes_for
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.overview.parts import APART, FEWEST_PARTS, short
from conspectus.query.methods.graphrag.overview.themes import Theme, most_themes
from conspectus.query.methods.ppr.seeds import text_scores
from conspectus.query.question.kinds import LANGUAGES, kind_of
from conspectus.query.question.question import open_question
from conspectus.storage.records import Document
from conspectus.storage.structure.mail_threads import is_message, thread_of
from conspectus.storage.structure.outline import outline, sections_of
from conspectus.storage.text.language import language_of_question, unknown_to_encoder

QUOTED_WORDS = 150  # at most: a paragraph of about ten sentences
_PASSAGES = 30
"""Number of passages considered."""
_REASONS = regex.compile(
    r"\b(?:reasons?|causes?|gründe|raisons|razones)\b.{0,40}?\b(?:for|of|to|why|für|warum|de|pour|por|para)\s+(?P<what>.{3,})",
    regex.I,
)
_ABOUT = regex.compile(
    r"\b(?:about|regarding|concerning|on the (?:subject|topic) of|über|zum thema|bezüglich|au sujet de|à propos de"
    r"|sobre|acerca de)\s+(?P<what>[^?!]{3,120})",
    regex.I,
)


def is_focused(question: str) -> bool:
    """Return whether a question asks what the corpus says about a subject, not what the corpus is about.

    >>> is_focused("Summarize what the documents say about tides."), is_focused("What are the documents about?")
    (True, False)
    """
    found = _ABOUT.search(question)
    if found is not None and kind_of(f"What is {found['what']} about?") != "global":
        return True
    return kind_of(question) != "global"


def _subject(question: str) -> str:
    """Return the subject of a question about the corpus: "tides" of "What is said about tides?"."""
    found = _ABOUT.search(question) or _REASONS.search(question)
    return found["what"].strip(" .?!") if found else question


def has_parts(context: Context) -> bool:
    """Return whether the documents have distinguishable parts: several documents, or sections of one."""
    if context.index.manifest.rows["documents"] >= FEWEST_PARTS:
        return True
    return sum(1 for document in outline(context.index) for _ in document.walk()) >= FEWEST_PARTS


def focused_themes(context: Context, question: str, level: int) -> list[Theme]:
    """Return what the parts of the documents say about the subject of a question, the nearest first.

    Args:
        context: The open index.
        question: The question.
        level: The level of detail; 0 for the fewest themes.
    """
    subject = _subject(question)
    passages = [context.passage(row, 1 / rank) for rank, row in enumerate(_best_rows(context, subject), start=1)]
    quotes = [each for each in quotes_for(context, subject, passages) if each.excerpt.kind != "code"]
    if not any(each.held.told for each in quotes) and _is_foreign(context, question):
        return []
    documents = documents_by_id(context)
    told: dict[tuple[str, str], list[Excerpt]] = {}
    for each in choose(context, subject, quotes, most_themes(question, level)):
        name = _part_of(documents[each.span.document_id], each.span.start)
        if not APART.match(name[1]):
            told.setdefault(name, []).extend(each.whole or (each.excerpt,))
    return [Theme(*_titled(name), tuple(statements)) for name, statements in told.items()]


def _is_foreign(context: Context, question: str) -> bool:
    """Return whether a question is in no language of the documents, and in none that the encoder supports."""
    known = context.bm25.analysis.known
    language = language_of_question(question, tuple(dict.fromkeys((*known, *LANGUAGES))))
    if not language or language in known:
        return False
    return bool(unknown_to_encoder(context.index.manifest.settings["embedding"]["model"], [language]))


def _best_rows(context: Context, question: str) -> list[int]:
    """Return the rows of the passages that are nearest to a question, by words and by meaning."""
    near = text_scores(context, open_question(context, question))
    best: list[int] = near.rows[np.argsort(-near.scores, kind="stable")[:_PASSAGES]].tolist()
    return best


def _part_of(document: Document, at: int) -> tuple[str, str]:
    """Return the title or subject of a document and the top-level section at an offset."""
    if is_message(document):
        return thread_of(document)[0], ""
    sections = sections_of(document.places, document.n_chars)
    while len(sections) == 1 and sections[0].sections:  # a single heading over all others is the title
        sections = sections[0].sections
    return document.title or document.uri, next((each.title for each in sections if each.start <= at < each.end), "")


def _titled(name: tuple[str, str]) -> tuple[str, tuple[str, ...]]:
    title, section = (short(part) for part in name)
    return title, (section,) if section and section != title else ()
