"""Texts that fit the prompts to a corpus: plain files in one folder, written by `conspectus init --tune` or by hand."""

from dataclasses import dataclass, fields
from pathlib import Path

from conspectus.storage.errors import SettingsError
from conspectus.storage.settings.indexing import ExtractionSettings


@dataclass(frozen=True, slots=True)
class TunedPrompts:
    """What is put into the prompts, each the text of NAME.txt; "" leaves what comes along.

    `domain` says what the documents are, `persona` and `report_persona` who the model is told to be when it extracts
    and when it reports; the examples are in the format of those in prompts/index.
    """

    domain: str = ""
    persona: str = ""
    report_persona: str = ""
    extract_examples: str = ""
    claims_examples: str = ""

    def extracts_as(self) -> str:
        """Return what the prompts of extraction begin with."""
        return _paragraphs(self.persona, self.domain)

    def reports_as(self) -> str:
        """Return what the prompt of reports begins with."""
        return _paragraphs(self.report_persona, self.domain)


def read_tuned(extraction: ExtractionSettings) -> TunedPrompts:
    """Return the texts of the folder `extraction.prompts`, none where the settings name no folder.

    SettingsError where the folder or a file in it is missing or unreadable; examples of claims are needed with
    `extraction.claims` only.
    """
    if not extraction.prompts:
        return TunedPrompts()
    folder = Path(extraction.prompts)
    if not folder.is_dir():
        raise SettingsError(
            f"extraction.prompts: there is no folder {folder}; `conspectus init --tune` makes one, and without the "
            f"setting the prompts that come along are used"
        )
    wanted = [field.name for field in fields(TunedPrompts) if extraction.claims or field.name != "claims_examples"]
    return TunedPrompts(**{name: _text(file_of(folder, name)) for name in wanted})


def file_of(folder: Path, name: str) -> Path:
    """Return where a text of `TunedPrompts` lies."""
    return folder / f"{name}.txt"


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8-sig").strip()
    except FileNotFoundError as error:
        raise SettingsError(
            f"extraction.prompts: {file} is missing; an empty file uses what comes along in its place"
        ) from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"extraction.prompts: {file} is not text in UTF-8") from error
    except OSError as error:
        raise SettingsError(f"extraction.prompts: {file} cannot be read: {error.strerror or error}") from error


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
