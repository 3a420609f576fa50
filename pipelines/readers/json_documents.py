"""Read JSON and YAML: objects with a text, exports of chats, descriptions of web interfaces; else as written.

The description of a web interface (OpenAPI 3, Swagger 2) has a section for each operation and schema.
"""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from conspectus.pipelines.readers.conversations import read_chat
from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.plain import read_plain, read_whole
from conspectus.pipelines.readers.rows import (
    NO_MARKS,
    Draft,
    Lost,
    Row,
    as_title,
    items,
    labelled,
    listed,
    mapping,
    numbered_record,
    row_of,
    rows_with_text,
)
from conspectus.storage.settings import InputSettings

_DECLARED = re.compile(r"^[\"']?(?:openapi|swagger)[\"']?:", re.M)
_MOST_YAML = 1_000_000
"""The most characters of YAML that are parsed: it takes a second for a hundred thousand."""
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_FACTS = ("type", "format", "enum", "default", "minimum", "maximum", "minLength", "maxLength", "pattern", "example")


def read_json(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the object with the text column, or the objects of a list, numbered from 1.

    The export of a chat is one text (`chats`), and so is the description of a web interface. A list may be the top
    level or the value of a key (`{"data": [...]}`), if no other list there has texts. Other JSON is read as written.
    Raises Unreadable for invalid JSON.
    """
    value = _value(path)
    if isinstance(value, dict) and settings.text_column in value:
        yield row_of(None, value, settings)
        return
    if not isinstance(value, dict | list):
        raise Unreadable("no JSON object", f"it is a {type(value).__name__}")
    if not value:
        raise Unreadable("empty")
    if (known := read_chat(path, value) or read_api(value)) is not None:
        yield from known
        return
    records = value if isinstance(value, list) else _records(value, settings)
    if records and _has_texts(records, settings):
        numbered = (numbered_record(number, value, "value") for number, value in enumerate(records, start=1))
        yield from rows_with_text(numbered, settings)
    else:
        yield from read_plain(path, settings)


def _value(path: Path) -> Any:  # noqa: ANN401  (any JSON)
    try:
        return json.loads(read_whole(path))
    except RecursionError as error:
        raise Unreadable("nested too deeply") from error
    except ValueError as error:
        raise Unreadable("not JSON", str(error)) from error


def _records(value: dict[str, Any], settings: InputSettings) -> list[Any] | None:
    """Return the only list of an object that contains records with a text; None if there is none."""
    lists = {key: item for key, item in value.items() if isinstance(item, list) and _has_texts(item, settings)}
    if len(lists) > 1:
        raise Unreadable("several lists of texts", f"under the keys {listed(lists)}")
    return next(iter(lists.values()), None)


def _has_texts(values: list[Any], settings: InputSettings) -> bool:
    return any(isinstance(value, dict) and settings.text_column in value for value in values)


def read_yaml(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield the description of a web interface as one text with its operations as places; other YAML as written."""
    with_row: Iterator[Row] | None = None
    if path.stat().st_size <= _MOST_YAML and _DECLARED.search(text := read_whole(path)):
        with suppress(yaml.YAMLError, ValueError, RecursionError):  # a template, or broken: its text is worth reading
            with_row = read_api(yaml.safe_load(text))
    yield from with_row or read_plain(path, settings)


def read_api(value: Any) -> Iterator[Row] | None:  # noqa: ANN401  (any JSON)
    """Return the row of the description of a web interface, None if a value is none."""
    is_api = isinstance(value, dict) and ("openapi" in value or "swagger" in value)
    return _row(value) if is_api and isinstance(value.get("paths"), dict) else None


def _row(api: dict[str, Any]) -> Iterator[Row]:
    draft = Draft()
    info = _at(api, "info")
    title = as_title(_said(info.get("title")))
    draft.add_heading(title or "", 1)
    draft.add(_said(info.get("description")))
    draft.add(labelled({"Version": _said(info.get("version"))}))
    urls = [_said(mapping(server).get("url")) for server in items(api.get("servers"))]
    urls += [f"https://{_said(api['host'])}{_said(api.get('basePath'))}"] if "host" in api else []
    draft.add(labelled({"Base URL": ", ".join(filter(None, urls))}))
    schemes = _at(api, "components", "securitySchemes") or _at(api, "securityDefinitions")
    for name, scheme in schemes.items():
        draft.add(_scheme(name, mapping(scheme)))
    for address, methods in _at(api, "paths").items():
        shared = items(mapping(methods).get("parameters"))
        for method in _METHODS:
            if isinstance(operation := mapping(methods).get(method), dict):
                _add_operation(draft, f"{method.upper()} {address}", operation, shared)
    schemas = _at(api, "components", "schemas") or _at(api, "definitions")
    for name, schema in schemas.items():
        draft.add_heading(clean(str(name)), 2)
        draft.add(_said(mapping(schema).get("description")))
        for line in _fields(str(name), mapping(schema)):
            draft.add(line, "\n")
    yield draft.row(title, {})


def _add_operation(draft: Draft, address: str, operation: dict[str, Any], shared: list[Any]) -> None:
    summary, name = _said(operation.get("summary")), _said(operation.get("operationId"))
    draft.begin("heading", f"{address} {summary or name}".strip(), 2)
    draft.add(f"{summary or name}: {address}" if summary or name else address)
    draft.add(f"Request: {address}")
    draft.add(f"Operation: {name}" if summary and name else "")
    draft.add(_said(operation.get("description")))
    for parameter in map(mapping, [*shared, *items(operation.get("parameters"))]):
        facts = _facts({**parameter, **_at(parameter, "schema")})
        needed = ", required" if parameter.get("required") is True else ""
        if said := _said(parameter.get("name")):
            about = [_said(parameter.get("description")), *facts]
            where = f"Parameter {said} ({_said(parameter.get('in'))}{needed})"
            draft.add(f"{where}: {'; '.join(filter(None, about))}".strip(": "))
    for kind, content in _at(operation, "requestBody", "content").items():
        schema = _at(mapping(content), "schema")
        draft.add(f"Request body ({kind}): {_kind(schema)}")
        for line in _fields("the body", schema):
            draft.add(line, "\n")
    for status, response in _at(operation, "responses").items():
        draft.add(f"Response {status}: {_said(mapping(response).get('description'))}")


def _fields(name: str, schema: dict[str, Any]) -> Iterator[str]:
    required = [_said(one) for one in items(schema.get("required"))]
    if required:
        yield f"Required fields of {name}: {', '.join(required)}"
    for field, about in _at(schema, "properties").items():
        said = mapping(about)
        yield f"{field}: {'; '.join(filter(None, [_said(said.get('description')), _kind(said), *_facts(said)[1:]]))}"


def _facts(schema: dict[str, Any]) -> list[str]:
    return [f"{name}: {_said(schema[name])}" for name in _FACTS if name in schema and _said(schema[name])]


def _kind(schema: dict[str, Any]) -> str:
    """Return the type of a schema: the name that it refers to, or what it is a list of."""
    if reference := _said(schema.get("$ref")):
        return reference.rpartition("/")[2]
    inner = _at(schema, "items")
    return f"list of {_kind(inner)}" if inner and "items" not in inner else _said(schema.get("type"))


def _scheme(name: str, scheme: dict[str, Any]) -> str:
    said = {"apiKey": "API key", "http": "HTTP"}.get(_said(scheme.get("type")), _said(scheme.get("type")))
    place = _said(scheme.get("in")).replace("query", "query parameter")
    where = " ".join(filter(None, (place, _said(scheme.get("name")), _said(scheme.get("scheme")))))
    return f"{said} ({name}): {where} {_said(scheme.get('description'))}".strip()


def _said(value: Any) -> str:  # noqa: ANN401  (any JSON)
    if isinstance(value, list):
        return ", ".join(_said(one) for one in value if not isinstance(one, list | dict))
    is_plain = value is not None and not isinstance(value, dict)
    return clean(str(value)).translate(NO_MARKS).strip() if is_plain else ""


def _at(value: dict[str, Any], *path: str) -> dict[str, Any]:
    for name in path:
        value = mapping(value.get(name))
    return value
