"""Refusals in the form and the words of OpenAI's API, and the features that a weaker server lacks."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Feature = Literal[
    "json_schema",
    "json_object",
    "logit_bias",
    "logprobs",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "seed",
    "usage",
    "tools",
    "n",
]
FEATURES: tuple[Feature, ...] = get_args(Feature)


@dataclass(eq=False)  # not frozen: raising an exception writes to it
class Refused(Exception):
    """The server will not answer; becomes `{"error": {"message", "type", "param", "code"}}`."""

    status: int
    message: str
    type: str = "invalid_request_error"
    param: str | None = None
    code: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def body(self) -> bytes:
        """Return the error as the API writes it."""
        told = {"message": self.message, "type": self.type, "param": self.param, "code": self.code}
        return json.dumps({"error": told}).encode()


SERVER_ERROR = "The server had an error while processing your request. Sorry about that!"
_TYPES = {401: "invalid_request_error", 429: "requests", 529: "overloaded_error"}


def failure(status: int, message: str = "", headers: tuple[tuple[str, str], ...] = ()) -> Refused:
    """Return the error that goes with a status, with the API's own words where none are given."""
    words = {429: "Rate limit reached for requests.", 503: "The engine is currently overloaded.", 529: "Overloaded"}
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    code = "rate_limit_exceeded" if status == 429 else None
    return Refused(status, message or words.get(status, SERVER_ERROR), kind, None, code, headers)


def _unsupported(param: str, instead: str = "") -> Refused:
    told = f"Unsupported parameter: '{param}' is not supported with this model.{instead}"
    return Refused(400, told, param=param, code="unsupported_parameter")


def _unrecognized(param: str) -> Refused:
    return Refused(400, f"Unrecognized request argument supplied: {param}")


def lacking(body: Mapping[str, Any], without: Collection[Feature]) -> tuple[str, Refused] | None:
    """Return the first parameter that asks for a feature the server is without, and how it is refused."""
    for feature in FEATURES:
        if feature in without:
            found = _lacking(body, feature)
            if found is not None:
                return found
    return None


def _lacking(body: Mapping[str, Any], feature: Feature) -> tuple[str, Refused] | None:
    value = body.get(feature)
    match feature:
        case "json_schema" | "json_object":
            wanted = body.get("response_format")
            if isinstance(wanted, Mapping) and wanted.get("type") == feature:
                told = f"Invalid parameter: 'response_format' of type '{feature}' is not supported with this model."
                return "response_format", Refused(400, told, param="response_format")
        case "max_tokens":
            if value is not None:
                return feature, _unsupported(feature, " Use 'max_completion_tokens' instead.")
        case "temperature":
            if value not in (None, 1):
                told = (
                    f"Unsupported value: 'temperature' does not support {value} with this model. "
                    "Only the default (1) value is supported."
                )
                return feature, Refused(400, told, param=feature, code="unsupported_value")
        case "n":
            if value not in (None, 1):
                return feature, Refused(400, "Only n = 1 is supported.", param="n", code="unsupported_value")
        case "logprobs":
            for name in ("logprobs", "top_logprobs"):
                if body.get(name):
                    return name, _unsupported(name)
        case "logit_bias" | "tools":
            if value:
                return feature, _unsupported(feature)
        case "max_completion_tokens" | "seed" | "stream_options":
            if value is not None:
                return feature, _unrecognized(feature)
        case "usage":
            return None
    return None


def check_chat(body: Mapping[str, Any]) -> None:
    """Raise Refused where OpenAI would refuse the parameters of a chat completion."""
    _check_messages(body.get("messages"))
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        told = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        raise Refused(400, told, code="invalid_parameter_combination")
    for name, low, high in (
        ("max_tokens", 1, None),
        ("max_completion_tokens", 1, None),
        ("n", 1, 128),
        ("top_logprobs", 0, 20),
    ):
        _check_number(name, body.get(name), low, high, whole=True)
    _check_number("temperature", body.get("temperature"), 0, 2)
    if body.get("top_logprobs") and not body.get("logprobs"):
        raise Refused(
            400, "Invalid value for 'top_logprobs': only allowed when 'logprobs' is true.", param="top_logprobs"
        )
    if body.get("stream_options") is not None and not body.get("stream"):
        told = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
        raise Refused(400, told, param="stream_options")
    _check_bias(body.get("logit_bias"))
    _check_format(body)


