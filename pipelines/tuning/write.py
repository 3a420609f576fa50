"""Tuned prompts and the settings that name them, as files: all of them or none."""

import os
from collections.abc import Mapping
from pathlib import Path

from conspectus.pipelines.tuning.tune import Tuning
from conspectus.storage.errors import UsageError
from conspectus.storage.settings import Settings, as_yaml, file_of

SETTINGS = "settings.yaml"
FOLDER = "prompts"
"""Where tuned prompts lie, beside the settings file."""

_ALWAYS = ("domain", "persona", "report_persona", "extract_examples")
_CLAIMS = "claims_examples"


def check_free(directory: Path, settings: Settings) -> None:
    """Raise UsageError where a file that would be written exists already."""
    for path in _paths(directory, settings).values():
        if path.exists():
            raise UsageError(f"{path} exists already; --force overwrites it")


def check_writable(directory: Path, settings: Settings) -> None:
    """Raise UsageError where the files cannot be written: what a model says for them would be paid for and lost."""
    for folder in (directory, directory / FOLDER):
        nearest = next(each for each in (folder, *folder.parents) if each.exists())
        if not nearest.is_dir():
            raise UsageError(f"{nearest} is a file, not a folder to write in")
        if not os.access(nearest, os.W_OK | os.X_OK):
            raise UsageError(f"cannot write in {nearest}: permission denied")
    for path in (*_paths(directory, settings).values(), directory / SETTINGS):
        if path.is_dir():
            raise UsageError(f"{path} is a folder, not a file to write")


def write_tuning(directory: Path, settings: Settings, tuning: Tuning) -> list[Path]:
    """Write the prompts and then the settings that they were made with, which now name them; return the paths.

    Nothing is in its place before all is written.
    """
    tuned = settings.extraction.model_copy(update={"entity_types": tuning.entity_types, "prompts": FOLDER})
    paths = _paths(directory, settings)
    texts = {path: f"{getattr(tuning.prompts, name)}\n".lstrip("\n") for name, path in paths.items()}
    texts[directory / SETTINGS] = as_yaml(settings.model_copy(update={"extraction": tuned}))
    (directory / FOLDER).mkdir(parents=True, exist_ok=True)
    waiting = {path: path.with_name(f"{path.name}.new") for path in texts}
    try:
        for path, text in texts.items():
            waiting[path].write_bytes(text.encode("utf-8", "replace"))
        for path, new in waiting.items():
            new.replace(path)
    finally:
        for new in waiting.values():
            new.unlink(missing_ok=True)
    return list(texts)


def _paths(directory: Path, settings: Settings) -> Mapping[str, Path]:
    names = (*_ALWAYS, _CLAIMS) if settings.extraction.claims else _ALWAYS
    return {name: file_of(directory / FOLDER, name) for name in names}
