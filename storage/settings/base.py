"""The base classes of settings, and values given as text.

A class is made ready for validation when a value of it is validated (`defer_build`). Defaults are not validated, so a
program without settings of its own does not wait for forty sections.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


class Sections(BaseModel):
    """Several sections by name: frozen; unknown names are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class SettingsSection(BaseModel):
    """One step's settings: frozen; unknown keys are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def of_manifest(cls, values: Mapping[str, Any]) -> Self:
        """Return the section as recorded in an index; keys that are no longer settings are ignored."""
        return cls.model_validate({key: value for key, value in values.items() if key in cls.model_fields})


def from_yaml(text: str) -> Any:  # noqa: ANN401  (any YAML)
    """Return the value of a YAML text; raises ValueError."""
    from yaml import YAMLError, safe_load  # only values of this kind need it

    try:
        return safe_load(text)
    except YAMLError as error:
        raise ValueError("it must be YAML, such as {key: value} or [a, b]") from error


def listed(value: object) -> object:
    """Return the list in a text (YAML or comma-separated), as given on the command line; other values unchanged."""
    if isinstance(value, str):
        found = from_yaml(value) if value.lstrip().startswith("[") else value.split(",")
        return [item.strip() for item in found if item.strip()]
    return value


def _address(value: str) -> str:
    """Return a server's URL without a trailing slash; reject one with a password, without showing it."""
    if value and not value.startswith(("http://", "https://")):
        raise ValueError("it must begin with http:// or https://")
    if "@" in urlsplit(value).netloc or "?" in value:
        raise PydanticCustomError("secret", "it contains a password or a query; put the key in the environment")
    return value.rstrip("/")


ServerUrl = Annotated[str, AfterValidator(_address)]
"""The URL of a server, without secrets."""
