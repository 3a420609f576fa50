"""Parse a model's reply into a typed record, or an error that contains the reply: never into a wrong record."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar, get_origin

from conspectus.prompts.replies.json_repair import Value, read_values
from conspectus.prompts.replies.thinking import why_unusable, without_thinking
from conspectus.storage.errors import BadAnswer
from pydantic import BaseModel, ValidationError

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
            reply ends too early; `salvaged` is then the record of what is certainly complete (the complete elements of
            the outermost list), None if the schema requires more.

    Example:
        >>> class Person(BaseModel):
        ...     name: str
        >>> read_answer("Here it is: {'name': 'Ada',}", Person)
        Person(name='Ada')
    """
    reading = read_values(text)
    values = reading.values if not reading.cut else (reading.complete,) if reading.complete else ()
    records, why = list[T](), reading.flaw or why_unusable(text, "no JSON in it")
    for value in values:
        try:
            record = _fitted(schema, value)
            if record not in records:
                records.append(record)
        except ValueError as error:
            why = str(error)
        except RecursionError:
            why = "it is nested too deeply"
    if cut_off or reading.cut:
        raise BadAnswer(why_unusable(text, CUT_OFF), text, records[0] if len(records) == 1 else None)
    if len(records) != 1:
        raise BadAnswer("ambiguous: several different records in it" if records else why, text)
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


def _fitted(schema: type[T], value: Value) -> T:
    """Return the record in a value; ValueError says why it is none."""
    names, content = schema.model_fields.keys(), value.content
    lists = [name for name, field in schema.model_fields.items() if get_origin(field.annotation) is list]
    only_list = lists[0] if len(lists) == 1 else ""
    if isinstance(content, str) and content.lstrip().startswith(("{", "[")):
        with suppress(ValueError):
            content = json.loads(content)
    if isinstance(content, list):
        if len(content) == 1 and isinstance(content[0], dict) and names <= content[0].keys():
            content = content[0]
        elif only_list and (value.alone or (content and all(isinstance(element, dict) for element in content))):
            content = {only_list: content}
    if isinstance(content, dict):
        content = _named(content, schema, only_list)
        if "properties" not in names and isinstance(content.get("properties"), dict):
            raise ValueError("the schema itself, not an answer")
        if not names & content.keys() and (content or not value.alone):
            raise ValueError(f"not of the form asked for: it has none of the keys {', '.join(sorted(names))}")
        unknown, missing = content.keys() - names, sorted(names - content.keys())
        if unknown and missing:
            told = f"it has the unknown key {min(map(str, unknown))[:50]!r} but not {', '.join(missing)}"
            raise ValueError(f"not of the form asked for: {told}")
    try:
        record = schema.model_validate(content)
        json.dumps(record.model_dump(), allow_nan=False, default=str)  # pydantic reads "nan" as a number
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise ValueError(f"not of the form asked for: {where + ': ' if where else ''}{first['msg']}") from error
    except ValueError as error:
        raise ValueError("not of the form asked for: a number in it is not finite") from error
    return record


def _named(content: dict[str, object], schema: type[BaseModel], only_list: str) -> dict[str, object]:
    """Return an object with the schema's spelling of its keys, out of a key around all of it ("result")."""
    names = schema.model_fields.keys()
    known = {_plain(name): name for name in names}
    renamed = {key if key in names else known.get(_plain(key), key): value for key, value in content.items()}
    content = renamed if len(renamed) == len(content) else content
    if len(content) == 1 and not names & content.keys():
        ((key, inner),) = content.items()
        own = _plain(schema.__name__)
        if isinstance(inner, list) and only_list and _plain(key).endswith(_plain(only_list)):
            return {only_list: inner}
        if isinstance(inner, dict) and inner and _plain(key) in {*_WRAPPERS, own, own.removesuffix("answer")}:
            return inner
    return content


def _plain(name: str) -> str:
    """Return a name without the differences between MyName, my_name and "my name"."""
    return re.sub(r"[\W_]", "", name).casefold()
