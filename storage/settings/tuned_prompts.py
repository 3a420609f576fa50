"""Prompt texts fitted to a corpus: files in one folder, written by `conspectus init --tune` or by hand."""

from dataclasses import dataclass, fields
from pathlib import Path

from conspectus.storage.errors import SettingsError
from conspectus.storage.settings.indexing import ExtractionSettings


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
