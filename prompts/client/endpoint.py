"""Where a server is."""

from dataclasses import dataclass
from urllib.parse import urlsplit

OPENAI = "https://api.openai.com/v1"
"""Where the model is if the settings do not say."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and how it may be called.

    `window` is the length of its minute in seconds. `section` and `model_key` name the settings that messages tell
    the user to look at.
    """

    base_url: str
    api_version: str
    api_key_variable: str
    timeout: float
    attempts: int
    concurrency: int
    requests_per_minute: int | None
    tokens_per_minute: int | None
    window: float = 60.0
    section: str = "llm"
    model_key: str = "llm.model"

    @property
    def shown(self) -> str:
        """The address as messages name it."""
        parts = urlsplit(self.base_url or OPENAI)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"
