"""All settings together, where their values come from, and which of them an index depends on."""

from pathlib import Path
from typing import Any, ClassVar

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, YamlConfigSettingsSource

from storage.errors import NeedsModel
from storage.settings.asking import AnswerSettings, GlobalSettings, PprSettings
from storage.settings.indexing import (
    Bm25Settings,
    BuildSettings,
    ChunkSettings,
    CommunitySettings,
    DescriptionSettings,
    ExtractionSettings,
    InputSettings,
    NameSettings,
    ReportSettings,
    SynonymSettings,
    VectorSettings,
    WalkGraphSettings,
)
from storage.settings.serving import EmbeddingServerSettings, EmbeddingSettings, LlmSettings, RerankSettings

ENVIRONMENT_PREFIX = "CONSPECTUS__"


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
