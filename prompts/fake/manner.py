"""How a fake server behaves, and what of it can be changed while it runs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from conspectus.prompts.fake.asked import FakeRequest
from conspectus.prompts.fake.chance import unit
from conspectus.prompts.fake.faults import Faults
from conspectus.prompts.fake.limits import Limits
from conspectus.prompts.fake.refused import Feature
from conspectus.prompts.fake.replies import Replies
from conspectus.prompts.fake.tokens import Count, count_tokens
from pydantic import BaseModel, ConfigDict

Latency = float | tuple[float, float] | Callable[[FakeRequest], float]
"""Seconds before a reply: always the same, drawn evenly from a range, or a function of the request."""


@dataclass(frozen=True)
class Manner:
    """How the server behaves; `FakeServer` says what each means."""

    replies: Replies = field(default_factory=Replies)
    latency: Latency = 0.0
    faults: Faults = field(default_factory=Faults)
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    api_key: str | None = None
    models: tuple[str, ...] = ()
    without: frozenset[Feature] = frozenset()
    unsupported: Literal["refuse", "ignore"] = "refuse"
    context_length: int | None = None
    dimensions: int = 256
    largest_batch: int = 2048
    count: Count = count_tokens
    piece: int = 12
    piece_delay: float = 0.0

    def wait(self, request: FakeRequest) -> float:
        """Return the seconds before the reply to a request."""
        if isinstance(self.latency, tuple):
            low, high = self.latency
            return low + (high - low) * unit("latency", self.seed, request.number)
        return self.latency(request) if callable(self.latency) else self.latency


class Change(BaseModel):
    """What can be changed while the server runs: the body of POST /v1/fake/settings. What is not given stays."""

    model_config = ConfigDict(extra="forbid")

    latency: float | tuple[float, float] = 0.0
    faults: Faults = Faults()
    limits: Limits = Limits()
