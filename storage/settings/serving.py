"""The sections on models: language model, embedder, reranker, and their servers."""

from typing import Literal
from urllib.parse import urlsplit

from conspectus.storage.settings.base import Section
from pydantic import BaseModel, Field, field_validator
from pydantic_core import PydanticCustomError
from yaml import safe_load


class Price(Section):
    """What a model charges, in US dollars for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class LlmSettings(Section):
    """The language model, behind any server that speaks OpenAI's protocol; none is needed."""

    model: str = Field("", description="name of the model as its server knows it; empty: work without a model")
    step_models: dict[str, str] = Field(
        {}, description="other models for single steps, {step: model}; the steps are those that usage is shown by"
    )
    base_url: str = Field(
        "",
        description="where the server is, e.g. http://localhost:11434/v1 (Ollama); empty: OpenAI's own",
    )
    api_version: str = Field("", description="for Azure's dated API only, e.g. 2024-10-21; base_url is the resource")
    api_key_variable: str = Field(
        "OPENAI_API_KEY", description="environment variable that holds the key; a local server may need none"
    )
    structured_output: Literal["auto", "json_schema", "json_object", "none"] = Field(
        "auto", description="how JSON is asked for; `auto` finds out what the server knows"
    )
    max_output_tokens: int = Field(4096, ge=1, description="most tokens of a reply")
    concurrency: int = Field(32, ge=1, description="most calls in flight")
    requests_per_minute: int | None = Field(None, ge=1, description="most requests a minute; null: the server's word")
    tokens_per_minute: int | None = Field(None, ge=1, description="most tokens a minute; null: the server's word")
    timeout: float = Field(300.0, gt=0, description="seconds to wait for a reply; of a stream, for its next piece")
    attempts: int = Field(10, ge=1, description="times a call is tried before it counts as failed")
    max_tokens: int | None = Field(None, ge=1, description="budget of one run in tokens, never passed; null: none")
    max_cost: float | None = Field(
        None, gt=0, description="budget of one run in US dollars, never passed; it needs prices; null: none"
    )
    prices: dict[str, Price] = Field(
        {},
        description="US dollars a million tokens, {model: {input: 0.15, output: 0.6}}; without it costs are unknown",
    )

    @field_validator("prices", "step_models", mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        """Read a mapping given on the command line, which is text there."""
        return safe_load(value) if isinstance(value, str) else value

    @field_validator("base_url")
    @classmethod
    def _without_secrets(cls, value: str) -> str:
        return _address(value)


class EmbeddingServerSettings(Section):
    """The server that embeds where embedding.provider is `endpoint`; it speaks OpenAI's protocol."""

    base_url: str = Field(
        "", description="where the server is, e.g. http://localhost:11434/v1 (Ollama); empty: OpenAI's own"
    )
    api_version: str = Field("", description="for Azure's dated API only, e.g. 2024-10-21; base_url is the resource")
    api_key_variable: str = Field(
        "OPENAI_API_KEY", description="environment variable that holds the key; a local server may need none"
    )
    batch_size: int = Field(64, ge=1, description="most texts of a request; a server that refuses so many gets fewer")
    concurrency: int = Field(16, ge=1, description="most requests in flight")
    requests_per_minute: int | None = Field(None, ge=1, description="most requests a minute; null: the server's word")
    tokens_per_minute: int | None = Field(None, ge=1, description="most tokens a minute; null: the server's word")
    timeout: float = Field(120.0, gt=0, description="seconds to wait for a reply")
    attempts: int = Field(10, ge=1, description="times a request is tried before it counts as failed")
    price: float | None = Field(None, ge=0, description="US dollars a million tokens; null: costs are unknown")

    @field_validator("base_url")
    @classmethod
    def _without_secrets(cls, value: str) -> str:
        return _address(value)


def _address(value: str) -> str:
    """Return a server's address without a slash at its end; refuse one that holds a password, without showing it."""
    if value and not value.startswith(("http://", "https://")):
        raise ValueError("it must begin with http:// or https://")
    if "@" in urlsplit(value).netloc or "?" in value:
        raise PydanticCustomError("secret", "it holds a password or a query; put the key into the environment")
    return value.rstrip("/")


class BuildSettings(Section):
    """How a build runs; no effect on what it makes."""

    shard_size: int = Field(64, ge=1, description="items that one task works on")
    retries: int = Field(2, ge=0, description="times Prefect runs a failed task again")
    wait: float = Field(
        0, ge=0, le=604_800, description="seconds to wait for another build of the same index to end; 0: it says so"
    )
    failure_threshold: float = Field(
        0.05,
        ge=0,
        le=1,
        description="share of documents, chunks, descriptions or reports that may lose something: "
        "past it, exit status 5",
    )


class RunSections(BaseModel):
    """The sections on servers and builds, on which no index depends."""

    llm: LlmSettings = LlmSettings()
    embedding_server: EmbeddingServerSettings = EmbeddingServerSettings()
    build: BuildSettings = BuildSettings()
