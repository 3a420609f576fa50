"""Conversations as parts of a corpus: messages on one subject, what the first asks or proposes, and how the last ends.

A conversation is described by its subject, its authors and number of messages, the sentence of its first message that
asks or proposes something, and the last later sentence that decides something.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import regex
from conspectus.query.answer_writing.excerpts import Excerpt, word_count
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.overview.sentences import statements_of
from conspectus.storage.records import Document
from conspectus.storage.structure.mail_threads import is_message, sent_at, thread_of
from conspectus.storage.structure.outline import DocumentOutline

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
        who = f" of {', '.join(writers[:_NAMED])}" if writers else ""
        more = f" and {len(writers) - _NAMED} more" if len(writers) > _NAMED else ""
        return f"{len(self.messages)} message{'s' if len(self.messages) > 1 else ''}{who}{more}"


_NAMED = 3


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
