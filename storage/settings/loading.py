"""Read settings from a file, the environment and the command line, and write a settings file."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from conspectus.storage.errors import SettingsError, nearest_name
from conspectus.storage.settings.base import SettingsSection, from_yaml, listed
from conspectus.storage.settings.root import Settings
from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


ENVIRONMENT_PREFIX = "CONSPECTUS__"


def load_settings(file: Path | None = None, overrides: Mapping[str, Mapping[str, object]] | None = None) -> Settings:
    """Return the settings of `file` (YAML), the environment and `overrides` ({section: {key: value}}).

    The strongest source that has a key counts: `overrides`, then the environment, then the file. Raises SettingsError
    that names the unknown key and the nearest known one, or the value and the reason.
    """
    if file is not None and not file.is_file():
        raise SettingsError(f"no settings file at {file}")
    given = _of_file(file) if file else {}
    for stronger in (_of_environment(), overrides or {}):
        given = _merged(given, stronger)
    sections: dict[str, Any] = {}
    problems = []
    for name, values in given.items():
        if name not in Settings.model_fields:
            problems.append(_unknown_key((name,)))
            continue
        try:
            sections[name] = _section(name).model_validate(values)
        except ValidationError as error:
            problems += [_explain((name, *map(str, problem["loc"])), problem) for problem in error.errors()]
    if problems:
        where = f" (in {file}, the environment or the command line)" if file else ""
        raise SettingsError("; ".join(problems) + where)
    settings = Settings.model_construct(**sections)
    return with_files_beside(settings, file.parent) if file else settings


def _merged(weaker: Mapping[str, Any], stronger: Mapping[str, Any]) -> dict[str, Any]:
    """Return both mappings as one, and likewise the mappings in them.

    >>> _merged({"ppr": {"damping": 0.4}, "chunks": 5}, {"ppr": {"bridge_passages": 3}})
    {'ppr': {'damping': 0.4, 'bridge_passages': 3}, 'chunks': 5}
    """
    both = dict(weaker)
    for key, value in stronger.items():
        below = both.get(key)
        both[key] = _merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return both


FILES_BESIDE = {"corrections": "corrections.yaml", "checks": "checks.jsonl"}
"""Settings of the section `build` whose default is a file beside the settings, if it exists."""


def with_files_beside(settings: Settings, folder: Path) -> Settings:
    """Return settings that name the files of `FILES_BESIDE` in a folder, if they exist and no others are named."""
    found = {
        key: str(folder / name)
        for key, name in FILES_BESIDE.items()
        if not getattr(settings.build, key) and (folder / name).is_file()
    }
    return settings.model_copy(update={"build": settings.build.model_copy(update=found)}) if found else settings


_PATHS = {
    "extraction": ("prompts", "openie", "schema"), "llm": ("prompts",), "kg": ("files", "labels"),
    "build": (*FILES_BESIDE,),
}  # fmt: skip
"""Settings that are paths, or lists of paths."""


def _of_file(file: Path) -> dict[str, Any]:
    """Return the values of a settings file. Paths in it are relative to its folder, not to the working directory."""
    from yaml import YAMLError, safe_load  # only a file needs it

    try:
        found = safe_load(file.read_text("utf-8")) or {}
        if not isinstance(found, dict):
            raise ValueError("it has no sections")
        for section, keys in _PATHS.items():
            values = found.get(section)
            if not isinstance(values, dict):
                continue
            for key in values.keys() & set(keys):
                values[key] = _placed(listed(values[key]) if section == "kg" else values[key], file.parent)
    except (YAMLError, ValueError) as error:
        raise SettingsError(f"{file}{_place_and_reason(error)}") from error
    return {str(name): values for name, values in found.items()}


def _placed(given: object, folder: Path) -> object:
    """Return a path, or a list of paths, in a folder; other values unchanged."""
    if isinstance(given, list | tuple):
        return [str(folder / str(path)) for path in given]
    return str(folder / given) if given and isinstance(given, str) else given


def _of_environment() -> dict[str, Any]:
    """Return the values in the environment: CONSPECTUS__SECTION__KEY=value, or a whole section as YAML.

    An empty variable counts as not set: a container passes on all that it knows, whether its user has set them or not.
    """
    found: dict[str, Any] = {}
    for variable in sorted(os.environ):  # a section comes before its keys
        if not variable.upper().startswith(ENVIRONMENT_PREFIX) or not os.environ[variable]:
            continue
        value: object = os.environ[variable]
        section, *keys = variable[len(ENVIRONMENT_PREFIX) :].lower().split("__")
        try:
            if section not in Settings.model_fields:
                raise ValueError(_unknown_key((section,)))
            if not keys:
                value = from_yaml(os.environ[variable])
        except ValueError as error:
            raise SettingsError(f"environment variable {variable}: {error}") from error
        for key in reversed(keys):
            value = {key: value}
        found = _merged(found, {section: value})
    return found


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


def _explain(path: tuple[str, ...], problem: "ErrorDetails") -> str:
    return _unknown_key(path) if problem["type"] == "extra_forbidden" else _wrong_value(path, problem)


_WANTED = {
    "int_": "a whole number",
    "float_": "a number",
    "finite_number": "a number",
    "bool_": "true or false",
    "string_type": "a text",
    "literal_error": "one of {expected}",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "tuple_": "a list",
    "list_": "a list",
    "dict_": "a mapping of keys to values",
    "model_": "a section with keys of its own",
}
"""The required form of a value, by the beginning of the type of pydantic's error; the longest match counts."""


