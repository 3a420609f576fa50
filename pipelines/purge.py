"""Delete all data derived from texts that an index no longer contains.

The current version contains none of it, because it is built from the remaining documents. Older versions do, and so
does the memo, which caches results. Both are purged here, and no byte of the data remains in the files.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.pipelines.steps.descriptions import STAGE as SUMMARISE
from conspectus.pipelines.steps.extract.llm import CHUNK_STEPS
from conspectus.pipelines.steps.extract.nlp import STAGE as EXTRACT
from conspectus.pipelines.steps.extract.openie import NER, TRIPLES
from conspectus.pipelines.steps.reports.llm import STAGE as REPORT
from conspectus.pipelines.steps.vectors import STAGE as EMBED
from conspectus.prompts.client.reply_cache import KIND as REPLY
from conspectus.prompts.client.reply_cache import step_source
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.storage.errors import IndexBusy, IndexUnusable
from conspectus.storage.hashing import digest
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import MEMO
from conspectus.storage.memo import Memo
from conspectus.storage.publishing import Pruned, build_lock, prune
from conspectus.storage.records import Chunk, Document, Entity, Relation, Report
from conspectus.storage.settings import EmbeddingSettings, Settings
from conspectus.storage.text.embedded import (
    chunk_windows,
    description_text,
    entity_text,
    predicate_texts,
    relation_text,
    report_text,
)

INDEXING = (*CHUNK_STEPS, NER, TRIPLES, SUMMARISE, REPORT)
"""Steps of a build, for whose replies all sources are known; for the replies of an answer only some are."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What was deleted: old versions, and results in the memo by kind."""

    pruned: Pruned
    forgotten: dict[str, int]


def purge(root: Path, settings: Settings) -> Purged:
    """Delete from the folder of an index everything made from texts that the current version does not contain.

    All other versions are deleted. The memo retains the vectors of the texts of this version, the extraction results of
    its chunks, and the replies of builds that depend on its chunks alone; cached answers are deleted. The memo is then
    rewritten, so that no byte of the deleted data remains in it.

    Args:
        root: The folder of the index.
        settings: Settings; `embedding_server` matters if an endpoint made the vectors.

    Returns:
        What was deleted.

    Raises:
        IndexNotFound: There is no index.
        IndexBusy: A build locks the index, or a server still answers from an older version.
        IndexUnusable: Another process uses the memo, or the memo contains results of an unknown kind.
    """
    with build_lock(root):
        pruned = prune(root)
        if pruned.in_use:
            raise IndexBusy(
                f"a server still answers from {', '.join(pruned.in_use)}, which hold what is to be purged: "
                "it changes to the new version within seconds, or stop it; then run the command again"
            )
        path = root / MEMO
        if not path.is_file():
            return Purged(pruned, {})
        memo = Memo(path)
        forgotten = _forget_others(memo, StoredIndex.open(root), settings)
        memo.compact()
        return Purged(pruned, forgotten)


def _forget_others(memo: Memo, index: StoredIndex, settings: Settings) -> dict[str, int]:
    """Delete results that were made of anything that a version does not hold, and return their number by kind.

    Raises IndexUnusable if the memo contains results of an unknown kind.
    """
    chunks = frozenset(digest(chunk.text) for chunk in index.rows(Chunk))
    forgotten = {}
    for kind in memo.kinds():
        if kind.startswith(f"{EMBED} "):
            forgotten[kind] = memo.forget_all_but(kind, _embedded(index, settings))
        elif kind == EXTRACT:
            forgotten[kind] = memo.forget_made_from_others(kind, chunks)
        elif kind == REPLY:
            forgotten[kind] = memo.forget_made_from_others(kind, chunks, {step_source(step) for step in INDEXING})
        else:
            raise IndexUnusable(f"the memo {memo.path} holds {kind!r}, which is unknown to this program; delete it")
    return forgotten


def _embedded(index: StoredIndex, settings: Settings) -> Iterator[str]:
    """Yield the keys of the vectors that a build of this version looks up."""
    model = EmbeddingSettings.of_manifest(index.manifest.settings["embedding"])
    embedder = open_embedder(model, settings.embedding_server)
    for text in _texts(index):
        for piece in embedder.windows(text):
            yield digest(piece)


def _texts(index: StoredIndex) -> Iterator[str]:
    document_of = {document.id: document for document in index.rows(Document)}
    entities: Sequence[Entity] = index.rows(Entity)
    relations: Sequence[Relation] = index.rows(Relation)
    name_of = {entity.id: entity.name for entity in entities}
    for chunk in index.rows(Chunk):
        yield from chunk_windows(chunk, document_of[chunk.document_id])
    for entity in entities:
        yield entity_text(entity)
        yield description_text(entity)
    for relation in relations:
        yield relation_text(relation, name_of)
    yield from predicate_texts(relations)
    for report in index.rows(Report):
        yield report_text(report)
    yield ""  # gives the dimension of vectors
