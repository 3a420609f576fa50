"""Chat completions: replies as the payload that a server sends, whole or in pieces."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from conspectus.prompts.fake.asked import FakeRequest
from conspectus.prompts.fake.chance import unit
from conspectus.prompts.fake.malformed import MALFORMED, MalformedKind
from conspectus.prompts.fake.replies import FakeReply, ToolCall
from conspectus.prompts.fake.tokens import Count, cut, pieces


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, as the server counts them."""

    prompt: int
    completion: int = 0

    def payload(self) -> dict[str, int]:
        """Return the `usage` of a reply."""
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
        }


@dataclass(frozen=True, slots=True)
class Choice:
    """One finished choice: its message and why it ended."""

    text: str | None
    tool_calls: tuple[dict[str, Any], ...]
    refusal: str | None
    finish: str
    tokens: int


def choose(request: FakeRequest, reply: FakeReply, count: Count, malformed: MalformedKind | None) -> Choice:
    """Return what becomes of a reply: spoilt, ended at a stop sequence, cut at max_tokens, its tokens counted."""
    text, finish = reply.text, reply.finish
    for kind in (reply.malformed, malformed):
        if kind is not None and text is not None:
            text = MALFORMED[kind](text)
    stop = request.body.get("stop")
    if text and stop:
        for word in [stop] if isinstance(stop, str) else stop:
            text = text.split(word, 1)[0]
    limit = request.max_tokens
    tokens = count(text) if text else 0
    if text and limit is not None and tokens > limit:
        text = cut(text, limit, count)
        tokens = count(text)
        finish = finish or "length"
    calls = tuple(_call(request, place, call) for place, call in enumerate(reply.tool_calls))
    tokens += sum(count(each) for call in calls for each in (call["function"]["name"], call["function"]["arguments"]))
    tokens += count(reply.refusal) if reply.refusal else 0
    return Choice(text, calls, reply.refusal, finish or ("tool_calls" if calls else "stop"), tokens)


def _call(request: FakeRequest, place: int, call: ToolCall) -> dict[str, Any]:
    arguments = call.arguments if isinstance(call.arguments, str) else json.dumps(dict(call.arguments))
    return {
        "id": f"call_{request.digest[:16]}{request.number:04x}{place}",
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def logprobs(text: str, top: int) -> dict[str, Any]:
    """Return made-up log probabilities of a text's tokens, with the `top` most likely (the token itself first)."""
    return {"content": [_logprob(token, place, top) for place, token in enumerate(pieces(text))], "refusal": None}


def _logprob(token: str, place: int, top: int) -> dict[str, Any]:
    def entry(text: str, value: float) -> dict[str, Any]:
        return {"token": text, "logprob": value, "bytes": list(text.encode())}

    value = -0.5 * unit("logprob", place, token)
    others = [entry(f"{token}{chr(0x61 + i)}", value - (i + 1)) for i in range(max(0, top - 1))]
    return {**entry(token, value), "top_logprobs": [entry(token, value), *others] if top else []}


def completion(
    request: FakeRequest, choices: Sequence[Choice], usage: Usage | None, created: int, model: str
) -> dict[str, Any]:
    """Return the payload of a whole chat completion."""
    payload: dict[str, Any] = {
        "id": _id(request),
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [_whole(request, place, choice) for place, choice in enumerate(choices)],
        "system_fingerprint": "fp_fake",
    }
    if usage is not None:
        payload["usage"] = usage.payload()
    return payload


def _id(request: FakeRequest) -> str:
    return f"chatcmpl-{request.digest}{request.number:06x}"


def _whole(request: FakeRequest, place: int, choice: Choice) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": choice.text, "refusal": choice.refusal}
    if choice.tool_calls:
        message["tool_calls"] = list(choice.tool_calls)
    told = (
        logprobs(choice.text or "", request.body.get("top_logprobs") or 0) if _wants_logprobs(request, choice) else None
    )
    return {"index": place, "message": message, "logprobs": told, "finish_reason": choice.finish}


def _wants_logprobs(request: FakeRequest, choice: Choice) -> bool:
    return bool(request.body.get("logprobs")) and bool(choice.text)


def events(
    request: FakeRequest, choices: Sequence[Choice], usage: Usage | None, created: int, model: str, piece: int
) -> list[bytes]:
    """Return the server-sent events of a streamed completion, text in pieces of `piece` characters.

    A `usage` comes in a last chunk without choices, after chunks whose usage is null.
    """
    head = {"id": _id(request), "object": "chat.completion.chunk", "created": created, "model": model}
    rest: dict[str, Any] = {"system_fingerprint": "fp_fake"} | ({} if usage is None else {"usage": None})
    chunks: list[dict[str, Any]] = []
    for place, choice in enumerate(choices):
        deltas = _deltas(request, choice, piece)
        finish: str | None = None
        for turn, (delta, told) in enumerate(deltas):
            finish = choice.finish if turn == len(deltas) - 1 else None
            chunks.append({"index": place, "delta": delta, "logprobs": told, "finish_reason": finish})
    payloads: list[dict[str, Any]] = [head | {"choices": [chunk]} | rest for chunk in chunks]
    if usage is not None:
        payloads.append(head | {"choices": []} | rest | {"usage": usage.payload()})
    return [*(b"data: " + json.dumps(each).encode() + b"\n\n" for each in payloads), b"data: [DONE]\n\n"]


def _deltas(request: FakeRequest, choice: Choice, piece: int) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
    """Return the deltas of a choice, each with its log probabilities: the role, the pieces, and an empty last one."""
    deltas: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
        ({"role": "assistant", "content": None if choice.tool_calls else "", "refusal": None}, None)
    ]
    if _wants_logprobs(request, choice):
        # One token a chunk, as its log probabilities go with it.
        told = logprobs(choice.text or "", request.body.get("top_logprobs") or 0)["content"]
        deltas += [({"content": each["token"]}, {"content": [each], "refusal": None}) for each in told]
    else:
        text = choice.text or ""
        deltas += [({"content": text[i : i + piece]}, None) for i in range(0, len(text), piece)]
    if choice.refusal:
        deltas.append(({"refusal": choice.refusal}, None))
    for place, call in enumerate(choice.tool_calls):
        name, arguments = call["function"]["name"], call["function"]["arguments"]
        opening = {"index": place, "id": call["id"], "type": "function", "function": {"name": name, "arguments": ""}}
        deltas.append(({"tool_calls": [opening]}, None))
        for i in range(0, len(arguments), piece):
            more = {"index": place, "function": {"arguments": arguments[i : i + piece]}}
            deltas.append(({"tool_calls": [more]}, None))
    return [*deltas, ({}, None)]
