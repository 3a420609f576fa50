"""Links from a message to the one that it answers.

Message ids tell it (In-Reply-To, References; RFC 5322, section 3.6.4). Without them the subject does, as in Zawinski's
threading (jwz.org/doc/threading.html): "Re: Budget" answers the last earlier message of that subject.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime

from conspectus.storage.records import Document
from conspectus.storage.structure.corpus import Corpus, Found, folder_of

_PREFIXES = re.compile(
    r"(?:\s*(?:\[[^\]]{0,50}\]|(?:re|aw|fwd?|wg|sv|vs|antw|tr|rv|r|ref)\s*(?:\[\d+\])?\s*[:：]))+\s*", re.I
)
_ANSWER = re.compile(r"^(?:\s*\[[^\]]{0,50}\])*\s*(?:re|aw|sv|antw|r|ref)\s*(?:\[\d+\])?\s*[:：]", re.I)


def replies(corpus: Corpus) -> Iterator[Found]:
    """Yield a link from each message to the one that it answers, if that is in the index."""
    messages = [document for document in corpus.documents if "message_id" in document.metadata or _is_mail(document)]
    by_id = {message.metadata["message_id"]: message for message in messages if "message_id" in message.metadata}
    by_subject: defaultdict[tuple[str, str], list[tuple[datetime, str, Document]]] = defaultdict(list)
    for message in messages:
        sent = _sent(message)
        if sent is not None:
            by_subject[_thread(message)].append((sent, message.id, message))
    for group in by_subject.values():
        group.sort(key=lambda entry: entry[:2])
    for message in messages:
        named = [*message.metadata.get("in_reply_to", "").split(), *reversed(_references(message))]
        answered = next((by_id[id_] for id_ in named if id_ in by_id and by_id[id_].id != message.id), None)
        if answered is None and _ANSWER.match(message.title):
            sent, group = _sent(message), by_subject[_thread(message)]
            before = bisect_left(group, (sent, ""), key=lambda entry: entry[:2]) if sent else 0
            answered = group[before - 1][2] if before else None
        if answered is not None:
            yield Found("reply", corpus.chunks(message)[0], corpus.chunks(answered)[0], answered.title)


def _is_mail(document: Document) -> bool:
    return "from" in document.metadata and "date" in document.metadata and bool(document.title)


def _references(message: Document) -> list[str]:
    return message.metadata.get("references", "").split()


def _thread(message: Document) -> tuple[str, str]:
    """Return what messages of one conversation share: their folder or mailbox, and the subject without "Re:"."""
    box = message.uri.partition("#")[0] if "#" in message.uri else folder_of(message)
    subject = _PREFIXES.sub("", message.title, count=1) if _PREFIXES.match(message.title) else message.title
    return box, " ".join(subject.casefold().split())


def _sent(message: Document) -> datetime | None:
    try:
        sent = datetime.fromisoformat(message.metadata.get("date", ""))
    except ValueError:
        return None
    return sent if sent.tzinfo else sent.replace(tzinfo=UTC)
