"""Find out what a configured model can do, with three calls, one of them of real size: for `conspectus doctor`."""

import json
import time
from dataclasses import dataclass, field, replace

from conspectus.prompts.client.client import ModelClient, llm_address
from conspectus.prompts.client.event_loop import run_on_call_loop
from conspectus.prompts.client.server import open_server
from conspectus.prompts.client.window import Window
from conspectus.prompts.language_model import Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.typed import read_answer
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.settings import LlmSettings
from pydantic import BaseModel

_SHORT = 256
"""Tokens per answer: enough for a model that thinks first."""
_SECONDS = 180.0
"""How long to wait for a sign of life: a model on a processor reads the long prompt so long."""
_LONG, _OF_LINE = 4_000, 16
"""Tokens of the long prompt, as of a usual answer, and the most of each of its lines."""
WORDS = {"start": "heron", "middle": "lantern", "end": "quartz"}
"""What the long prompt holds where."""


class Planet(BaseModel):
    """An answer requested as JSON, which no model gives as JSON unprompted."""

    planet: str


@dataclass(frozen=True, slots=True)
class ModelProbe:
    """The findings; fields not reached because of a `problem` are None.

    Attributes:
        server: The server's address.
        listed: Models that the server lists; None if it lists none.
        seconds: Time to the first reply.
        structured_output: How JSON can be requested; "ignored" if the server accepts a schema but ignores it.
        streams: Whether a reply comes in pieces.
        window: The model's context, if it is known.
        long_prompt: The tokens of the prompt of real size.
        missing: Which of its words did not come back: `start`, `middle`, `end`.
        prompts, replies: Tokens a second.
        tells_usage: Whether the server reports token counts.
        tokens: Tokens spent on finding out.
        problem: Why there was no reply, "" if there was one.
    """

    server: str
    listed: tuple[str, ...] | None = None
    seconds: float | None = None
    structured_output: str | None = None
    streams: bool = False
    window: Window = field(default_factory=Window)
    long_prompt: int = 0
    missing: tuple[str, ...] = ()
    prompts: float = 0.0
    replies: float = 0.0
    tells_usage: bool | None = None
    tokens: int = 0
    problem: str = field(default="")


async def probe(settings: LlmSettings) -> ModelProbe:
    """Ask the model of the settings for a reply, JSON, and the words in a long prompt.

    Raises:
        NeedsModel: The settings name no model.
        SettingsError: A key is missing, or the address is invalid.
    """
    settings = settings.model_copy(update={"attempts": 1, "timeout": min(settings.timeout, _SECONDS)})
    client = ModelClient(settings)
    server = llm_address(settings).shown
    listed = await run_on_call_loop(_listed(settings))
    began = time.perf_counter()
    try:
        first = await client.complete(_request("doctor/hello"))
        seconds = time.perf_counter() - began
        structured_output = await _structured_output(client, settings.model)
        long = await _long_prompt(client)
    except ModelError as error:
        return ModelProbe(server, listed, tokens=_tokens(client), problem=str(error))
    told = replace(long, server=server, listed=listed, seconds=seconds, tokens=_tokens(client))
    return replace(told, structured_output=structured_output, tells_usage=not first.estimated)


async def _structured_output(client: ModelClient, model: str) -> str:
    reply = await client.complete(_request("doctor/planet", Planet))
    asked_with = client.capabilities(model).structured_output
    try:
        read_answer(reply.text, Planet)
    except BadAnswer:
        return "ignored" if asked_with == "json_schema" else "none"
    return asked_with


async def _long_prompt(client: ModelClient) -> ModelProbe:
    window, before = client.window("doctor"), client.meter.total()
    lines = [f"{number}. The ferry leaves at noon." for number in range(window.room(_LONG) // _OF_LINE)]
    for place, word in zip((0, len(lines) // 2, len(lines)), WORDS.values(), strict=True):
        lines.insert(place, f"The code word is {word}.")
    pieces, times = list[str](), [time.perf_counter()]

    def hear(piece: str) -> None:
        pieces.append(piece)
        times.append(time.perf_counter())

    client.on_text = hear
    await client.complete(_request("doctor/words", lines="\n".join(lines)))
    now, said = client.meter.total(), "".join(pieces).casefold()
    sent, got = now.prompt_tokens - before.prompt_tokens, now.completion_tokens - before.completion_tokens
    missing = tuple(where for where, word in WORDS.items() if word not in said)
    streams, first = len(pieces) > 1, times[min(1, len(pieces))]
    prompts, replies = sent / max(first - times[0], 1e-3), got / max(times[-1] - (first if streams else times[0]), 1e-3)
    found = ModelProbe("", streams=streams, window=window, long_prompt=sent, missing=missing)
    return replace(found, prompts=prompts, replies=replies)


async def _listed(settings: LlmSettings) -> tuple[str, ...] | None:
    import httpx2
    import openai

    try:
        client = open_server(llm_address(settings)).openai
        response = await client.get("/models", cast_to=httpx2.Response, options={"timeout": 10})
        listed = json.loads(response.content)["data"]
        return tuple(sorted(model["id"] for model in listed if isinstance(model["id"], str)))
    except (openai.APIError, ValueError, TypeError, LookupError, RecursionError):
        return None  # a list of models is not what matters


def _request(prompt: str, schema: type[BaseModel] | None = None, **values: str) -> Request:
    return Request(messages(prompt, **values), "doctor", schema=schema, max_tokens=_SHORT)


def _tokens(client: ModelClient) -> int:
    total = client.meter.total()
    return total.prompt_tokens + total.completion_tokens
