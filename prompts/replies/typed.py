"""Parse a model's reply into a typed record, or an error that contains the reply: never into a wrong record."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar, get_origin

from conspectus.prompts.replies.json_repair import JsonReading, Value, read_values
from conspectus.prompts.replies.thinking import why_unusable, without_thinking
from conspectus.storage.errors import BadAnswer
from pydantic import AliasChoices, BaseModel, RootModel, ValidationError

T = TypeVar("T", bound=BaseModel)

CUT_OFF = "cut off"
LONGEST_CHOICE = 500
"""Characters: a forced choice is a word or a sentence, not an error page or an essay."""

_WRAPPERS = {"answer", "result", "output", "response", "data", "json", "reply", "object"}
_NEGATION = re.compile(r"\b(?:no|not|never|neither|nor|cannot)\b|n['’ʼ]t\b")
_TRUTH = re.compile(r"\W*(true|false)\b")


def read_answer(text: str, schema: type[T], *, cut_off: bool = False) -> T:
    """Return the record in a reply.

    Strict JSON is parsed as it is. Otherwise thinking, prose, fences or the schema may surround the JSON, and its
    punctuation may be wrong: it is repaired if its content (every key, string, number and literal, in order) stays
    exactly the same. A bare list is read as the schema's only list, and an object under a single key that is the
    schema's name or a word like "result" as the record. Unknown keys are accepted only in addition to all known ones,
    since any other could be a misspelt known one.

    Args:
        text: The text of the reply.
        schema: A pydantic model.
        cut_off: The server stopped the reply at `max_tokens`.

    Raises:
        BadAnswer: There is no such record, there are several, or it is ambiguous. The `reason` is "cut off" if the
        reply ends
            too early; `salvaged` is then the record of what is certainly complete (the complete elements of the
            outermost list), None if the schema requires more.

    Example:
        >>> class Person(BaseModel):
        ...     name: str
        >>> read_answer("Here it is: {'name': 'Ada',}", Person)
        Person(name='Ada')
    """
    try:
        return _read(text, schema, cut_off)
    except RecursionError as error:
        raise BadAnswer("it is nested too deeply", text) from error


def _read(text: str, schema: type[T], cut_off: bool) -> T:
    reading = read_values(text)
    if cut_off or reading.cut:
        raise BadAnswer(why_unusable(text, CUT_OFF), text, _salvaged(schema, reading))
    if reading.flaw:
        raise BadAnswer(reading.flaw, text)
    if not reading.values:
        raise BadAnswer(why_unusable(text, "no JSON in it"), text)
    reasons: list[str] = []
    records = _records(schema, reading.values, reasons)
    if len(records) > 1:
        raise BadAnswer("ambiguous: several different records in it", text)
    if not records:
        raise BadAnswer(reasons[-1], text)
    return records[0]


def read_choice(text: str, choices: Sequence[str]) -> str:
    """Return the choice that a reply names, whatever the case, punctuation or thinking around it.

    A choice is named as a whole word; a single letter may abbreviate it ("Y" for "Yes"). Raises BadAnswer if the reply
    names none or several, or contains a negation as well ("not yes", "there is no doubt").

    >>> read_choice("**Yes.**", ("Yes", "No")), read_choice("n", ("YES", "NO"))
    ('Yes', 'NO')
    """
    answer = without_thinking(text).strip().casefold()
    if len(answer) > LONGEST_CHOICE:
        raise BadAnswer("too long for a choice", text)
    any_choice = re.compile(
        "|".join(_as_a_word(choice.casefold()) for choice in sorted(choices, key=len, reverse=True))
    )
    found = any_choice.findall(answer)
    named = [choice for choice in choices if choice.casefold() in found]
    words = re.findall(r"\w+", re.sub(r"^(?:```|~~~)\w*\n", "", answer))
    if not named and {choice.casefold() for choice in choices} == {"yes", "no"} and (told := _TRUTH.match(answer)):
        return next(choice for choice in choices if (choice.casefold() == "yes") == (told[1] == "true"))
    if not named and len(words) == 1:
        named = [choice for choice in choices if len(words[0]) == 1 and choice.casefold().startswith(words[0])]
    elif _NEGATION.search(any_choice.sub(" ", answer)):
        raise BadAnswer("a negation in it leaves the choice in doubt", text)
    if len(named) != 1:
        names = " and ".join(map(repr, named)) if named else "none"
        raise BadAnswer(f"{names} of the choices {', '.join(choices)}", text)
    return named[0]


def _as_a_word(choice: str) -> str:
    """Return a pattern for the choice as a whole word: not in "no-one", "y'all", "n/a", "3.5" or "no doubt"."""
    after = r"(?!\w|['’\-/]\w|\.\d)" + (r"(?![ \t]+\w)" if choice == "no" else "")
    return rf"(?<!\w)(?<!\w['’\-/])(?<!\d\.){re.escape(choice)}{after}"


def _records(schema: type[T], values: Sequence[Value], reasons: list[str]) -> list[T]:
    """Return the different records among the values; `reasons` collects why the other values are not records."""
    records: list[T] = []
    for value in values:
        record = _fitted(schema, value, reasons)
        if record is not None and record not in records:
            records.append(record)
    return records


def _fitted(schema: type[T], value: Value, reasons: list[str]) -> T | None:
    names, content = _names_of(schema), value.content
    if isinstance(content, str) and content.lstrip().startswith(("{", "[")):
        with suppress(ValueError):
            content = json.loads(content)
    if isinstance(content, dict) and names:
        content = _with_known_keys(schema, names, content)
    if isinstance(content, dict) and len(content) == 1 and not names & content.keys() and names:
        ((key, inner),) = content.items()
        own = _plain(schema.__name__)
        if isinstance(inner, dict) and inner and _plain(key) in {*_WRAPPERS, own, own.removesuffix("answer")}:
            content = inner
    elif isinstance(content, list) and names:
        field = _only_list(schema)
        if len(content) == 1 and isinstance(content[0], dict) and names <= content[0].keys():
            content = content[0]
        elif field and (value.alone or (content and all(isinstance(element, dict) for element in content))):
            content = {field: content}
    return _validated(schema, content, value.alone, reasons)


def _with_known_keys(schema: type[BaseModel], names: frozenset[str], content: dict[str, object]) -> dict[str, object]:
    """Return an object with the schema's spelling of its keys: "Questions" and "named_entities" for one lone list."""
    known = {_plain(name): name for name in names}
    if len(content) == 1 and not names & content.keys() and (field := _only_list(schema)):
        ((key, inner),) = content.items()
        if isinstance(inner, list) and _plain(key).endswith(_plain(field)):
            return {field: inner}
    renamed = {key if key in names else known.get(_plain(key), key): value for key, value in content.items()}
    return renamed if len(renamed) == len(content) else content


