"""The context of a method: one open index, its embedder, the language model and the settings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec

import numpy as np
import numpy.typing as npt
from conspectus.prompts.client.window import window_for
from conspectus.prompts.embedding.embedder import Embedder, open_embedder
from conspectus.prompts.language_model import LanguageModel
from conspectus.query.types import Passage
from conspectus.storage.hashing import digest
from conspectus.storage.index import Owner, StoredIndex, Value, per_index
from conspectus.storage.locators import described
from conspectus.storage.records import Chunk, Document, Place
from conspectus.storage.settings import EmbeddingSettings, Settings

if TYPE_CHECKING:
    import pyarrow as pa
    from conspectus.query.remote_graph.counting import PartOfGraph
    from conspectus.query.remote_graph.graph import LiveGraph
    from conspectus.storage.text.bm25 import Bm25
    from conspectus.storage.vectors.windowed import WindowedIndex

Arguments = ParamSpec("Arguments")


def remembered(
    most: int,
) -> Callable[[Callable[Concatenate[Owner, Arguments], Value]], Callable[Concatenate[Owner, Arguments], Value]]:
    """Decorate a function of an index, or of an object with an index, so that its last `most` results are kept with it.

    The further arguments are hashable and given by position.
    """

    def decorated(
        make: Callable[Concatenate[Owner, Arguments], Value],
    ) -> Callable[Concatenate[Owner, Arguments], Value]:
        @per_index
        def kept(owner: Owner) -> Callable[..., Value]:
            return lru_cache(most)(partial(make, owner))

        @wraps(make)
        def found(owner: Owner, /, *args: Arguments.args, **_: Arguments.kwargs) -> Value:
            return kept(owner)(*args)

        return found

    return decorated


@dataclass(frozen=True, slots=True)
class Context:
    """An index open for questions. Read-only, and safe to share between threads."""

    index: StoredIndex
    settings: Settings
    narrowed: str = ""
    """Description of the filter; "" if the index is not restricted."""
    part: "PartOfGraph | None" = None
    """Completes answers if the index contains only the part of a live graph around a question."""
    live: "LiveGraph | None" = None
    """The remote graph that is walked instead of the index's own, which is then empty."""

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

    def room(self, step: str, wanted: int) -> int:
        """Return how many of the wanted tokens of records or passages the model reads in a prompt of a step."""
        return window_for(self.model, step).room(wanted)

    @property
    def chunk_vectors(self) -> "WindowedIndex":
        """The vectors of the chunks."""
        return self.index.vectors("chunks")

    @property
    def bm25(self) -> "Bm25":
        """The lexical index of the chunks."""
        return self.index.lexical()

    @property
    def chunks(self) -> Sequence[Chunk]:
        """All chunks, in table order; each is made when it is asked for."""
        return self.index.each(Chunk)

    @property
    def chunk_rows(self) -> Mapping[str, int]:
        """The row of each chunk by its id."""
        return self.index.ids(Chunk)

    def sources(self, chunk_ids: Iterable[str]) -> tuple[str, ...]:
        """Return the sorted distinct hashes of chunks; a model's reply about them depends on these."""
        hashes = self._chunk_hashes
        wanted = set(chunk_ids)
        for id_ in wanted - hashes.keys():
            hashes[id_] = digest(self.chunks[self.chunk_rows[id_]].text)
        return tuple(sorted({hashes[id_] for id_ in wanted}))

    @property
    @per_index
    def titles(self) -> Mapping[str, str]:
        """Document titles by document id, without loading the texts."""
        return self.index.by_id(Document, "title")

    def places_of(self, document_id: str) -> tuple[Place, ...]:
        """Return the places of a document; none of a document that does not exist."""
        row = self.index.ids(Document).get(document_id)
        return () if row is None else tuple(Place(**place) for place in self._places[row].as_py())

    @property
    @per_index
    def _places(self) -> "pa.ChunkedArray":
        return self.index.arrow(Document, "places").column("places")

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
        """Return the `k` chunks with the highest positive score (one score per chunk), ties by chunk id."""
        rows = np.argsort(-scores, kind="stable")[:k]  # rows are sorted by id, so a stable sort breaks ties by id
        return tuple(self.passage(int(row), float(scores[row])) for row in rows if scores[row] > 0)


class IndexRetriever:
    """A retriever that needs nothing but the open index and the settings."""

    def __init__(self, context: Context) -> None:
        self._context = context