def _check_messages(messages: object) -> None:
    if messages is None:
        raise Refused(
            400, "Missing required parameter: 'messages'.", param="messages", code="missing_required_parameter"
        )
    if not isinstance(messages, list):
        told = "Invalid type for 'messages': expected an array of objects."
        raise Refused(400, told, param="messages", code="invalid_type")
    if not messages:
        told = (
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
        )
        raise Refused(400, told, param="messages", code="empty_array")
    for place, message in enumerate(messages):
        roles = ("system", "assistant", "user", "function", "tool", "developer")
        if not isinstance(message, Mapping) or message.get("role") not in roles:
            role = message.get("role") if isinstance(message, Mapping) else message
            told = f"Invalid value: '{role}'. Supported values are: {', '.join(map(repr, roles))}."
            raise Refused(400, told, param=f"messages[{place}].role", code="invalid_value")
        content = message.get("content")
        if not (isinstance(content, (str, list)) or (content is None and message["role"] == "assistant")):
            told = f"Invalid value for 'content': expected a string, got {json.dumps(content)}."
            raise Refused(400, told, param=f"messages.[{place}].content", code="invalid_type")


def _check_number(name: str, value: object, low: float, high: float | None, whole: bool = False) -> None:
    if value is None:
        return
    kind = "integer" if whole else "decimal"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        told = f"Invalid type for '{name}': expected {'an integer' if whole else 'a decimal'}."
        raise Refused(400, told, param=name, code="invalid_type")
    assert isinstance(value, (int, float))
    if value < low:
        side, expected = "minimum", f">= {low}"
    elif high is not None and value > high:
        side, expected = "maximum", f"<= {high}"
    else:
        return
    under = "below" if side == "minimum" else "above"
    told = f"Invalid '{name}': {kind} {under} {side} value. Expected a value {expected}, but got {value} instead."
    raise Refused(400, told, param=name, code=f"{kind}_{under}_{side[:3]}_value")


def _check_bias(bias: object) -> None:
    if bias is None:
        return
    good = isinstance(bias, Mapping) and all(
        str(token).isdecimal() and isinstance(weight, (int, float)) and -100 <= weight <= 100
        for token, weight in bias.items()
    )
    if not good:
        told = "Invalid 'logit_bias': expected an object of token ids and numbers between -100 and 100."
        raise Refused(400, told, param="logit_bias")


def _check_format(body: Mapping[str, Any]) -> None:
    wanted = body.get("response_format")
    if wanted is None:
        return
    kind = wanted.get("type") if isinstance(wanted, Mapping) else None
    if kind not in ("text", "json_object", "json_schema"):
        told = f"Invalid value: '{kind}'. Supported values are: 'json_object', 'json_schema', and 'text'."
        raise Refused(400, told, param="response_format.type", code="invalid_value")
    if kind == "json_object" and "json" not in json.dumps(body["messages"]).lower():
        told = "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
        raise Refused(400, told, param="messages")
    if kind == "json_schema":
        _check_schema(wanted.get("json_schema"))


def _check_schema(given: object) -> None:
    if not isinstance(given, Mapping):
        told = "Missing required parameter: 'response_format.json_schema'."
        raise Refused(400, told, param="response_format.json_schema", code="missing_required_parameter")
    name = given.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name):
        told = (
            "Invalid 'response_format.json_schema.name': string does not match pattern. "
            "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        )
        raise Refused(400, told, param="response_format.json_schema.name", code="invalid_value")
    schema = given.get("schema")
    if given.get("strict") and isinstance(schema, Mapping):
        wrong = _not_strict(schema, ())
        if wrong is not None:
            told = f"Invalid schema for response_format '{name}': {wrong}"
            raise Refused(400, told, param="response_format")


def _not_strict(schema: Any, place: tuple[str, ...]) -> str | None:  # noqa: ANN401 - JSON
    """Return what OpenAI's strict mode finds wrong with a schema: objects are closed and require all they name."""
    if isinstance(schema, list):
        return next((wrong for each in schema if (wrong := _not_strict(each, place))), None)
    if not isinstance(schema, Mapping):
        return None
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return f"In context={place!r}, 'additionalProperties' is required to be supplied and to be false."
        missing = [key for key in schema.get("properties", {}) if key not in schema.get("required", ())]
        if missing:
            return (
                f"In context={place!r}, 'required' is required to be supplied and to be an array including every key "
                f"in properties. Missing '{missing[0]}'."
            )
    for word in ("properties", "$defs", "definitions"):
        for key, each in schema.get(word, {}).items():
            if wrong := _not_strict(each, (*place, word, key)):
                return wrong
    for word in ("items", "anyOf", "allOf", "prefixItems"):
        if wrong := _not_strict(schema.get(word), (*place, word)):
            return wrong
    return None
