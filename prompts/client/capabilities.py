"""Which parts of OpenAI's protocol a server supports, learned from its refusals; and requests built accordingly.

Reasoning models refuse `max_tokens` and `temperature`, older servers JSON schemas. A refused feature is left out
or expressed in another way from then on. `max_tokens` is tried first because servers that do not know its successor
`max_completion_tokens` ignore it silently, and then nothing bounds the reply.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

from conspectus.prompts.language_model import Request
from conspectus.prompts.render import render
from pydantic import BaseModel

StructuredOutput = Literal["json_schema", "json_object", "none"]

_log = logging.getLogger("conspectus")
_UNKNOWN = re.compile("unsupported|not support|unrecognized|unknown|unexpected|extra|not permitted|deprecated", re.I)
"""How servers complain about an unknown parameter, but not about a value out of range."""
_TOO_LONG = re.compile("context length|context window|too large|too long", re.I)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What requests to a server may use; each field can be lowered, never raised."""

    structured_output: StructuredOutput = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    frequency_penalty: bool = True
    stream_usage: bool = True
    system_role: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)
    """`llm.extra`."""

    def lowered(self, refusal: str) -> "Capabilities | None":
        """Return the capabilities without the feature that a refusal (the server's message) names, None if it names
        none.

        >>> Capabilities().lowered("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.").limit
        'max_completion_tokens'
        """
        if _TOO_LONG.search(refusal):  # names max_tokens too, but is about the size of the request
            return None
        return next(self._weaker(refusal.lower()), None)

    def _weaker(self, refusal: str) -> Iterator["Capabilities"]:
        if self.structured_output == "json_schema" and ("json_schema" in refusal or "response_format" in refusal):
            yield replace(self, structured_output="json_object")
        if self.structured_output == "json_object" and ("json_object" in refusal or "response_format" in refusal):
            yield replace(self, structured_output="none")
        unknown = "max_completion_tokens" in refusal or _UNKNOWN.search(refusal)
        if self.limit == "max_tokens" and "max_tokens" in refusal and unknown:
            yield replace(self, limit="max_completion_tokens")
        if self.temperature and "temperature" in refusal and _UNKNOWN.search(refusal):
            yield replace(self, temperature=False)
        if self.frequency_penalty and "penalty" in refusal:
            yield replace(self, frequency_penalty=False)
        for key in self.extra:
            if key.lower() in refusal:
                _log.warning("the server refuses %s: it is left out (llm.extra)", key)
                yield replace(self, extra={name: value for name, value in self.extra.items() if name != key})
        if self.stream_usage and "stream_options" in refusal:
            yield replace(self, stream_usage=False)
        if self.system_role and "system" in refusal and ("role" in refusal or _UNKNOWN.search(refusal)):
            yield replace(self, system_role=False)

    def body(self, request: Request, model: str, max_tokens: int, stream: bool = False) -> dict[str, Any]:
        """Return the JSON body of the chat completion for a request."""
        body: dict[str, Any] = {"model": model, "messages": self._messages(request), self.limit: max_tokens}
        if self.temperature:
            body["temperature"] = request.temperature
        if request.frequency_penalty and self.frequency_penalty:
            body["frequency_penalty"] = request.frequency_penalty
        schema = requested_schema(request)
        if schema and self.structured_output == "json_schema":
            named = {"name": "reply", "schema": json.loads(schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif schema and self.structured_output == "json_object":
            body["response_format"] = {"type": "json_object"}
        body |= self.extra
        if stream:
            body["stream"] = True
            if self.stream_usage:
                body["stream_options"] = {"include_usage": True}
        return body

    def _messages(self, request: Request) -> list[dict[str, str]]:
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        if not self.system_role and messages[0]["role"] == "system":  # the chat templates of some models have none
            rules = messages.pop(0)["content"]
            if messages and messages[0]["role"] == "user":
                rules = f"{rules}\n\n{messages.pop(0)['content']}"
            messages.insert(0, {"role": "user", "content": rules})
        schema = requested_schema(request)
        if schema and self.structured_output != "json_schema":
            in_words = render("json/schema", schema=schema)
            if messages[-1]["role"] == "user":  # some chat templates refuse two consecutive turns of one role
                messages[-1]["content"] += f"\n\n{in_words}"
            else:
                messages.append({"role": "user", "content": in_words})
        return messages


def requested_schema(request: Request) -> str:
    """Return the JSON schema that a request asks for, as text; empty if it asks for none."""
    return schema_text(request.schema) if request.schema else ""


@cache
def schema_text(schema: type[BaseModel]) -> str:
    """Return a model's JSON schema as strict servers accept it: closed objects, every key required.

    Keys keep the order of the class, because servers that enforce a schema generate keys in its order: fields that the
    model should think about first, such as the reason for a verdict, come first. Docstrings are left out.
    """
    return json.dumps(_strict(schema.model_json_schema()), ensure_ascii=False)


def _strict(node: Any) -> Any:  # noqa: ANN401  (any JSON)
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    strict = {key: _strict(value) for key, value in node.items() if key not in {"title", "default"}}
    if "properties" in node or "enum" in node:
        strict.pop("description", None)
    if isinstance(node.get("properties"), dict):
        # A property may itself be called "title": the keys of "properties" are names, not keywords.
        strict["properties"] = {name: _strict(value) for name, value in node["properties"].items()}
        strict["required"] = list(node["properties"])
        strict["additionalProperties"] = False
    return strict