def _wrong_value(path: tuple[str, ...], problem: "ErrorDetails") -> str:
    """Return a message that names the setting with an invalid value and its valid values."""
    name, kind = ".".join(path), problem["type"]
    if kind in {"value_error", "secret"}:
        reason = problem["msg"].removeprefix("Value error, ")
        if path[0] in Settings.model_fields and len(path) == 1:  # about several keys, which it names
            keys = "|".join(sorted(_section(name).model_fields, key=len, reverse=True))
            return re.sub(rf"\b({keys})\b", rf"{name}.\1", reason)
        return f"{name}: {reason}" + ("" if kind == "secret" else f", not {problem['input']!r}")
    start = max((known for known in _WANTED if kind.startswith(known)), key=len, default=None)
    wanted = _WANTED[start].format(**problem.get("ctx", {})) if start else problem["msg"]
    return f"{name} must be {wanted}, not {problem['input']!r}" if start else f"{name}: {wanted}"


def _place_and_reason(error: Exception) -> str:
    """Return the line of a YAML syntax error, if it is known, and the reason."""
    from yaml import MarkedYAMLError

    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        return f": not a settings file: {str(error).splitlines()[0]}"
    begun = error.context_mark
    since = f" ({error.context}, which begins in line {begun.line + 1})" if error.context and begun else ""
    return f", line {error.problem_mark.line + 1}: not a settings file: {error.problem or 'it is no YAML'}{since}"


def _section(name: str) -> type[SettingsSection]:
    section: Any = Settings.model_fields[name].annotation
    return cast(type[SettingsSection], section)


def _unknown_key(path: tuple[str, ...]) -> str:
    """Return what is wrong with an unknown key, with the known key nearest to it.

    >>> _unknown_key(("chunks", "chunk_sizes"))
    'unknown setting chunks.chunk_sizes; did you mean chunks.chunk_size?'
    """
    known = list(Settings.model_fields)
    if len(path) > 1 and path[0] in Settings.model_fields:
        known = list(_section(path[0]).model_fields)
    nearest = nearest_name(path[-1], known)
    if nearest is None:
        return f"unknown setting {'.'.join(path)}; there are: {', '.join(known)}"
    return f"unknown setting {'.'.join(path)}; did you mean {'.'.join((*path[:-1], nearest))}?"


def as_yaml(settings: Settings | None = None) -> str:
    """Return a settings file with every key, its default (or the value in `settings`) and its description."""
    shown = settings or Settings.model_construct()
    lines = [
        "# Conspectus settings: all keys with their defaults. Delete the ones that you do not change.",
        f"# Each key can also be set by an environment variable: {ENVIRONMENT_PREFIX}CHUNKS__CHUNK_SIZE=400",
    ]
    for name in Settings.model_fields:
        section: SettingsSection = getattr(shown, name)
        lines += ["", f"# {(section.__doc__ or '').splitlines()[0]}", f"{name}:"]
        for key, field in type(section).model_fields.items():
            lines.append(f"  # {field.description}")
            lines.append(f"  {key}: {_yaml_scalar(getattr(section, key))}")
    return "\n".join(lines) + "\n"


def _yaml_scalar(value: object) -> str:
    if value is None or isinstance(value, bool | dict | tuple):
        return json.dumps(value, default=SettingsSection.model_dump, ensure_ascii=False)
    if isinstance(value, str):
        plain = re.fullmatch(r"[\w./-]+", value) and from_yaml(value) == value
        return value if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return f"{value:.10f}".rstrip("0") if value < 1e-4 else repr(value)
    return str(value)
