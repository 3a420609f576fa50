"""How one server wants to be asked: what of OpenAI's protocol it knows, found out by what it refuses.

Reasoning models refuse `max_tokens` and `temperature`, older servers JSON schemas. What is refused is left out, or
asked for in another way, from then on. `max_tokens` comes first because servers that do not know its successor
`max_completion_tokens` ignore that without a word, and then nothing bounds the reply.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from conspectus.prompts.model import Request
from conspectus.prompts.render import render
from pydantic import BaseModel

StructuredOutput = Literal["json_schema", "json_object", "none"]

_UNKNOWN = re.compile("unsupported|not support|unrecognized|unknown|unexpected|extra|not permitted|deprecated", re.I)
"""What is said of a parameter that is not known, and not of a value that is out of range."""
_TOO_LONG = re.compile("context length|context window|too large|too long", re.I)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server is asked with; each field can be lowered, never raised."""

    structured_output: StructuredOutput = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    stream_usage: bool = True

    def lowered(self, refusal: str) -> "Dialect | None":
        """Return the dialect without what a refusal (the server's message) names; None where it names nothing.

        >>> Dialect().lowered("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.").limit
        'max_completion_tokens'
        """
        if _TOO_LONG.search(refusal):  # names max_tokens too, and is about the size of the request
            return None
        for weaker in self._weaker(refusal.lower()):
            return weaker
        return None

    def _weaker(self, refusal: str) -> Iterator["Dialect"]:
        if self.structured_output == "json_schema" and ("json_schema" in refusal or "response_format" in refusal):
            yield replace(self, structured_output="json_object")
        if self.structured_output == "json_object" and ("json_object" in refusal or "response_format" in refusal):
            yield replace(self, structured_output="none")
        unknown = "max_completion_tokens" in refusal or _UNKNOWN.search(refusal)
        if self.limit == "max_tokens" and "max_tokens" in refusal and unknown:
            yield replace(self, limit="max_completion_tokens")
        if self.temperature and "temperature" in refusal and _UNKNOWN.search(refusal):
            yield replace(self, temperature=False)
        if self.stream_usage and "stream_options" in refusal:
            yield replace(self, stream_usage=False)

    def parameters(self, request: Request, model: str, max_tokens: int, stream: bool = False) -> dict[str, Any]:
        """Return the body of the chat completion that asks for a request."""
        body: dict[str, Any] = {"model": model, "messages": self._messages(request), self.limit: max_tokens}
        if self.temperature:
            body["temperature"] = request.temperature
        form = wanted_schema(request)
        if form and self.structured_output == "json_schema":
            named = {"name": "reply", "schema": json.loads(form), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif form and self.structured_output == "json_object":
            body["response_format"] = {"type": "json_object"}
        if stream:
            body["stream"] = True
            if self.stream_usage:
                body["stream_options"] = {"include_usage": True}
        return body

    def _messages(self, request: Request) -> list[dict[str, str]]:
        messages = [{"role": each.role, "content": each.content} for each in request.messages]
        form = wanted_schema(request)
        if form and self.structured_output != "json_schema":
            spelled = render("form/json", schema=form)
            if messages[-1]["role"] == "user":  # some chat templates refuse two turns of one role
                messages[-1]["content"] += f"\n\n{spelled}"
            else:
                messages.append({"role": "user", "content": spelled})
        return messages


def wanted_schema(request: Request) -> str:
    """Return the JSON schema that a request asks for, as text; empty where it asks for none."""
    return schema_text(request.schema) if request.schema else ""


@cache
def schema_text(schema: type[BaseModel]) -> str:
    """Return a model's JSON schema in the form that strict servers take: closed objects, every key required."""
    return json.dumps(_strict(schema.model_json_schema()), ensure_ascii=False, sort_keys=True)


def _strict(node: Any) -> Any:  # noqa: ANN401  (any JSON)
    if isinstance(node, list):
        return [_strict(each) for each in node]
    if not isinstance(node, dict):
        return node
    strict = {key: _strict(value) for key, value in node.items() if key not in {"title", "default"}}
    if isinstance(node.get("properties"), dict):
        # A property may itself be called "title": what stands under "properties" are names, not keywords.
        strict["properties"] = {name: _strict(value) for name, value in node["properties"].items()}
        strict["required"] = list(node["properties"])
        strict["additionalProperties"] = False
    return strict
