"""Texts become vectors: what does that is behind one Protocol, whether it runs here or on a server."""

from collections.abc import Sequence
from functools import cache
from typing import Protocol

from conspectus.prompts.embedding.endpoint_embedder import EndpointEmbedder
from conspectus.prompts.embedding.local_embedder import SentenceTransformerEmbedder
from conspectus.storage.arrays import Vectors
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings


class Embedder(Protocol):
    """What turns texts into unit vectors whose inner product is their similarity."""

    @property
    def name(self) -> str:
        """What the vectors are remembered under: two embedders of one name give the same vectors."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Most tokens of a text, the marks that the model adds around it included."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a unit vector for each text, (n, dimension).

        A row depends on its own text only. Every text must fit (see `windows`); ValueError if one does not.
        ModelRefused or ModelUnavailable where a server gives none.
        """
        ...

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector (dimension,) of a question, at once and of whatever length."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return (n, dimension) the vectors of several questions, made together: those that each has alone."""
        ...

    def windows(self, text: str) -> list[str]:
        """Return the text if it fits, otherwise overlapping pieces of it that do and that cover it."""
        ...


def open_embedder(
    embedding: EmbeddingSettings, server: EmbeddingServerSettings, dimension: int | None = None
) -> Embedder:
    """Return the embedder that the settings name, one a process: loading one takes seconds.

    `dimension` is the length of the vectors that its own are to be compared with, where these exist: a server
    whose vectors are of another length is refused. Nothing is loaded and no server asked before the first use.
    """
    if embedding.provider == "endpoint":
        return _on_a_server(embedding, server, dimension)
    return _here(embedding.model)


@cache
def _here(model: str) -> Embedder:
    return SentenceTransformerEmbedder(model)


@cache
def _on_a_server(embedding: EmbeddingSettings, server: EmbeddingServerSettings, dimension: int | None) -> Embedder:
    return EndpointEmbedder(embedding, server, dimension)
