"""Links from a message to the message that it answers.

They come from message ids (In-Reply-To, References; RFC 5322, section 3.6.4). Without ids the subject decides, as in
Zawinski's threading (jwz.org/doc/threading.html): "Re: Budget" answers the last earlier message with that subject.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

from conspectus.storage.records import Document
from conspectus.storage.structure.corpus import Corpus, FoundLink, folder_of

_PREFIXES = re.compile(
    r"(?:\s*(?:\[[^\]]{0,50}\]|(?:re|aw|fwd?|wg|sv|vs|antw|tr|rv|r|ref)\s*(?:\[\d+\])?\s*[:：]))+\s*", re.I
)
_ANSWER = re.compile(r"^(?:\s*\[[^\]]{0,50}\])*\s*(?:re|aw|sv|antw|r|ref)\s*(?:\[\d+\])?\s*[:：]", re.I)


def replies(corpus: Corpus) -> Iterator[FoundLink]:
    """Yield a link from each message to the one that it answers, if that is in the index."""
    messages = [*filter(is_message, corpus.every())]
    by_id = {message.metadata["message_id"]: message for message in messages if "message_id" in message.metadata}
    by_subject: defaultdict[tuple[str, str], list[tuple[datetime, str, Document]]] = defaultdict(list)
    for message in messages:
        sent = sent_at(message)
        if sent is not None:
            by_subject[thread_of(message)[1]].append((sent, message.id, message))
    for group in by_subject.values():
        group.sort(key=lambda entry: entry[:2])
    for message in messages:
        named = [*message.metadata.get("in_reply_to", "").split(), *reversed(_references(message))]
        answered = next((by_id[id_] for id_ in named if id_ in by_id and by_id[id_].id != message.id), None)
        if answered is None and _ANSWER.match(message.title):
            sent, group = sent_at(message), by_subject[thread_of(message)[1]]
            before = bisect_left(group, (sent, ""), key=lambda entry: entry[:2]) if sent else 0
            answered = group[before - 1][2] if before else None
        if answered is not None:
            yield FoundLink("reply", corpus.chunks(message)[0], corpus.chunks(answered)[0], answered.title)


def is_message(document: Document) -> bool:
    """Return whether a document is a message: it has a message id, or a sender, a date and a subject."""
    known = document.metadata
    return "message_id" in known or ("from" in known and "date" in known and bool(document.title))


def _references(message: Document) -> list[str]:
    return message.metadata.get("references", "").split()


def thread_of(message: Document) -> tuple[str, tuple[str, str]]:
    """Return the subject of a message without "Re:", and the key shared by the messages of its conversation.

    The key is their folder or mailbox, and the subject.
    """
    box = message.uri.partition("#")[0] if "#" in message.uri else folder_of(message)
    subject = _PREFIXES.sub("", message.title, count=1) if _PREFIXES.match(message.title) else message.title
    subject = " ".join(subject.split())
    return subject or message.title, (box, subject.casefold())


def sent_at(message: Document) -> datetime | None:
    """Return when a message was sent; None if it has no readable date."""
    try:
        sent = datetime.fromisoformat(message.metadata.get("date", ""))
    except ValueError:
        return None
    return sent if sent.tzinfo else sent.replace(tzinfo=UTC)
