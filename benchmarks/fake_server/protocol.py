"""OpenAI's protocol on a fake server: replies as sent, refusals, completions and embeddings."""

import base64
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from benchmarks.fake_server.replies import FakeRequest, embed, fake_token_count

Feature = Literal[
    "json_schema",
    "json_object",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "stream_options",
    "system_role",
    "usage",
]
_REFUSALS = {
    "json_schema": "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    "json_object": "Invalid parameter: 'response_format' of type 'json_object' is not supported with this model.",
    "max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    "max_completion_tokens": "Unrecognized request argument supplied: max_completion_tokens",
    "temperature": "Unsupported value: 'temperature' does not support 0.0 with this model.",
    "stream_options": "Unrecognized request argument supplied: stream_options",
    "system_role": "System role not supported",
}
"""Errors of a server that lacks a feature, worded as in OpenAI's API: clients learn from these messages."""
_PATH = re.compile(r"(?:/openai)?/v1/(.+?)/?|/openai/deployments/([^/]+)/(.+?)/?")


@dataclass(slots=True)
class HttpReply:
    """A reply as sent: `parts` one by one, `gap` seconds apart, after `wait` seconds."""

    status: int
    parts: Sequence[bytes]
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    wait: float = 0.0
    gap: float = 0.0


class RefusedRequest(Exception):
    """A request is refused; `reply` is the error in the API's format."""

    def __init__(
        self, status: int, message: str, code: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        error = {"message": message, "type": kind, "param": None, "code": code}
        self.reply = HttpReply(status, [json.dumps({"error": error}).encode()], headers or {})
        super().__init__(message)


def route(method: str, path: str) -> tuple[str, str]:
    """Return the endpoint of a path and the model in it ("" except for Azure's); raises Refused for unknown paths.

    >>> route("POST", "/v1/chat/completions"), route("POST", "/openai/deployments/mine/embeddings")
    (('chat/completions', ''), ('embeddings', 'mine'))
    """
    found = _PATH.fullmatch(path)
    endpoint = (found[1] or found[3]) if found else ""
    if endpoint not in ("chat/completions", "embeddings"):
        raise RefusedRequest(404, f"Invalid URL ({method} {path})")
    if method != "POST":
        raise RefusedRequest(405, f"Not allowed to {method} on {path}.")
    return endpoint, (found and found[2]) or ""


def without_features(body: Mapping[str, Any], lacking: Collection[Feature], *, ignore: bool) -> dict[str, Any]:
    """Return the body as understood by a server that lacks features; raises Refused unless it ignores them."""
    understood = dict(body)
    for feature in lacking:
        if feature == "system_role":
            if any(message.get("role") == "system" for message in body.get("messages") or ()):
                raise RefusedRequest(400, _REFUSALS[feature])
            continue
        parameter = "response_format" if feature in ("json_schema", "json_object") else feature
        value = understood.get(parameter)
        if parameter == "response_format":
            uses = value is not None and value.get("type") == feature
        else:
            uses = value not in ((None, 1) if feature == "temperature" else (None,))
        if uses and not ignore:
            raise RefusedRequest(400, _REFUSALS[feature])
        if uses:
            del understood[parameter]
    return understood


def completion(
    request: FakeRequest, text: str | None, finish: str, usage: dict[str, int] | None, piece: int, reasoning: str = ""
) -> HttpReply:
    """Return a chat completion, streamed in pieces of `piece` characters if the request wants that."""
    thought = {"reasoning_content": reasoning} if reasoning else {}
    usage_fields = {} if usage is None else {"usage": usage}
    head = {"id": f"chatcmpl-{request.digest}{request.number:06x}", "created": 0, "model": request.model}
    if not request.body.get("stream"):
        message = {"role": "assistant", "content": text, "refusal": None, **thought}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        whole = {**head, "object": "chat.completion", "choices": [choice], **usage_fields}
        return HttpReply(200, [json.dumps(whole).encode()])
    text = text or ""
    deltas = [{"role": "assistant", "content": ""}]
    deltas += [{"reasoning_content": reasoning[start : start + piece]} for start in range(0, len(reasoning), piece)]
    deltas += [{"content": text[start : start + piece]} for start in range(0, len(text), piece)]
    choices: list[dict[str, Any]] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in [*deltas, {}]]
    choices[-1]["finish_reason"] = finish
    chunks: list[dict[str, Any]] = [{"choices": [choice]} for choice in choices]
    if (request.body.get("stream_options") or {}).get("include_usage"):
        chunks.append({"choices": [], **usage_fields})
    chunks = [{**head, "object": "chat.completion.chunk", **chunk} for chunk in chunks]
    events = [*map(json.dumps, chunks), "[DONE]"]
    return HttpReply(200, [f"data: {event}\n\n".encode() for event in events], kind="text/event-stream")


def embedding_inputs(request: FakeRequest, largest_batch: int) -> list[str]:
    """Return the texts to embed."""
    given = request.body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not (isinstance(texts, list) and texts and all(isinstance(text, str) and text for text in texts)):
        raise RefusedRequest(400, "'$.input' is invalid: give texts that are not empty.")
    if len(texts) > largest_batch:
        raise RefusedRequest(
            400, f"Invalid 'input': array too long. Expected an array with maximum length {largest_batch}."
        )
    return texts


def embeddings(request: FakeRequest, texts: Sequence[str], dimensions: int, *, usage: bool) -> HttpReply:
    """Return embeddings as floats or in base64 (little-endian float32), as requested."""
    vectors = [embed(text, request.body.get("dimensions") or dimensions) for text in texts]
    if request.body.get("encoding_format") == "base64":
        coded: list[object] = [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in vectors]
    else:
        coded = [vector.tolist() for vector in vectors]
    data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(coded)]
    body: dict[str, Any] = {"object": "list", "data": data, "model": request.model}
    if usage:
        tokens = sum(map(fake_token_count, texts))
        body["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
    return HttpReply(200, [json.dumps(body).encode()])
