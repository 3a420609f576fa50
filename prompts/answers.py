"""From the text of a model's reply to a typed record, or an error that holds the reply: never to a wrong record."""

import math
import re
from collections.abc import Sequence
from types import UnionType
from typing import TypeVar, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel, RootModel, ValidationError

from prompts.mending import Cut, Reading, Value, read_values, without_thinking
from storage.errors import BadAnswer

T = TypeVar("T", bound=BaseModel)

CUT_OFF = "cut off"
LONGEST_CHOICE = 500
"""Characters: a forced choice is a word or a sentence; an error page or an essay is none."""

_LISTS = (list, tuple, set, frozenset, Sequence)


def read_answer(text: str, schema: type[T], *, cut_off: bool = False) -> T:
    """Return the record that a reply holds.

    A reply that is JSON is taken as it stands. One that is not may have thinking, prose, fences or the schema around
    it, and wrong punctuation inside: it is mended if what it says (every key, string, number and literal, in order)
    stays exactly the same. A bare list is read as the schema's only list, an object in an object of one unknown key as
    the record. `cut_off` tells that the server stopped it ("length").

    Raises BadAnswer: where there is no such record, more than one, or any doubt which. Its `reason` is "cut off" where
    the reply ends too early; `salvaged` is then the record of what was complete before (of the outermost list its
    complete elements), None if the schema wants more.
    """
    reading = read_values(text)
    if reading.cut and not cut_off and not reading.values and (record := _closed(schema, reading.cut)) is not None:
        return record
    if cut_off or reading.cut:
        raise BadAnswer(CUT_OFF, text, _salvaged(schema, reading))
    if reading.flaw:
        raise BadAnswer(reading.flaw, text)
    if not reading.values:
        raise BadAnswer("no JSON in it" if text.strip() else "empty", text)
    reasons: list[str] = []
    records = _records(schema, reading.values, reasons)
    if len(records) > 1:
        raise BadAnswer("ambiguous: several different records in it", text)
    if not records:
        raise BadAnswer(reasons[-1], text)
    return records[0]


def read_choice(text: str, choices: Sequence[str]) -> str:
    """Return the one of the choices that a reply names, whatever case, punctuation or thinking is around it.

    A choice is named as a whole word. A reply of a single word may also be the beginning of one choice, or begin
    with one ("Yes" for "Y", "N" for "No"). Raises BadAnswer where it is none or more than one.

    >>> read_choice("**Yes.**", ("Yes", "No")), read_choice("n", ("YES", "NO"))
    ('Yes', 'NO')
    """
    answer = without_thinking(text).strip().casefold()
    if len(answer) > LONGEST_CHOICE:
        raise BadAnswer("too long for a choice", text)
    named = [choice for choice in choices if _names(answer, choice.casefold())]
    words = re.findall(r"\w+", re.sub(r"^(?:```|~~~)\w*\n", "", answer))
    if not named and len(words) == 1:
        word = words[0]
        named = [c for c in choices if word.startswith(c.casefold()) or c.casefold().startswith(word)]
    if len(named) != 1:
        found = " and ".join(map(repr, named)) if named else "none"
        raise BadAnswer(f"{found} of the choices {', '.join(choices)}", text)
    return named[0]


def _names(answer: str, choice: str) -> bool:
    """Return whether the choice stands there as a word of its own, not in "no-one" or "y'all"."""
    return bool(re.search(rf"(?<!\w)(?<!\w['’\-]){re.escape(choice)}(?!\w)(?!['’\-]\w)", answer))


def _records(schema: type[T], values: Sequence[Value], reasons: list[str]) -> list[T]:
    """Return the different records among the values; `reasons` gets why a value is none."""
    records: list[T] = []
    for value in values:
        record = _fitted(schema, value, reasons)
        if record is not None and record not in records:
            records.append(record)
    return records


def _fitted(schema: type[T], value: Value, reasons: list[str]) -> T | None:
    names, content = _names_of(schema), value.content
    if isinstance(content, dict) and len(content) == 1 and not names & content.keys() and names:
        (inner,) = content.values()
        if isinstance(inner, dict) and inner:
            content = inner
    elif isinstance(content, list) and names:
        field = _only_list(schema)
        if field and (value.alone or (content and all(isinstance(element, dict) for element in content))):
            content = {field: content}
    return _validated(schema, content, value.alone, reasons)


def _validated(schema: type[T], content: object, alone: bool, reasons: list[str]) -> T | None:
    names = _names_of(schema)
    if isinstance(content, dict) and names:
        if "properties" not in names and isinstance(content.get("properties"), dict):
            reasons.append("the schema itself, not an answer")
            return None
        if not names & content.keys() and not (alone and not content):
            reasons.append(f"not of the form asked for: it has none of the keys {', '.join(sorted(names))}")
            return None
    try:
        record = schema.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        reasons.append(f"not of the form asked for: {where + ': ' if where else ''}{first['msg']}")
        return None
    if not _is_finite(record):
        reasons.append("not of the form asked for: a number in it is not finite")
        return None
    return record


def _closed(schema: type[T], cut: Cut) -> T | None:
    """Return the record of a value that lacks only the brackets of objects, if these can have held nothing more."""
    if cut.closed is None:
        return None
    record = _validated(schema, cut.closed.content, cut.closed.alone, [])
    inner: object = record
    for key in (*cut.path, None):
        if not isinstance(inner, BaseModel) or inner.model_config.get("extra") == "allow":
            return None
        fields = type(inner).model_fields
        if inner.model_fields_set != fields.keys():
            return None
        name = next((n for n in fields if key is not None and key in (n, fields[n].alias)), None)
        inner = getattr(inner, name) if name else None
    return record


def _salvaged(schema: type[T], reading: Reading) -> T | None:
    if reading.flaw:
        return None
    if reading.cut:
        return _fitted(schema, reading.cut.complete, []) if reading.cut.complete else None
    records = _records(schema, reading.values, [])
    return records[0] if len(records) == 1 else None


def _names_of(schema: type[BaseModel]) -> frozenset[str]:
    """Return the keys that its objects can have; empty for a schema that is not an object."""
    if issubclass(schema, RootModel):
        return frozenset()
    names = set(schema.model_fields)
    for field in schema.model_fields.values():
        aliases = field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else [field.alias]
        names.update(alias for alias in aliases if isinstance(alias, str))
    return frozenset(names)


def _only_list(schema: type[BaseModel]) -> str | None:
    lists = [field.alias or name for name, field in schema.model_fields.items() if _is_list(field.annotation)]
    return lists[0] if len(lists) == 1 else None


def _is_list(annotation: object) -> bool:
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return any(_is_list(argument) for argument in get_args(annotation))
    return annotation in _LISTS or origin in _LISTS


def _is_finite(record: BaseModel) -> bool:
    """Return whether every number is: pydantic reads the strings "nan" and "inf" as numbers."""
    pending: list[object] = [record]
    while pending:
        part = pending.pop()
        if isinstance(part, float):
            if not math.isfinite(part):
                return False
        elif isinstance(part, BaseModel):
            pending.extend(part.__dict__.values())
            pending.extend((part.model_extra or {}).values())
        elif isinstance(part, dict):
            pending.extend(part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            pending.extend(part)
    return True
