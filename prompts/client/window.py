"""How much a model reads at once, and prompts that are cut to it.

llama.cpp, vLLM and Ollama tell the context of their model; others name it when they refuse a request.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from conspectus.prompts.client.event_loop import cached_per_process
from conspectus.prompts.client.model_file import url_of
from conspectus.prompts.language_model import Message
from conspectus.storage.settings import LlmSettings
from conspectus.storage.text.tokens import count_tokens

_SECONDS = 5.0
"""How long to wait for what a server tells of itself."""
_OF_REPLY = 4
"""A reply may take this part of the context: a quarter."""
_OF_TEMPLATE, _OF_RULES = 64, 1000
"""Tokens that a chat template adds, and about the most of a prompt besides the records or passages in it."""
_MARGIN = 1.15
"""Our count of tokens may be this much below the model's."""
_LEAST_CONTEXT, _LEAST_READ, _MOST_OF_TOKEN = 512, 0.7, 5.5
"""Of a prompt that was cut: fewest tokens read, most of our count that they are, fewest characters for each."""
_REFUSED = re.compile(
    r"context (?:length|size|window)(?: is)?(?: of)? ?\(?(?P<window>\d{3,7})|(?P<other>\d{3,7}) tokens? context", re.I
)
_SENT = re.compile(r"(?:request \(|resulted in |requested (?:\d+ tokens \()?)(\d{3,8})", re.I)
_BLOCK = re.compile(r"<(?P<tag>[a-z_]+)>\n(?P<inside>.*?)\n</(?P=tag)>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Window:
    """What a server can read and do at once; None if it does not tell.

    Attributes:
        tokens: Tokens of the context, for a prompt and its reply together.
        slots: Requests that are worked on at the same time; others wait.
    """

    tokens: int | None = None
    slots: int | None = None

    @property
    def of_prompt(self) -> int | None:
        """The most tokens of a prompt."""
        return self.tokens and self.tokens - self.tokens // _OF_REPLY - _OF_TEMPLATE

    def room(self, wanted: int) -> int:
        """Return how many of the wanted tokens of records or passages fit into a prompt.

        >>> Window(4096).room(8000), Window().room(8000)
        (1746, 8000)
        """
        return min(wanted, max(256, int((self.of_prompt - _OF_RULES) / _MARGIN))) if self.of_prompt else wanted

    def reply(self, wanted: int) -> int:
        """Return how many tokens a reply may have."""
        return min(wanted, self.tokens // _OF_REPLY) if self.tokens else wanted


def window_for(model: object, step: str) -> Window:
    """Return the context of the model for a step; that of a model that tells none is unknown."""
    known = getattr(model, "window", None)
    window: Window = known(step) if known else Window()
    return window


def window_of(settings: LlmSettings) -> Window:
    """Return what the model's server tells of its context, or `llm.context`: asked once per process."""
    base_url = url_of(settings.model, settings.base_url)
    told = _told(base_url, settings.model) if base_url and settings.model else Window()
    return replace(told, tokens=settings.context) if settings.context else told


@cached_per_process
def _told(base_url: str, model: str) -> Window:
    import httpx

    parts = urlsplit(base_url)
    root = f"{parts.scheme}://{parts.netloc}{parts.path.removesuffix('/v1')}"
    try:
        with httpx.Client(timeout=_SECONDS) as client:
            listed = client.get(f"{base_url}/models").json()["data"]
            known = next((each for each in listed if each.get("id") == model), listed[0])
            if known.get("owned_by") == "llamacpp":
                props = client.get(f"{root}/props").json()
                return Window(_count(props["default_generation_settings"].get("n_ctx")), _count(props["total_slots"]))
            if known.get("owned_by") == "library":  # Ollama
                shown = client.post(f"{root}/api/show", json={"model": model}).json()
                found = re.search(r"\bnum_ctx\s+(\d+)", str(shown.get("parameters")))
                return Window(int(found[1]) if found else None)
            return Window(_count(known.get("max_model_len")))
    except (httpx.HTTPError, json.JSONDecodeError, UnicodeDecodeError, LookupError, TypeError, AttributeError):
        return Window()  # it tells nothing: the model itself is asked next, and its errors are told


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def refused_for(refusal: str) -> tuple[int, int] | None:
    """Return the context that a refusal names, and the tokens of the request (0 if unknown); None for other refusals.

    >>> refused_for("request (9051 tokens) exceeds the available context size (8192 tokens), try increasing it")
    (8192, 9051)
    """
    found = _REFUSED.search(refusal)
    sent = _SENT.search(refusal)
    return (int(found["window"] or found["other"]), int(sent[1]) if sent else 0) if found else None


def is_cut(sent: Sequence[str], read: int) -> int:
    """Return how many tokens the texts of a prompt have if a server that has read so many has cut it, 0 if not.

    Vocabularies differ, so that only a prompt of which a third is missing certainly was cut: by our own count, and by
    the characters of each token, which are fewer in every language.

    >>> is_cut(["The harbour has nine boats. " * 1000], 4096), is_cut(["The harbour has nine boats. " * 1000], 6002)
    (6000, 0)
    """
    if read < _LEAST_CONTEXT or sum(map(len, sent)) < _MOST_OF_TOKEN * read:
        return 0
    whole = sum(map(count_tokens, sent))
    return whole if read < _LEAST_READ * whole else 0


def cut_to(messages: tuple[Message, ...], most_bytes: float) -> tuple[Message, ...] | None:
    """Return messages of at most `most_bytes`: the longest text between tags loses its last lines.

    None if they cannot be cut so far.

    >>> cut_to((Message("user", "Why?\\n<facts>\\n1. one\\n2. two\\n</facts>"),), 30)[0].content
    'Why?\\n<facts>\\n1. one\\n</facts>'
    """
    while (over := sum(len(message.content.encode()) for message in messages) - most_bytes) > 0:
        blocks = [
            (len(block["inside"].encode()), place, block)
            for place, message in enumerate(messages)
            if message.role == "user"
            for block in _BLOCK.finditer(message.content)
        ]
        size, place, block = max(blocks, key=lambda each: each[0], default=(0, 0, None))
        if block is None or size < over * 0.5 or size < 2:
            return None
        inside = block["inside"].encode()[: max(1, size - int(over) - 1)].decode("utf-8", "ignore")
        kept = inside[: inside.rfind("\n")] if "\n" in inside.strip() else inside
        text = messages[place].content
        text = f"{text[: block.start('inside')]}{kept.rstrip()}{text[block.end('inside') :]}"
        messages = (*messages[:place], replace(messages[place], content=text), *messages[place + 1 :])
    return messages
