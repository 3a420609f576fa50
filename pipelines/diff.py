"""Predict what an update of an index would rebuild."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conspectus.pipelines.build_plan import plan_build, source_of
from conspectus.pipelines.estimation.estimate import estimate_plan
from conspectus.pipelines.estimation.totals import Estimate
from conspectus.pipelines.remote_index.shared_memo import open_memo_reader
from conspectus.pipelines.steps.chunks import split_documents
from conspectus.pipelines.steps.extract.nlp import unannotated
from conspectus.pipelines.steps.vectors import vector_kind, windows_of_chunks
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.storage.hashing import digest
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import MEMO
from conspectus.storage.memo import Memo
from conspectus.storage.records import Document
from conspectus.storage.settings import Settings

_SHOWN = 20
"""Maximum number of uris listed for each kind of change."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The documents with one kind of change: their number, and the first uris."""

    count: int
    uris: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What `build_index` with the same arguments would find changed, and what it would redo.

    Attributes:
        index: The folder of the index.
        unchanged: A build would do nothing.
        new: Documents that the index does not have. A renamed file without its own id counts as gone and new.
        changed: Documents of the same id with another text, title, uri or metadata.
        gone: Documents that the input no longer has.
        same: Number of unchanged documents.
        unreadable: Number of files and rows that cannot be read.
        chunks: Number of chunks of the input.
        extract: Number of distinct chunk texts without a cached annotation; None if a model extracts, whose calls
            `estimate` counts.
        embed: Number of distinct chunk texts without a vector; those of names, relations and reports are not known
            in advance.
        other_settings: The index was made with other settings, so more is redone than the changed documents.
        estimate: The model calls that the build would make.
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
    estimate: Estimate


def preview(inputs: Sequence[str | Path], index: Path, settings: Settings) -> Preview:
    """Return what an update of the index to these inputs would redo. Nothing is written, and no server is called.

    Args:
        inputs: As for `build_index`.
        index: The folder of the index, which need not exist.
        settings: Settings of the build.

    Raises:
        InputError, UsageError: As for `build_index`.
    """
    plan = plan_build(source_of(inputs, settings), index, settings)
    current, settings = plan.current, plan.settings
    before = {document.id: document for document in (StoredIndex(index, current).rows(Document) if current else ())}
    now = {document.id: document for document in plan.documents}
    same = {id_ for id_, document in now.items() if id_ in before and _content(document) == _content(before[id_])}
    chunks = split_documents(plan.documents, settings.chunks)
    memo = open_memo_reader(index / MEMO, shares=settings.build.share_results)
    return Preview(
        index=index,
        unchanged=plan.is_unchanged,
        new=_changes([document for document in plan.documents if document.id not in before]),
        changed=_changes([now[id_] for id_ in now if id_ in before and id_ not in same]),
        gone=_changes([document for id_, document in before.items() if id_ not in now]),
        same=len(same),
        unreadable=len(plan.failures),
        chunks=len(chunks),
        extract=None if settings.extracts_with else len(unannotated(plan.documents, chunks, settings.extraction, memo)),
        embed=_without_vector(list(windows_of_chunks(plan.documents, chunks)), settings, memo),
        other_settings=current is not None and current.settings != plan.index_settings,
        estimate=estimate_plan(plan, settings, chunks),
    )


def _changes(documents: Sequence[Document]) -> Changes:
    return Changes(len(documents), tuple(document.uri for document in documents[:_SHOWN]))


def _content(document: Document) -> tuple[object, ...]:
    return (document.sha256, document.title, document.uri, dict(document.metadata))


def _without_vector(windows: Sequence[Sequence[str]], settings: Settings, memo: Memo) -> int:
    embedder = open_embedder(settings.embedding, settings.embedding_server)
    keys = {digest(piece) for texts in windows for text in texts for piece in embedder.windows(text)}
    return len(memo.missing(vector_kind(embedder.name), keys))


def summary(made: Preview) -> dict[str, Any]:
    """Return a preview as plain values, as the command line prints it with --json."""
    return {**asdict(made), "index": str(made.index), "estimate": {**asdict(made.estimate), "index": str(made.index)}}
