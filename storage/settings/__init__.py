"""Every setting and its default, once: a small frozen section per step.

Values come, weakest first, from the defaults below, `settings.yaml`, the environment
(`CONSPECTUS__CHUNKS__CHUNK_SIZE=400`) and the caller. Unknown keys are refused by name.
"""

from conspectus.storage.settings.asking import (
    AnswerSettings,
    ConversationSettings,
    DriftSettings,
    FastTogSettings,
    GlobalSettings,
    GRetrieverSettings,
    HippoRagSettings,
    IrcotSettings,
    KapingSettings,
    KgpSettings,
    LocalSettings,
    PprSettings,
    TogSettings,
)
from conspectus.storage.settings.base import Section
from conspectus.storage.settings.indexing import (
    Bm25Settings,
    BuildSettings,
    ChunkSettings,
    CommunitySettings,
    DescriptionSettings,
    ExtractionSettings,
    InputSettings,
    KgSettings,
    NameSettings,
    ReportSettings,
    SynonymSettings,
    VectorSettings,
    WalkGraphSettings,
)
from conspectus.storage.settings.loading import load_settings, parse_override
from conspectus.storage.settings.resolution import ResolutionSettings
from conspectus.storage.settings.root import ENVIRONMENT_PREFIX, INDEX_SECTIONS, Settings
from conspectus.storage.settings.serving import (
    EmbeddingServerSettings,
    EmbeddingSettings,
    LlmSettings,
    Price,
    RerankSettings,
)
from conspectus.storage.settings.training import SoftPromptSettings, TrainGRetrieverSettings
from conspectus.storage.settings.trust import AccessSettings, CitationSettings
from conspectus.storage.settings.tuned_prompts import TunedPrompts, file_of, read_tuned
from conspectus.storage.settings.writing import as_yaml

__all__ = [
    "ENVIRONMENT_PREFIX",
    "INDEX_SECTIONS",
    "AccessSettings",
    "AnswerSettings",
    "Bm25Settings",
    "BuildSettings",
    "ChunkSettings",
    "CitationSettings",
    "CommunitySettings",
    "ConversationSettings",
    "DescriptionSettings",
    "DriftSettings",
    "EmbeddingServerSettings",
    "EmbeddingSettings",
    "ExtractionSettings",
    "FastTogSettings",
    "GRetrieverSettings",
    "GlobalSettings",
    "HippoRagSettings",
    "InputSettings",
    "IrcotSettings",
    "KapingSettings",
    "KgSettings",
    "KgpSettings",
    "LlmSettings",
    "LocalSettings",
    "NameSettings",
    "PprSettings",
    "Price",
    "ReportSettings",
    "RerankSettings",
    "ResolutionSettings",
    "Section",
    "Settings",
    "SoftPromptSettings",
    "SynonymSettings",
    "TogSettings",
    "TrainGRetrieverSettings",
    "TunedPrompts",
    "VectorSettings",
    "WalkGraphSettings",
    "as_yaml",
    "file_of",
    "load_settings",
    "parse_override",
    "read_tuned",
]
