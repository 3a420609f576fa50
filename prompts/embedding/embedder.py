"""Embedders turn texts into vectors, on this machine or on a server."""

from collections.abc import Sequence
from functools import cache
from typing import Protocol

from conspectus.prompts.client.model_file import SUFFIX
from conspectus.prompts.embedding.local import SentenceTransformerEmbedder, settled
from conspectus.prompts.embedding.passes import TokenVectors
from conspectus.storage.arrays import Vectors
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings


class Embedder(Protocol):
    """Turns texts into unit vectors whose inner product is the similarity of the texts."""

    @property
    def name(self) -> str:
        """The cache key of the vectors: embedders of one name give the same vectors."""
        ...

    @property
    def dimension(self) -> int:
        """The length d of a vector."""
        ...

    @property
    def max_tokens(self) -> int:
        """Most tokens in a text, special tokens of the model included."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed documents.

        Args:
            texts: n texts that fit (see `windows`).

        Returns:
            Unit vectors, float32 (n, d). A row depends on its own text only.

        Raises:
            ValueError: A text does not fit.
            ModelRefused: A server refuses the request.
            ModelUnavailable: A server gives no reply.
        """
        ...

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors] | None:
        """Return the vectors of texts that fit and of their tokens, or None if the model does not show its tokens."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector (d,) of a question of any length."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors (n, d) of several questions, computed together but equal to those of `embed_query`."""
        ...

    def windows(self, text: str) -> list[str]:
        """Return the text if it fits, otherwise overlapping pieces that fit and cover it."""
        ...


def open_embedder(
    embedding: EmbeddingSettings, server: EmbeddingServerSettings, dimension: int | None = None
) -> Embedder:
    """Return the embedder of the settings: one per process, since loading one takes seconds.

    Nothing is loaded, and no server is called, before its first use.

    Args:
        embedding: Section `embedding`: provider and model. The model may be a GGUF file.
        server: Section `embedding_server`, for the provider "endpoint".
        dimension: Length of existing vectors to compare with, if any; a server whose vectors have another length
            is refused.

    Raises:
        MissingPart: There is no such model on this machine.
        SettingsError: `embedding.max_input_tokens` leaves no room after a prefix.

    Example:
        settings = load_settings()
        embedder = open_embedder(settings.embedding, settings.embedding_server)
        question = embedder.embed_query("Who was Ada Lovelace?")
        scores = embedder.embed(["She wrote the first program.", "A mill burnt down."]) @ question
    """
    embedding = settled(embedding)
    if embedding.provider == "endpoint" or embedding.model.endswith(SUFFIX):
        return _on_a_server(embedding, server, dimension)
    return _local(embedding.model)


@cache
def _local(model: str) -> Embedder:
    return SentenceTransformerEmbedder(model)


@cache
def _on_a_server(embedding: EmbeddingSettings, server: EmbeddingServerSettings, dimension: int | None) -> Embedder:
    from conspectus.prompts.embedding.endpoint import EndpointEmbedder

    return EndpointEmbedder(embedding, server, dimension)
