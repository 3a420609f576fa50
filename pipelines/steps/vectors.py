"""Embed texts, with a cache by text: a vector depends only on its own text and the model.

Servers do not guarantee that. The cache does: a text that was embedded once keeps its vector, bit for bit.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress, islice
from pathlib import Path

import numpy as np
from conspectus.pipelines.runner import Runner, driver_of, shards
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.storage.appended_array import AppendedArray
from conspectus.storage.arrays import Ints, Rows, Vectors, distinct
from conspectus.storage.errors import IndexUnusable, SettingsError
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Document, Entity, Relation, Report
from conspectus.storage.searched_texts import SearchedTexts
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings
from conspectus.storage.spilled import documents_of_chunks
from conspectus.storage.tables import ROWS_AT_ONCE, arrow_of, batches_of, rows_of_ends, taken
from conspectus.storage.text.embedded import (
    chunk_windows,
    description_text,
    entity_text,
    predicate_texts,
    relation_text,
    report_text,
)
from conspectus.storage.text.tokens import count_each

STAGE = "embed"
MOST_EMBEDDED = 10_000
"""Maximum number of entities of an imported graph alone whose names get a vector: those with most relations."""
_TOKENS_A_SHARD = 30_000
"""Tokens of a task: some seconds of encoding, so that a failure costs little and progress is visible."""
_SHORT, _CHARACTERS_A_TOKEN = 100, 5
"""Characters of a name or statement, whose tokens are estimated: to count them takes .03 ms, as much as all else that
shards of names cost, and 12,000 names take the encoder 32 s either way."""
_TEXTS_AT_ONCE = 20_000
"""Texts whose vectors are in memory together."""
_VECTORS_AT_ONCE = 10_000
"""Vectors read from the memo at once."""
_ROUNDS_A_SHARD = 4
"""Requests of a server's shard for each concurrent one, because few are in flight at the end of a shard."""


def vector_kind(embedder: str) -> str:
    """Return the cache kind of an embedder's vectors, given its name."""
    return f"{STAGE} {embedder}"


def rows_to_embed(entities: Sequence[Entity], most_of_graph: int) -> Rows:
    """Return the rows of entities, sorted by id, that get a vector: those in texts, and the best connected others."""
    table = arrow_of(Entity, entities, ["frequency", "degree"])
    frequency, degree = (column.to_numpy() for column in table.columns)
    alone = np.flatnonzero(frequency == 0)
    best = alone[np.argsort(-degree[alone], kind="stable")[:most_of_graph]]
    return np.sort(np.concatenate([np.flatnonzero(frequency), best]))


def _at(rows: Rows, entities: Sequence[Entity]) -> Iterator[Entity]:
    """Yield the entities of some rows, ascending."""
    wanted = np.zeros(len(entities), np.bool_)
    wanted[rows] = True
    return compress(entities, wanted.tolist())


def _stated_texts(entities: Sequence[Entity], relations: Sequence[Relation]) -> Iterator[str]:
    """Yield the texts of the relations that documents state; the names of a block of them are in memory together."""
    names = arrow_of(Entity, entities, ["id", "name"])
    table = arrow_of(Relation, relations, ["source_id", "target_id"])
    ends = [rows.astype(np.int32) for rows in rows_of_ends(table, names["id"])]
    batches, waiting = batches_of(names), iter(relations)
    for start in range(0, len(relations), ROWS_AT_ONCE):
        rows = distinct(np.concatenate([rows[start : start + ROWS_AT_ONCE] for rows in ends]))
        found = taken(names, rows.astype(np.int64), batches)
        name_of = dict(zip(*(column.to_pylist() for column in found.columns), strict=True))
        block = islice(waiting, ROWS_AT_ONCE)
        yield from (relation_text(relation, name_of) for relation in block if relation.chunk_ids)


def texts_of_chunks(documents: Sequence[Document], chunks: Sequence[Chunk]) -> SearchedTexts:
    """Return the searched text of each chunk: under its document's title and headings."""
    return SearchedTexts(chunks, documents, documents_of_chunks(documents, chunks))


