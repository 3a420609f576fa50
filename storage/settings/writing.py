"""Settings as the file that `conspectus init` writes."""

import json
import re

from conspectus.storage.settings.base import Section
from conspectus.storage.settings.root import ENVIRONMENT_PREFIX, Settings
from yaml import safe_load


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
