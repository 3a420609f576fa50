"""Settings of model servers and of builds, on which no index depends."""

from typing import Any, Literal

from conspectus.storage.settings.base import Sections, ServerUrl, SettingsSection, from_yaml
from pydantic import Field, field_validator


class Price(SettingsSection):
    """Price of a model in US dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class LlmSettings(SettingsSection):
    """The language model: any server with an OpenAI-compatible API. Optional."""

    model: str = Field(
        "",
        description="name of the model on its server, or a GGUF file, served on this machine; empty: no model",
    )
    step_models: dict[str, str] = Field(
        {}, description="other models for some steps, {step: model}; the usage report names the steps"
    )
    prompts: str = Field(
        "",
        description="folder of files that replace prompts, such as query/answer/io.txt (`make docs` shows all); "
        "relative to the settings file; empty: none",
    )
    base_url: ServerUrl = Field(
        "", description="URL of the server, e.g. http://localhost:11434/v1 (Ollama); empty: OpenAI"
    )
    api_version: str = Field(
        "", description="only for Azure's dated API, e.g. 2024-10-21; base_url is then the resource"
    )
    api_key_variable: str = Field(
        "OPENAI_API_KEY", description="environment variable with the API key; a local server may need none"
    )
    extra: dict[str, Any] = Field(
        {}, description="more members of each request, {reasoning_effort: low}; one that the server refuses is left out"
    )
    headers: dict[str, str] = Field(
        {}, description="headers of each request; a value such as $NAME is read from that environment variable"
    )
    structured_output: Literal["auto", "json_schema", "json_object", "none"] = Field(
        "auto", description="how JSON is requested; `auto` tests what the server supports"
    )
    context: int | None = Field(
        None, ge=1024, description="tokens that the model reads and writes at once; null: what its server tells"
    )
    max_output_tokens: int = Field(4096, ge=1, description="maximum tokens of a reply")
    concurrency: int = Field(32, ge=1, description="maximum concurrent calls")
    requests_per_minute: int | None = Field(
        None, ge=1, description="maximum requests per minute; null: the limit that the server reports"
    )
    tokens_per_minute: int | None = Field(
        None, ge=1, description="maximum tokens per minute; null: the limit that the server reports"
    )
    timeout: float = Field(
        300.0, gt=0, description="seconds without a sign of life from the server, after which a call fails"
    )
    attempts: int = Field(10, ge=1, description="maximum attempts per call")
    max_tokens: int | None = Field(None, ge=1, description="token budget of one run, never exceeded; null: none")
    max_cost: float | None = Field(
        None, gt=0, description="budget of one run in US dollars, never exceeded; requires prices; null: none"
    )
    prices: dict[str, Price] = Field(
        {},
        description="US dollars per million tokens, {model: {input: 0.15, output: 0.6}}; without it costs are unknown",
    )

    @field_validator("prices", "step_models", "extra", "headers", mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        """Parse a mapping given on the command line as text."""
        return from_yaml(value) if isinstance(value, str) else value

    @field_validator("extra")
    @classmethod
    def _not_ours(cls, value: dict[str, Any]) -> dict[str, Any]:
        if ours := sorted(_OURS & value.keys()):
            raise ValueError(f"{', '.join(ours)} cannot be set here: other settings or the program decide it")
        return value


_OURS = {"model", "messages", "n", "stream", "stream_options", "max_tokens", "max_completion_tokens", "response_format"}
"""Members of a request that budgets and parsers rely on."""


class EmbeddingServerSettings(SettingsSection):
    """The embedding server (OpenAI-compatible), used if embedding.provider is `endpoint`."""

    base_url: ServerUrl = Field(
        "", description="URL of the server, e.g. http://localhost:11434/v1 (Ollama); empty: OpenAI"
    )
    api_version: str = Field(
        "", description="only for Azure's dated API, e.g. 2024-10-21; base_url is then the resource"
    )
    api_key_variable: str = Field(
        "OPENAI_API_KEY", description="environment variable with the API key; a local server may need none"
    )
    batch_size: int = Field(64, ge=1, description="maximum texts per request; reduced if the server refuses")
    concurrency: int = Field(16, ge=1, description="maximum concurrent requests")
    attempts: int = Field(10, ge=1, description="maximum attempts per request")
    price: float | None = Field(None, ge=0, description="US dollars per million tokens; null: costs are unknown")


class BuildSettings(SettingsSection):
    """Running a build; of these only the corrections shape its result."""

    runner: str = Field(
        "",
        pattern=r"^$|^dask(\+tls)?://[^/\s@]+:\d+$",
        description="where chunks are read and embedded: dask://HOST:PORT, a Dask scheduler whose workers share the "
        "folder of the index; empty: in this process",
    )
    shard_size: int = Field(64, ge=1, description="items per task")
    wait: float = Field(
        0, ge=0, le=604_800, description="seconds to wait for another build of the same index; 0: stop with an error"
    )
    share_results: bool = Field(
        True,
        description="with an index in an object store: what was computed and paid for is kept there too, for other "
        "writers",
    )
    batch: str = Field(
        "",
        description="with a model: folder of batch files (OpenAI's JSONL); requests are written there instead of sent, "
        "and results are taken from there; empty: none",
    )
    corrections: str = Field(
        "",
        description="file of corrections of the graph, relative to the settings file; empty: corrections.yaml beside "
        "the settings, if it exists",
    )
    checks: str = Field(
        "",
        description="file of questions that a version must pass before it is published, relative to the settings file; "
        "empty: checks.jsonl beside the settings, if it exists",
    )
    checks_failed: int = Field(0, ge=0, description="maximum number of checks that may fail")
    keep_versions: int = Field(0, ge=0, description="earlier versions that prune keeps, for diff and rollback")
    failure_threshold: float = Field(
        0.05,
        ge=0,
        le=1,
        description="maximum share of documents, chunks, descriptions or reports with a failure; "
        "above it, the exit status is 5",
    )


class RunSections(Sections):
    """Settings of servers and builds."""

    llm: LlmSettings = LlmSettings.model_construct()
    embedding_server: EmbeddingServerSettings = EmbeddingServerSettings.model_construct()
    build: BuildSettings = BuildSettings.model_construct()