def windows_of_chunks(documents: Sequence[Document], chunks: Sequence[Chunk]) -> Iterator[list[str]]:
    """Yield the embedded texts of each chunk, at least one."""
    of_chunk = documents_of_chunks(documents, chunks)
    return (chunk_windows(chunk, documents[row]) for chunk, row in zip(chunks, of_chunk, strict=True))


@dataclass(frozen=True, slots=True)
class Windows:
    """Vectors (n, d) float32, and the table row of each (long texts have several windows)."""

    vectors: Vectors
    rows: Ints

    def first(self) -> Vectors:
        """Return the first window's vector of each text."""
        first = np.unique(self.rows, return_index=True)[1]
        return self.vectors if len(first) == len(self.rows) else self.vectors[first]

    def at(self, rows: Sequence[int] | Ints) -> "Windows":
        """Return the same vectors for other rows: those of row i now belong to `rows[i]`, ascending."""
        return Windows(self.vectors, np.asarray(rows, np.int64)[self.rows])


@dataclass(frozen=True, slots=True)
class Embedding:
    """Embeds the texts of a build with its cache and runner."""

    model: EmbeddingSettings
    server: EmbeddingServerSettings
    memo: Memo
    run: Runner

    def windows(self, texts: Iterable[str], step: str) -> Windows:
        """Return the vectors of all texts, longer ones in overlapping windows, in the order of the texts.

        Those of many texts are mapped from an unnamed file beside the memo. ModelRefused or ModelUnavailable if a
        server fails: the shards done until then remain cached.
        """
        embedder = open_embedder(self.model, self.server)
        sizes = array("q")

        def blocks() -> Iterator[Vectors]:
            waiting = iter(texts)
            while block := list(islice(waiting, _TEXTS_AT_ONCE)):
                pieces = [embedder.windows(text) for text in block]
                sizes.extend(map(len, pieces))
                yield self._embed([piece for item in pieces for piece in item], embedder.name, step)

        vectors = self._joined(blocks())
        if vectors is None:  # the empty text is embedded to learn the dimension
            vectors = self._embed([""], embedder.name, step)[:0]
        return Windows(vectors, np.repeat(np.arange(len(sizes), dtype=np.int64), np.array(sizes, np.int64)))

    def _joined(self, blocks: Iterator[Vectors]) -> Vectors | None:
        """Return one block as it is, several mapped from a file; None if there is none."""
        some = list(islice(blocks, 2))
        if len(some) < 2:
            return some[0] if some else None
        dimension = some[0].shape[1]
        joined = AppendedArray(self.memo.path.parent, np.float32)
        while some:
            joined.append(some.pop(0).ravel())
            some += islice(blocks, 1)
        return joined.array().reshape(-1, dimension)

    def first_windows(self, texts: Sequence[str], step: str) -> Vectors:
        """Return the vector of the first window of each text, one row a text."""
        return self.windows(texts, step).first()

    def chunks(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Windows:
        """Return the vectors of the windows of chunks, by the chunks' rows."""
        sizes = array("q")

        def texts() -> Iterator[str]:
            for windows in windows_of_chunks(documents, chunks):
                sizes.append(len(windows))
                yield from windows

        found = self.windows(texts(), "embed chunks")
        return found.at(np.repeat(np.arange(len(sizes), dtype=np.int64), np.array(sizes, np.int64)))

    def entities(self, entities: Sequence[Entity], most_of_graph: int) -> Windows:
        """Return the vectors of names by the rows of `entities` that get one (see `rows_to_embed`)."""
        rows = rows_to_embed(entities, most_of_graph)
        return self.windows(map(entity_text, _at(rows, entities)), "embed entities").at(rows)

    def descriptions(self, entities: Sequence[Entity], most_of_graph: int) -> Windows:
        """Return the vectors of names with descriptions, of the same rows as `entities`."""
        rows = rows_to_embed(entities, most_of_graph)
        return self.windows(map(description_text, _at(rows, entities)), "embed descriptions").at(rows)

    def relations(self, entities: Sequence[Entity], relations: Sequence[Relation]) -> Windows:
        """Return the vectors of the relations that documents state, by their rows."""
        from pyarrow import compute

        stated = compute.list_value_length(arrow_of(Relation, relations, ["chunk_ids"])["chunk_ids"]).to_numpy() > 0
        return self.windows(_stated_texts(entities, relations), "embed relations").at(np.flatnonzero(stated))

    def predicates(self, relations: Sequence[Relation]) -> Windows:
        """Return the vectors of the distinct predicates, in their order."""
        return self.windows(predicate_texts(relations), "embed predicates")

    def reports(self, reports: Sequence[Report]) -> Windows:
        """Return the vectors of reports."""
        return self.windows(map(report_text, reports), "embed reports")

    def _embed(self, texts: Sequence[str], name: str, step: str) -> Vectors:
        kind = vector_kind(name)
        keys = [digest(text) for text in texts]
        text_of = dict(zip(keys, texts, strict=True))
        pending = [text_of[key] for key in self.memo.missing(kind, keys)]
        work = partial(embed_shard, model=self.model, server=self.server, memo_path=self.memo.path)
        run = self.run if self.model.provider == "local" else driver_of(self.run)
        run(step, work, self._shards(pending))
        vectors: Vectors | None = None
        missing: set[str] = set()
        for start in range(0, len(keys), _VECTORS_AT_ONCE):  # each block of the memo's bytes is freed
            part = keys[start : start + _VECTORS_AT_ONCE]
            found = self.memo.get_many(kind, part)
            missing.update(key for key in part if key not in found)
            sizes = {len(value) / 4 for value in found.values()} | (
                {vectors.shape[1]} if vectors is not None else set()
            )
            if len(sizes) > 1 or not all(map(float.is_integer, map(float, sizes))):
                raise IndexUnusable(
                    f"the memo {self.memo.path} holds vectors of {min(sizes):g} and {max(sizes):g} numbers of {name}: "
                    f"its server has another model under this name now; delete the memo to embed everything again"
                )
            if vectors is None and found:
                vectors = np.empty((len(keys), int(sizes.pop())), np.float32)
            if vectors is not None and not missing:
                vectors[start : start + len(part)] = [np.frombuffer(found[key], np.float32) for key in part]
        if missing or vectors is None:
            raise SettingsError(
                f"{len(missing):,} texts got no vector named {name}: the workers of build.runner name "
                "theirs otherwise (an encoder in bytes needs a processor that multiplies them exactly); use equal ones"
            )
        return vectors

    def _shards(self, texts: Sequence[str]) -> Sequence[Sequence[str]]:
        if self.model.provider == "local":
            return shards_by_length(texts)
        size = _ROUNDS_A_SHARD * self.server.concurrency * self.server.batch_size
        return shards(sorted(texts, key=lambda text: (len(text), text)), size)


def shards_by_length(texts: Sequence[str]) -> list[list[str]]:
    """Split texts, sorted by length, into runs of about `_TOKENS_A_SHARD` tokens.

    The encoder batches texts of equal length, so a shard of similar lengths fills its batches. There are thousands of
    short texts in a shard, which fill them without being counted exactly.
    """
    counts = iter(count_each(text for text in texts if len(text) > _SHORT))
    tokens = [next(counts) if len(text) > _SHORT else len(text) // _CHARACTERS_A_TOKEN + 1 for text in texts]
    order = sorted(range(len(texts)), key=lambda i: (tokens[i], len(texts[i]), texts[i]))
    parts: list[list[str]] = []
    room = 0
    for i in order:
        if room <= 0:
            parts.append([])
            room = _TOKENS_A_SHARD
        parts[-1].append(texts[i])
        room -= tokens[i] + 2  # special tokens around each text
    return parts


def embed_shard(
    texts: Sequence[str], model: EmbeddingSettings, server: EmbeddingServerSettings, memo_path: Path
) -> int:
    """Embed texts into the memo and return their number."""
    embedder = open_embedder(model, server)
    vectors = embedder.embed(texts)
    results = {digest(text): vector.tobytes() for text, vector in zip(texts, vectors, strict=True)}
    Memo(memo_path).put_many(vector_kind(embedder.name), results)
    return len(texts)
