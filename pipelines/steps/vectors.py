"""Texts to vectors, remembered by text: a vector depends on its own text and the model only."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pipelines.runner import Runner
from prompts.embedder import open_embedder
from storage.hashing import digest
from storage.memo import Memo
from storage.records import Chunk, Document, Entity, Relation, Report
from storage.text.tokens import count_each

STAGE = "embed"
_TOKENS_A_SHARD = 30_000
"""A task's work: some seconds of encoding, so that little is lost with it and progress can be seen."""


def entity_text(entity: Entity) -> str:
    """Return what stands for an entity: its name alone, so that synonym edges compare names."""
    return entity.name


def relation_text(relation: Relation, names: dict[str, str]) -> str:
    """Return a relation as a short sentence."""
    return f"{names[relation.source_id]} {relation.predicate} {names[relation.target_id]}"


def chunk_text(chunk: Chunk, document: Document) -> str:
    """Return a chunk under its document's title, which often holds the name that the text leaves out."""
    return f"{document.title}\n{chunk.text}" if document.title else chunk.text


def report_text(report: Report) -> str:
    """Return a report's title and most central sentence: what a question is compared with."""
    return f"{report.title}. {report.findings[0].explanation}"


@dataclass(frozen=True, slots=True)
class Windows:
    """Vectors (n, d) float32, and for each the table row it belongs to (long texts have several windows)."""

    vectors: npt.NDArray[np.float32]
    rows: npt.NDArray[np.int64]

    def first(self) -> npt.NDArray[np.float32]:
        """Return the first window's vector of each text."""
        return self.vectors[np.unique(self.rows, return_index=True)[1]]


def embed_windows(texts: Sequence[str], model: str, memo: Memo, run: Runner, step: str) -> Windows:
    """Return the vectors of all texts, longer ones in overlapping windows, in the order of the texts."""
    embedder = open_embedder(model)
    pieces = [embedder.windows(text) for text in texts]
    rows = np.repeat(np.arange(len(texts), dtype=np.int64), [len(each) for each in pieces])
    return Windows(_embed([piece for each in pieces for piece in each], model, memo, run, step), rows)


def _embed(texts: Sequence[str], model: str, memo: Memo, run: Runner, step: str) -> npt.NDArray[np.float32]:
    embedder = open_embedder(model)
    if not texts:
        return np.zeros((0, embedder.dimension), np.float32)
    kind = f"{STAGE} {embedder.name}"
    keys = [digest(text) for text in texts]
    text_of = dict(zip(keys, texts, strict=True))
    pending = [text_of[key] for key in memo.missing(kind, keys)]
    run(step, partial(embed_shard, model=model, memo_path=memo.path), shards_by_length(pending))
    found = memo.get_many(kind, keys)
    return np.stack([np.frombuffer(found[key], np.float32) for key in keys])


def shards_by_length(texts: Sequence[str]) -> list[list[str]]:
    """Cut texts, sorted by length, into runs of about `_TOKENS_A_SHARD` tokens.

    The encoder takes texts of one length together, so a shard of like lengths fills its passes.
    """
    tokens = count_each(texts)
    order = sorted(range(len(texts)), key=lambda i: (tokens[i], texts[i]))
    parts: list[list[str]] = []
    room = 0
    for i in order:
        if room <= 0:
            parts.append([])
            room = _TOKENS_A_SHARD
        parts[-1].append(texts[i])
        room -= tokens[i] + 2  # the marks that the encoder puts around each text
    return parts


def embed_shard(texts: Sequence[str], model: str, memo_path: Path) -> int:
    """Embed texts into the memo and return how many."""
    embedder = open_embedder(model)
    vectors = embedder.embed(texts)
    results = {digest(text): vector.tobytes() for text, vector in zip(texts, vectors, strict=True)}
    Memo(memo_path).put_many(f"{STAGE} {embedder.name}", results)
    return len(texts)
