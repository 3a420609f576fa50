"""The section on names of one thing."""

from typing import Literal, Self

from conspectus.storage.settings.base import Section
from pydantic import Field, model_validator


class ResolutionSettings(Section):
    """Which names are taken for one thing's."""

    method: Literal["rules", "off"] = Field(
        "rules",
        description="`rules` makes the aliases of one thing (Mr. Holmes, Sherlock Holmes) one entity; `off` leaves "
        "every name an entity of its own",
    )
    threshold: float = Field(0.75, gt=0, le=1, description="least score of two names that are merged")
    vote: Literal["auto", "off"] = Field(
        "auto", description="whether the language model that extracts votes on uncertain pairs; `auto`: where one does"
    )
    doubt: float = Field(0.45, ge=0, le=1, description="least score of a pair that the model is asked about")
    sure: float = Field(0.9, ge=0, le=1, description="score from which a pair needs no vote")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.doubt <= self.threshold <= self.sure:
            raise ValueError(
                f"doubt {self.doubt}, threshold {self.threshold} and sure {self.sure} must stand in this order"
            )
        return self
