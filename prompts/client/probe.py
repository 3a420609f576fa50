"""Find out what a configured model can do, with a few calls of a few tokens: for `conspectus doctor`."""

import json
import time
from dataclasses import dataclass, field

from conspectus.prompts.client.client import ModelClient, llm_address
from conspectus.prompts.client.event_loop import run_on_call_loop
from conspectus.prompts.client.server import open_server
from conspectus.prompts.language_model import Request
from conspectus.prompts.render import messages
from conspectus.prompts.replies.typed import read_answer
from conspectus.storage.errors import BadAnswer, ModelError
from conspectus.storage.settings import LlmSettings
from pydantic import BaseModel

_SHORT = 256
"""Tokens per answer: enough for a model that thinks first."""


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
        streams: Whether the server streams.
        tells_usage: Whether the server reports token counts.
        tokens: Tokens spent on finding out.
        problem: Why there was no reply, "" if there was one.
    """

    server: str
    listed: tuple[str, ...] | None = None
    seconds: float | None = None
    structured_output: str | None = None
    streams: bool | None = None
    tells_usage: bool | None = None
    tokens: int = 0
    problem: str = field(default="")


async def probe(settings: LlmSettings) -> ModelProbe:
    """Ask the model of the settings for a reply, a stream and JSON.

    Raises:
        NeedsModel: The settings name no model.
        SettingsError: A key is missing, or the address is invalid.
    """
    settings = settings.model_copy(update={"attempts": 1, "timeout": min(settings.timeout, 60.0)})
    client = ModelClient(settings)
    server = llm_address(settings).shown
    listed = await run_on_call_loop(_listed(settings))
    began = time.perf_counter()
    try:
        first = await client.complete(_request("doctor/hello"))
        seconds = time.perf_counter() - began
        structured_output = await _structured_output(client, settings.model)
        streams = await _streams(client)
    except ModelError as error:
        return ModelProbe(server, listed, tokens=_tokens(client), problem=str(error))
    return ModelProbe(server, listed, seconds, structured_output, streams, not first.estimated, _tokens(client))


async def _structured_output(client: ModelClient, model: str) -> str:
    reply = await client.complete(_request("doctor/planet", Planet))
    asked_with = client.capabilities(model).structured_output
    try:
        read_answer(reply.text, Planet)
    except BadAnswer:
        return "ignored" if asked_with == "json_schema" else "none"
    return asked_with


async def _streams(client: ModelClient) -> bool:
    try:
        return bool([piece async for piece in client.stream(_request("doctor/stream"))])
    except ModelError:  # the same request without a stream has just been answered
        return False


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


def _request(prompt: str, schema: type[BaseModel] | None = None) -> Request:
    return Request(messages(prompt), "doctor", schema=schema, max_tokens=_SHORT)


def _tokens(client: ModelClient) -> int:
    total = client.meter.total()
    return total.prompt_tokens + total.completion_tokens
