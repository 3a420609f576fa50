"""The corpus in themes: the title of each part of the documents, its contents, and sentences about it.

One long document is described by its sections, several documents by one theme each, many documents in groups, messages
by their conversations. Each kind gets themes by its share of the characters, so that a mailbox does not hide a manual.
Corpora without headings and with few documents lack such structure; global search then reads their reports.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import regex
from conspectus.query.answer_writing.excerpts import Excerpt
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.overview.parts import EVERYWHERE, FEWEST_PARTS, OverviewPart, divided, short
from conspectus.query.methods.graphrag.overview.sentences import telling_sentence
from conspectus.query.methods.graphrag.overview.threads import Thread, threads_of, told
from conspectus.query.question.question import open_question
from conspectus.storage.structure.outline import DocumentOutline, outline

PARTS = (8, 12, 18, 24)
"""Most parts at the levels c0, c1, c2 and c3."""
_BRIEF, _DETAILED = 0.5, 2.0
"""Factor for the number of parts if a question asks for few or for many details."""
_DETAILED_LEVEL = 2
_TOLD_OF_GROUP = 2
"""Sentences of a group, from different documents."""
_NAMED = 3
"""Sections or documents that name a part, in addition to its own title."""

_BRIEFLY = regex.compile(
    r"\b(?:brief\w*|short\w*|concise\w*|one sentence|kurz\w*|knapp\w*|brièvement|court\w*|breve\w*|corto)\b", regex.I
)
_IN_DETAIL = regex.compile(
    r"\b(?:in (?:\w+ )?detail|detailed|thorough\w*|comprehensive\w*|ausführlich\w*|detailliert\w*|genau|en détail"
    r"|détaillée?|en detalle|detallad[oa])\b",
    regex.I,
)


@dataclass(frozen=True, slots=True)
class Theme:
    """A part of the corpus, and sentences about it.

    Attributes:
        title: Its title.
        parts: Its contents: titles, the longest first, or authors with their numbers of messages.
        statements: The sentences.
    """

    title: str
    parts: tuple[str, ...]
    statements: tuple[Excerpt, ...]

    @property
    def heading(self) -> str:
        """The title and the contents."""
        return f"{self.title} ({', '.join(self.parts)})" if self.parts else self.title


def themes(context: Context, question: str, level: int) -> list[Theme]:
    """Return the themes of the documents, in their order; empty if they have too little structure.

    Args:
        context: The open index.
        question: The question. If it names documents, only these are described; words such as "briefly" and "in detail"
            lead to fewer or more themes.
        level: The level of detail; 0 for the fewest themes.
    """
    most = most_themes(question, level)
    in_detail = level >= _DETAILED_LEVEL or _IN_DETAIL.search(question) is not None
    threads, documents = threads_of(context, _documents(context, question))
    room = _room_of_threads(threads, documents, most)
    parts = divided(context, documents, most - room, others=len(threads), in_detail=in_detail) if most > room else []
    if len(parts) + len(threads) < FEWEST_PARTS:
        return []
    found, said = [], set[str]()
    for part in parts:
        statements: list[Excerpt] = []
        for one in part.inner if part.end == EVERYWHERE else (part,):
            sentence = telling_sentence(context, one, said) if len(statements) < _TOLD_OF_GROUP else None
            if sentence is not None:
                statements.append(sentence)
                said.add(sentence.text)
        if statements:
            found.append(Theme(short(part.title), _named(part), tuple(statements)))
    for thread in threads:
        statements = told(context, thread) if len(found) < most else []
        if statements:
            found.append(Theme(short(thread.subject), (thread.described,), tuple(statements)))
    return found if len(found) >= FEWEST_PARTS else []


def most_themes(question: str, level: int) -> int:
    """Return the maximum number of themes at a level, adjusted if the question asks for fewer or more."""
    most = PARTS[min(level, len(PARTS) - 1)]
    if _BRIEFLY.search(question):
        return max(FEWEST_PARTS, int(most * _BRIEF))
    return int(most * _DETAILED) if _IN_DETAIL.search(question) else most


def _room_of_threads(threads: Sequence[Thread], documents: Sequence[DocumentOutline], most: int) -> int:
    """Return the maximum number of conversation themes: by their share of characters, at least one of either kind."""
    if not threads or not documents:
        return most if threads else 0
    said = sum(thread.size[1] for thread in threads)
    share = said / max(said + sum(document.n_chars for document in documents), 1)
    return min(len(threads), max(1, min(most - 1, round(share * most))))


def _documents(context: Context, question: str) -> list[DocumentOutline]:
    """Return the outlines of the documents that a question names, or of all."""
    known = outline(context.index)
    named = {
        context.chunks[context.chunk_rows[id_]].document_id
        for name in open_question(context, question).linker.titles_in(question)
        for id_ in name.chunk_ids
    }
    return [document for document in known if document.document_id in named] or known


def _named(part: OverviewPart) -> tuple[str, ...]:
    """Return the names of a part other than its title: the longest of its sections, or its other documents."""
    inner = part.inner[1:] if part.end == EVERYWHERE else sorted(part.inner, key=lambda item: -item.n_chars)
    named = tuple(dict.fromkeys(short(item.title) for item in inner if item.title != part.title))
    more = len(named) - _NAMED
    return (*named[:_NAMED], f"+{more}") if more > 0 else named
