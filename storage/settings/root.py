"""All settings, and the part that an index depends on."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from conspectus.storage.errors import NeedsModel, SettingsError
from conspectus.storage.hashing import file_digest
from conspectus.storage.settings.asking import AskingSections
from conspectus.storage.settings.indexing import IndexSections
from conspectus.storage.settings.serving import RunSections
from conspectus.storage.settings.training import TrainingSections
from conspectus.storage.settings.tuned_prompts import read_tuned

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


class Settings(TrainingSections, AskingSections, RunSections, IndexSections):
    """All settings, one section per step or method."""

    def of_the_index(self) -> dict[str, Any]:
        """Return the settings that an index depends on, as plain values; they are part of its fingerprint.

        Files count by content: prompts as their text, an OpenIE file and graphs as their hashes.

        Raises:
            SettingsError: One of these files cannot be read.
        """
        sections = {name: getattr(self, name).model_dump(mode="json") for name in INDEX_SECTIONS}
        sections["extraction"]["prompts"] = asdict(read_tuned(self.extraction)) if self.extracts_with else {}
        sections["extraction"]["openie"] = _content("extraction.openie", self.extraction.openie)
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
