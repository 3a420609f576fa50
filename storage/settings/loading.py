"""Read settings from a file, the environment and the command line, and write them as a file."""

import difflib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from conspectus.storage.errors import SettingsError
from conspectus.storage.settings.base import Section
from conspectus.storage.settings.root import ENVIRONMENT_PREFIX, Settings
from pydantic import ValidationError
from yaml import YAMLError, safe_load


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
