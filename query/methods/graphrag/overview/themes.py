"""The corpus in themes: the title of each part of the documents, its contents, and sentences about it.

One long document is described by its sections, several documents by one theme each, many documents in groups, messages
by their conversations. Each kind gets themes by its share of the characters, so that a mailbox does not hide a manual.
Corpora without headings and with few documents lack such structure; global search then reads their reports. A
conversation is described by its subject, its authors and number of messages, the sentence of its first message that
asks or proposes something, and the last later sentence that decides something.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import regex
from conspectus.query.answer_writing.excerpts import Excerpt, word_count
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.overview.parts import EVERYWHERE, FEWEST_PARTS, OverviewPart, divided, short
from conspectus.query.methods.graphrag.overview.sentences import statements_of, telling_sentence
from conspectus.query.question.question import open_question
from conspectus.storage.records import Document
from conspectus.storage.structure.mail_threads import is_message, sent_at, thread_of
from conspectus.storage.structure.outline import DocumentOutline, outline

_ASKS = regex.compile(
    r"\?|\b(?:patch|propos\w+|suggest\w*|would like|want(?:ed)? to|wonder\w*|should|could (?:we|you)|please|request\w*"
    r"|problem|fail\w*|error|noticed|tried|möchte\w*|bitte|vorschlag\w*|sollt\w*|voudrais|propose\w*|quisiera|propon\w*)\b",
    regex.I,
)
_DECIDES = regex.compile(
    r"\b(?:decided?|agreed?|applied|pushed|merged|committed|fixed|accepted|approved|rejected|resolved|confirmed|done"
    r"|works? now|I(?:'ve| have) \w+ed|will be|we(?:'ll| will)|beschlossen|entschieden|vereinbart|genehmigt|erledigt"
    r"|décidé|accepté|convenu|decidido|acordado|aprobado)\b",
    regex.I,
)


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation: its subject, its messages in the order in which they were sent, and the rows of their chunks."""

    subject: str
    messages: tuple[Document, ...]
    rows: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> tuple[int, int]:
        """The number of its messages and of its characters."""
        return len(self.messages), sum(message.n_chars for message in self.messages)

    @property
    def described(self) -> str:
        """The number of messages and their authors, in words."""
        names = dict.fromkeys(_name(message.metadata.get("from", "")) for message in self.messages)
        writers = [name for name in names if name]
        who = f" of {', '.join(writers[:_WRITERS_NAMED])}" if writers else ""
        more = f" and {len(writers) - _WRITERS_NAMED} more" if len(writers) > _WRITERS_NAMED else ""
        return f"{len(self.messages)} message{'s' if len(self.messages) > 1 else ''}{who}{more}"


_WRITERS_NAMED = 3


def threads_of(context: Context, documents: Sequence[DocumentOutline]) -> tuple[list[Thread], list[DocumentOutline]]:
    """Return the conversations among documents, the longest first, and the documents that belong to none.

    An attachment is part of its message.
    """
    known = documents_by_id(context)
    grouped: defaultdict[tuple[str, str], list[DocumentOutline]] = defaultdict(list)
    subjects: dict[tuple[str, str], str] = {}
    rest = []
    boxes = {each.uri for each in documents if is_message(known[each.document_id])}
    for each in documents:
        if each.uri in boxes:
            subject, key = thread_of(known[each.document_id])
            grouped[key].append(each)
            subjects.setdefault(key, subject)
        elif not any(each.uri.startswith(f"{above}/") for above in _above(each.uri) & boxes):
            rest.append(each)
    found = []
    for key, members in grouped.items():
        ordered = sorted(members, key=lambda each: (_when(known[each.document_id]), each.uri))
        messages = tuple(known[each.document_id] for each in ordered)
        found.append(Thread(subjects[key], messages, tuple(each.chunk_rows for each in ordered)))
    return sorted(found, key=lambda thread: (*(-size for size in thread.size), thread.subject)), rest


def _when(message: Document) -> float:
    sent = sent_at(message)
    return sent.timestamp() if sent else 0.0


def _above(uri: str) -> set[str]:
    steps = uri.split("/")
    return {"/".join(steps[:at]) for at in range(1, len(steps))}


def _name(sender: str) -> str:
    return sender.partition("<")[0].strip(" \"'") or sender.strip("<> ")


def told(context: Context, thread: Thread) -> list[Excerpt]:
    """Return the sentence in which the first message asks or states something, and the last deciding sentence."""
    by_message = [list(filter(_is_spoken, statements_of(context, rows, questions=True))) for rows in thread.rows]
    opening = next((found for found in by_message if found), [])
    if not opening:
        return []
    asked = next((each for each in opening if _ASKS.search(each.text)), opening[0])
    later = [each for found in by_message[1:] for each in found if each.span.document_id != asked.span.document_id]
    decided = [each for each in later if _DECIDES.search(each.text) and not each.text.endswith("?")]
    last = decided[-1:] or [each for each in later if not each.text.endswith("?")][:1]
    return [asked, *last]


_GREETING = regex.compile(
    r"^(?:hi|hello|dear|thanks|thank you|regards|cheers|welcome|hallo|liebe\w*|bonjour|hola)\b", regex.I
)
_SPOKEN_WORDS = (6, 60)


def _is_spoken(statement: Excerpt) -> bool:
    fewest, most = _SPOKEN_WORDS
    is_told = statement.kind in ("sentence", "question") and not _GREETING.match(statement.text)
    return is_told and fewest <= word_count(statement.text) <= most


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
