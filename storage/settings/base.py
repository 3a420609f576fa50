"""The base class of all settings sections."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict


class SettingsSection(BaseModel):
    """One step's settings: frozen; unknown keys are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def of_manifest(cls, values: Mapping[str, Any]) -> Self:
        """Return the section as recorded in an index; keys that are no longer settings are ignored."""
        return cls.model_validate({key: value for key, value in values.items() if key in cls.model_fields})
