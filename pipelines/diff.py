"""What an update of an index would redo, before it is done: nothing is written, and nobody is asked."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conspectus.pipelines.estimation.estimate import Estimate, estimate_read
from conspectus.pipelines.plan import read_input
from conspectus.pipelines.steps.chunks import split_documents
from conspectus.pipelines.steps.extract.nlp import unannotated
from conspectus.pipelines.steps.vectors import STAGE as EMBED
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.storage.errors import UsageError
from conspectus.storage.hashing import digest
from conspectus.storage.index import Index
from conspectus.storage.manifest import MEMO, current_manifest
from conspectus.storage.memo_reader import MemoReader
from conspectus.storage.records import Chunk, Document
from conspectus.storage.settings import Settings
from conspectus.storage.text.embedded import chunk_text

_SHOWN = 20
"""Uris named of each kind of change."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Documents by what an update does with them: how many, and the uris of the first."""

    count: int
    uris: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What `build_index` with the same arguments would find changed, and what it would do about it.

    A document is `changed` where its id stays and its text, title, uri or metadata is another; a renamed file without
    an id of its own is gone and new. `extract` counts the different chunk texts of which nothing is remembered, None
    where `estimate` counts the calls; `embed` those of the chunks that have no vector yet: names, statements and
    reports come on top, and are not known before. `other_settings`: the index was made with other settings, so that
    more is redone than what changed. `estimate` says what models are asked.
    """

    index: Path
    unchanged: bool
    new: Changes
    changed: Changes
    gone: Changes
    same: int
    unreadable: int
    chunks: int
    extract: int | None
    embed: int
    other_settings: bool
    estimate: Estimate | None


def preview(inputs: Sequence[str | Path], index: Path, settings: Settings) -> Preview:
    """Return what an update of the index to these inputs would redo; errors as for `build_index`."""
    documents, failures = read_input(inputs, settings)
    current = current_manifest(index)
    opened = Index(index, current) if current else None
    held = {each.id: each for each in opened.rows(Document)} if opened else {}
    now = {each.id: each for each in documents}
    chunks = split_documents(documents, settings.chunks)
    memo = MemoReader(index / MEMO)
    try:
        made = estimate_read(documents, failures, index, settings, chunks=chunks)
    except UsageError:
        made = None  # extraction by openie has none
    return Preview(
        index=index,
        unchanged=made is not None and made.unchanged,
        new=_changes([each for each in documents if each.id not in held]),
        changed=_changes([each for each in documents if each.id in held and not _same(each, held[each.id])]),
        gone=_changes([each for id_, each in held.items() if id_ not in now]),
        same=sum(each.id in held and _same(each, held[each.id]) for each in documents),
        unreadable=len(failures),
        chunks=len(chunks),
        extract=None if settings.extracts_with else len(unannotated(chunks, settings.extraction, memo)),
        embed=_without_vector(chunks, now, settings, memo),
        other_settings=current is not None and current.settings != settings.of_the_index(),
        estimate=made,
    )


def _changes(documents: Sequence[Document]) -> Changes:
    return Changes(len(documents), tuple(each.uri for each in documents[:_SHOWN]))


def _same(one: Document, other: Document) -> bool:
    return (one.sha256, one.title, one.uri, dict(one.metadata)) == (
        other.sha256,
        other.title,
        other.uri,
        dict(other.metadata),
    )


def _without_vector(
    chunks: Sequence[Chunk], documents: dict[str, Document], settings: Settings, memo: MemoReader
) -> int:
    embedder = open_embedder(settings.embedding, settings.embedding_server)
    texts = {chunk_text(each, documents[each.document_id]) for each in chunks}
    keys = {digest(piece) for text in texts for piece in embedder.windows(text)}
    return len(memo.missing(f"{EMBED} {embedder.name}", keys))


def summary(made: Preview) -> dict[str, Any]:
    """Return a preview as plain values."""
    return {**asdict(made), "index": str(made.index), "estimate": _plain(made.estimate)}


def _plain(made: Estimate | None) -> dict[str, Any] | None:
    return None if made is None else {**asdict(made), "index": str(made.index)}
