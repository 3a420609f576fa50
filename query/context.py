"""The context of a method: one open index, its embedder, the language model and the settings."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from conspectus.prompts.embedding.embedder import Embedder, open_embedder
from conspectus.prompts.model import LanguageModel
from conspectus.query.types import Passage
from conspectus.storage.hashing import digest
from conspectus.storage.index import Index, per_index
from conspectus.storage.locators import described
from conspectus.storage.records import Chunk, Document, Place
from conspectus.storage.settings import EmbeddingSettings, Settings

if TYPE_CHECKING:
    from conspectus.storage.text.bm25 import Bm25
    from conspectus.storage.vectors.windowed import WindowedIndex


@dataclass(frozen=True, slots=True)
class Context:
    """An index open for questions. Read-only, and safe to share between threads."""

    index: Index
    settings: Settings
    narrowed: str = ""
    """What the index was narrowed to, in words; "" where it is whole."""

    def __str__(self) -> str:
        """Return the folder, the version, the filter if there is one, and the numbers of documents and passages."""
        rows = self.index.manifest.rows
        counts = f"{rows['documents']:,} documents, {rows['chunks']:,} passages"
        version = f"version {self.index.manifest.version}"
        return ", ".join(filter(None, (repr(str(self.index.root)), version, self.narrowed, counts)))

    @property
    def embedder(self) -> Embedder:
        """The embedder of the index's vectors (not the one in the current settings); a server's address is current."""
        manifest = self.index.manifest
        made_with = EmbeddingSettings.of_manifest(manifest.settings["embedding"])
        return open_embedder(made_with, self.settings.embedding_server, int(manifest.models["dimension"]))

    @property
    def model(self) -> LanguageModel | None:
        """The language model of the settings, or None; its replies are cached with the index."""
        if not self.settings.llm.model:
            return None
        from conspectus.prompts.client.client import open_client

        return open_client(self.settings.llm, self.index.root / "cache" / "memo.sqlite")

    @property
    def chunk_vectors(self) -> "WindowedIndex":
        """The vectors of the chunks."""
        return self.index.vectors("chunks")

    @property
    def bm25(self) -> "Bm25":
        """The lexical index of the chunks."""
        return self.index.lexical()

    @property
    def chunks(self) -> list[Chunk]:
        """All chunks, in table order."""
        return self.index.rows(Chunk)

    @property
    @per_index
    def chunk_rows(self) -> dict[str, int]:
        """The row of each chunk by its id."""
        return {chunk.id: row for row, chunk in enumerate(self.chunks)}

    def sources(self, chunk_ids: Iterable[str]) -> tuple[str, ...]:
        """Return the sorted distinct hashes of chunks; a model's reply over them depends on these."""
        hashes = self._chunk_hashes
        wanted = set(chunk_ids)
        for id_ in wanted - hashes.keys():
            hashes[id_] = digest(self.chunks[self.chunk_rows[id_]].text)
        return tuple(sorted({hashes[id_] for id_ in wanted}))

    @property
    @per_index
    def titles(self) -> dict[str, str]:
        """Document titles by document id, without loading the texts."""

        table = self.index.arrow(Document, "id", "title")
        return dict(zip(table.column("id").to_pylist(), table.column("title").to_pylist(), strict=True))

    def places_of(self, document_id: str) -> tuple[Place, ...]:
        """Return the places of a document; those of all documents are loaded once, without the texts."""
        return self._places.get(document_id, ())

    @property
    @per_index
    def _places(self) -> dict[str, tuple[Place, ...]]:
        table = self.index.arrow(Document, "id", "places")
        rows = zip(table.column("id").to_pylist(), table.column("places").to_pylist(), strict=True)
        return {id_: tuple(Place(**place) for place in places) for id_, places in rows if places}

    @property
    @per_index
    def _chunk_hashes(self) -> dict[str, str]:
        return {}

    def passage(self, row: int, score: float) -> Passage:
        """Return chunk `row` as a passage."""
        chunk = self.chunks[row]
        title = self.titles[chunk.document_id]
        place = described(self.places_of(chunk.document_id), chunk.start, chunk.end)
        return Passage(chunk.document_id, chunk.id, chunk.start, chunk.end, float(score), chunk.text, title, place)

    def best(self, scores: npt.NDArray[np.floating], k: int) -> tuple[Passage, ...]:
        """Return the `k` chunks of highest positive score (one score a chunk), ties by chunk id."""
        rows = np.argsort(-scores, kind="stable")[:k]  # rows are sorted by id, so a stable sort breaks ties by id
        return tuple(self.passage(int(row), float(scores[row])) for row in rows if scores[row] > 0)