def _plain(name: str) -> str:
    """Return a name without the differences between MyName, my_name and "my name"."""
    return re.sub(r"[\W_]", "", name).casefold()


def _validated(schema: type[T], content: object, alone: bool, reasons: list[str]) -> T | None:
    names = _names_of(schema)
    if isinstance(content, dict) and names:
        if "properties" not in names and isinstance(content.get("properties"), dict):
            reasons.append("the schema itself, not an answer")
            return None
        if not names & content.keys() and not (alone and not content):
            reasons.append(f"not of the form asked for: it has none of the keys {', '.join(sorted(names))}")
            return None
    if isinstance(content, dict) and schema.model_config.get("extra") != "allow":
        fields = {
            key for key, field in schema.model_fields.items() if field.alias is None and field.validation_alias is None
        }
        unknown, missing = content.keys() - names, sorted(fields - content.keys())
        if unknown and missing:
            told = f"it has the unknown key {min(map(str, unknown))[:50]!r} but not {', '.join(missing)}"
            reasons.append(f"not of the form asked for: {told}")
            return None
    try:
        record = schema.model_validate(content)
        json.dumps(record.model_dump(), allow_nan=False, default=str)  # pydantic reads "nan" as a number
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        reasons.append(f"not of the form asked for: {where + ': ' if where else ''}{first['msg']}")
        return None
    except ValueError:
        reasons.append("not of the form asked for: a number in it is not finite")
        return None
    return record


def _salvaged(schema: type[T], reading: JsonReading) -> T | None:
    if reading.flaw:
        return None
    if reading.cut:
        return _fitted(schema, reading.complete, []) if reading.complete else None
    records = _records(schema, reading.values, [])
    return records[0] if len(records) == 1 else None


def _names_of(schema: type[BaseModel]) -> frozenset[str]:
    """Return the keys of a schema's objects; empty for a schema that is not an object."""
    if issubclass(schema, RootModel):
        return frozenset()
    names = set(schema.model_fields)
    for field in schema.model_fields.values():
        aliases = field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else [field.alias]
        names.update(alias for alias in aliases if isinstance(alias, str))
    return frozenset(names)


def _only_list(schema: type[BaseModel]) -> str | None:
    lists = [field.alias or name for name, field in schema.model_fields.items() if get_origin(field.annotation) is list]
    return lists[0] if len(lists) == 1 else None
