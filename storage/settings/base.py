"""The base class of all settings sections."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """One step's settings: frozen, and closed to keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")
