"""Units for tests that need no index."""

from conspectus.query.answer_writing.context_windows import Unit
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Report
from conspectus.storage.text.tokens import count_tokens


def passage(title: str, text: str) -> Unit:
    """A chunk as a unit."""
    tokens = count_tokens(text)
    chunk = Chunk(short_id(title, text), "d", 0, 0, len(text), text, tokens)
    return Unit(chunk, 0, title, text, tokens, 1.0, (chunk.id,))


def report(title: str, text: str) -> Unit:
    """A report as a unit."""
    full = f"# {title}\n\n{text}"
    row = Report(short_id(title, text), "c", 0, title, text, (), 5.0, full, count_tokens(full))
    return Unit(row, 0, title, full, row.n_tokens, 0.5, ())
