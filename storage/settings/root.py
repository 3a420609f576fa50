"""All settings, and the part that an index depends on."""

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from conspectus.storage.errors import NeedsModel, SettingsError
from conspectus.storage.hashing import file_digest
from conspectus.storage.settings.asking import AskingSections
from conspectus.storage.settings.base import SettingsSection
from conspectus.storage.settings.indexing import ExtractionSettings, IndexSections
from conspectus.storage.settings.serving import RunSections
from pydantic import Field, model_validator


class TrainGRetrieverSettings(SettingsSection):
    """Training a soft graph prompt for a frozen causal model: G-Retriever, its variants and ablations."""

    encoder: Literal["graph_transformer", "gat", "gcn", "none"] = Field(
        "graph_transformer", description="network that encodes a graph as one token; `none`: learned tokens instead"
    )
    width: int = Field(1024, ge=1, description="hidden size of the encoder")
    projector: bool = Field(True, description="learned projection from the encoder's width to the model's")
    soft_tokens: int = Field(10, ge=0, description="with the encoder `none`: number of learned tokens before the text")
    text: bool = Field(True, description="include the graph as text in the prompt; false: GraphToken")
    retrieval: bool = Field(True, description="retrieve a subgraph (see gretriever); false: use all")
    lora: bool = Field(False, description="train LoRA matrices, too; the model's own weights stay frozen")
    learning_rate: float = Field(1e-5, gt=0, description="peak learning rate of AdamW")
    epochs: int = Field(10, ge=1, description="maximum epochs")
    batch: int = Field(4, ge=1, description="questions per step")
    seeds: int = Field(4, ge=1, description="number of runs with consecutive seeds; the report has mean and deviation")

    @model_validator(mode="after")
    def _something_learns(self) -> "TrainGRetrieverSettings":
        if self.encoder == "none" and not self.soft_tokens and not self.lora:
            raise ValueError("nothing would be trained: encoder is none, soft_tokens 0 and lora false")
        return self


INDEX_SECTIONS = tuple(IndexSections.model_fields)


def for_models_only() -> set[tuple[str, str]]:
    """Return the settings of an index, as (section, key), that only a build with a language model reads.

    Their descriptions begin with "model:" or "with a model:".
    """
    return {
        (name, key)
        for name, section in IndexSections.model_construct()
        for key, field in type(section).model_fields.items()
        if (field.description or "").startswith(("model:", "with a model:"))
    }


class Settings(AskingSections, RunSections, IndexSections):
    """All settings, one section per step or method."""

    train_gretriever: TrainGRetrieverSettings = TrainGRetrieverSettings.model_construct()

    def of_the_index(self) -> dict[str, Any]:
        """Return the settings that an index depends on, as plain values; they are part of its fingerprint.

        Files count by content: prompts as their text, an OpenIE file and graphs as their hashes.

        Raises:
            SettingsError: One of these files cannot be read.
        """
        sections = {name: getattr(self, name).model_dump(mode="json") for name in INDEX_SECTIONS}
        sections["extraction"]["prompts"] = asdict(read_tuned(self.extraction)) if self.extracts_with else {}
        for key in ("openie", "schema"):
            sections["extraction"][key] = _content(f"extraction.{key}", getattr(self.extraction, key))
        for key in ("files", "labels"):
            sections["kg"][key] = sorted(_content(f"kg.{key}", item) for item in getattr(self.kg, key))
        if self.extracts_with or self.reports_with:
            shaping = {
                "model",
                "step_models",
                "max_output_tokens",
            }  # the server's address has no effect on the result
            sections["llm"] = self.llm.model_dump(mode="json", include=shaping)
            if self.llm.prompts:
                files = sorted(Path(self.llm.prompts, "index").glob("*.txt"))
                sections["llm"]["prompts"] = {file.name: _content("llm.prompts", str(file)) for file in files}
        return sections

    @property
    def extracts_with(self) -> str:
        """The language model that indexing calls; "" if it works without one."""
        if self.extraction.openie or self.extraction.method == "nlp":
            return ""
        if self.extraction.method != "auto" and not self.llm.model:
            raise NeedsModel(
                f"extraction.method is `{self.extraction.method}`, but no model is configured: set llm.model"
            )
        return self.llm.model

    @property
    def reports_with(self) -> str:
        """The language model that writes the reports; "" if they quote the documents."""
        if self.reports.method == "model":
            if not self.llm.model:
                raise NeedsModel("reports.method is `model`, but no model is configured: set llm.model")
            return self.llm.model
        extracts = self.reports.method == "auto" and self.extraction.method in ("auto", "model")
        return self.extracts_with if extracts else ""


def _content(setting: str, file: str) -> str:
    """Return the hash of the file at the path in a setting; "" if there is no path."""
    try:
        return file_digest(Path(file)) if file else ""
    except OSError as error:
        raise SettingsError(f"{setting}: {file} cannot be read: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class TunedPrompts:
    """Texts inserted into the prompts, each from the file NAME.txt; "" uses the default text.

    Attributes:
        domain: What the documents are about.
        persona: The role of the model in extraction.
        report_persona: The role of the model in report writing.
        extract_examples: Examples in the format of `prompts/index/extract_examples.txt`.
        claims_examples: Examples in the format of `prompts/index/claims_examples.txt`.
    """

    domain: str = ""
    persona: str = ""
    report_persona: str = ""
    extract_examples: str = ""
    claims_examples: str = ""

    def extracts_as(self) -> str:
        """Return the beginning of the extraction prompts."""
        return _paragraphs(self.persona, self.domain)

    def reports_as(self) -> str:
        """Return the beginning of the report prompt."""
        return _paragraphs(self.report_persona, self.domain)


def read_tuned(extraction: ExtractionSettings) -> TunedPrompts:
    """Return the texts in the folder `extraction.prompts`; empty texts if no folder is set.

    Raises:
        SettingsError: The folder or a file in it is missing or unreadable. `claims_examples` is required only with
            `extraction.claims`.
    """
    if not extraction.prompts:
        return TunedPrompts()
    folder = Path(extraction.prompts)
    if not folder.is_dir():
        raise SettingsError(
            f"extraction.prompts: there is no folder {folder}; create it with `conspectus init --tune`, or remove the "
            f"setting to use the default prompts"
        )
    wanted = [field.name for field in fields(TunedPrompts) if extraction.claims or field.name != "claims_examples"]
    return TunedPrompts(**{name: _text(file_of(folder, name)) for name in wanted})


def file_of(folder: Path, name: str) -> Path:
    """Return the file of a text of `TunedPrompts`."""
    return folder / f"{name}.txt"


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig").strip()
    except FileNotFoundError as error:
        raise SettingsError(f"extraction.prompts: {file} is missing; an empty file selects the default text") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"extraction.prompts: {file} is not UTF-8 text") from error
    except OSError as error:
        raise SettingsError(f"extraction.prompts: {file} cannot be read: {error.strerror or error}") from error


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
