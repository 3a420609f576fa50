"""Whoever reads much of an index can be stopped while reading it."""

from collections.abc import Callable
from concurrent.futures import CancelledError
from contextvars import copy_context

import pytest
from conspectus.query.context import Context
from conspectus.storage.cancellation import Cancellation
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Entity
from conspectus.storage.text.postings import PostingsMaker, TextColumn

READS: dict[str, Callable[[Context], object]] = {
    "a row": lambda context: context.index.each(Chunk)[0],
    "rows": lambda context: list(context.index.each(Chunk)),
    "a table": lambda context: context.index.rows(Entity),
    "names": lambda context: list(TextColumn(lambda: context.index.arrow(Entity, "name").column("name"))),
    "words of names": lambda _: PostingsMaker().add("ferry", 1),
    "vectors of texts": lambda context: context.embedder.embed(["The ferry leaves at six."]),
}


@pytest.mark.parametrize("what", READS)
def test_what_nobody_waits_for_any_more_is_not_read(what: str, sample_context: Context) -> None:
    opened = Context(StoredIndex.open(sample_context.index.root), sample_context.settings)
    READS[what](opened)

    def read() -> None:
        stopped = Cancellation()
        stopped.enter()
        stopped.cancel()
        with pytest.raises(CancelledError):
            READS[what](Context(StoredIndex.open(opened.index.root), opened.settings))

    copy_context().run(read)
