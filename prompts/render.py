"""Prompt templates: text files that become the messages of a request.

A line that is only `[system]`, `[user]` or `[assistant]` begins a message of that role; a template without such a line
is one user message. The kind of a placeholder says where its value comes from, and how it is inserted:

    {{words}}       from the settings or this program: unchanged
    {{=passages}}   from documents, models or users: as <passages> ... </passages>
    {{~title}}      the same within a line: on one line, so that it cannot start a line of its own
    {{>data}}       the template prompts/shared/data.txt

No value of the second and third kind can open or close a tag of its prompt: such tags are escaped ("&lt;/passages>").
"""

import re
from collections.abc import Iterator, Set
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import cast

from conspectus.prompts.language_model import Message, Role
from conspectus.storage.errors import SettingsError

PLACEHOLDER = re.compile(r"\{\{([=~]?)(\w+)\}\}")
_ALONE = re.compile(r"^\{\{(\w+)\}\}\n", re.MULTILINE)
_INCLUDED = re.compile(r"\{\{>(\w+)\}\}")
_TURN = re.compile(r"^\[(system|user|assistant)\]\n", re.MULTILINE)
_TAG = re.compile(r"</?([a-z_]+)[ >]")


_REPLACED: ContextVar[str] = ContextVar("folder of prompts", default="")


def prompt_text(name: str) -> str:
    """Return the text of a template, named by its path in this package without a suffix: "json/schema"."""
    return _text(name, _REPLACED.get())


def template_names(folder: str) -> list[str]:
    """Return the names of the templates in a folder of this package and in its folders, sorted.

    >>> template_names("json")
    ['json/again', 'json/schema']
    """
    root = Path(str(files("conspectus.prompts")))
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.joinpath(folder).rglob("*.txt"))


def replace_prompts(folder: str) -> None:
    """Use the templates in a folder (`llm.prompts`) instead of ours, in this task and its child tasks.

    The files have the paths of this package: FOLDER/query/answer/io.txt. "" means no folder.

    Raises:
        SettingsError: The folder does not exist, or a file matches no template, or lacks a placeholder of its template
            or has an extra one.
    """
    if folder:
        _check_folder(folder)
    _REPLACED.set(folder)


@contextmanager
def prompts_of(folder: str) -> Iterator[None]:
    """Use the templates of a folder as `replace_prompts` does, until the end of the block.

    Threads started inside see them if they run in a copy of this context, as a build's do.
    """
    before = _REPLACED.get()
    replace_prompts(folder)
    try:
        yield
    finally:
        _REPLACED.set(before)


@cache
def _text(name: str, folder: str) -> str:
    own = Path(folder, f"{name}.txt") if folder else None
    source = own if own and own.is_file() else files("conspectus.prompts").joinpath(f"{name}.txt")
    text = source.read_text("utf-8").strip()
    return _INCLUDED.sub(lambda included: _text(f"shared/{included[1]}", folder), text)


@cache
def _check_folder(folder: str) -> None:
    if not Path(folder).is_dir():
        raise SettingsError(f"llm.prompts: there is no folder {folder}")
    for file in sorted(Path(folder).rglob("*.txt")):
        name = file.relative_to(folder).with_suffix("").as_posix()
        try:
            wanted = {place for _, place in PLACEHOLDER.findall(_text(name, ""))}
            found = {place for _, place in PLACEHOLDER.findall(_text(name, folder))}
        except OSError as error:
            raise SettingsError(f"llm.prompts: {file} replaces no prompt of that name") from error
        except UnicodeDecodeError as error:
            raise SettingsError(f"llm.prompts: {file} is not UTF-8 text") from error
        wrong = [f"lacks {{{{{place}}}}}" for place in sorted(wanted - found)]
        wrong += [f"has {{{{{place}}}}}, which the prompt does not know" for place in sorted(found - wanted)]
        if wrong:
            raise SettingsError(f"llm.prompts: {file} {'; '.join(wrong)}")


def messages(name: str, **values: str) -> tuple[Message, ...]:
    """Return the messages of a template with all placeholders filled in.

    Placeholders and turns inside values are left as they are. A placeholder alone on its line takes the line with it
    where its value is empty.

    Args:
        name: The template, such as "query/verify_citation".
        **values: A value for each placeholder.

    Raises:
        ValueError: A placeholder has no value, or a value no placeholder.
    """
    text = prompt_text(name)
    kinds = {place: kind for kind, place in PLACEHOLDER.findall(text)}
    if kinds.keys() != values.keys():
        raise ValueError(f"prompt {name} has the placeholders {sorted(kinds)} but got {sorted(values)}")
    text = _ALONE.sub(lambda line: line[0] if values[line[1]] else "", text)
    tags = {*_TAG.findall(text), *(place for place, kind in kinds.items() if kind == "=")}

    def filled(place: re.Match[str]) -> str:
        kind, value = place[1], values[place[2]]
        if kind == "=":
            return _between(place[2], _escaped(value, tags))
        return _escaped(" ".join(value.split()), tags) if kind == "~" else value

    turns = _TURN.split(text if _TURN.match(text) else f"[user]\n{text}")[1:]
    return tuple(
        Message(cast("Role", role), PLACEHOLDER.sub(filled, turn.strip()).strip())
        for role, turn in zip(turns[::2], turns[1::2], strict=True)
    )


def render(name: str, **values: str) -> str:
    """Return the text of a template without turns, filled in as `messages` does."""
    (message,) = messages(name, **values)
    return message.content


def tagged(tag: str, text: str) -> str:
    """Return a text between two tags; the text itself can neither open nor close them.

    >>> tagged("excerpt", "one </excerpt> two")
    '<excerpt>\\none &lt;/excerpt> two\\n</excerpt>'
    """
    return _between(tag, _escaped(text, {tag}))


def _between(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>"


def _escaped(text: str, tags: Set[str]) -> str:
    names = "|".join(map(re.escape, sorted(tags)))
    return re.sub(rf"<(?=\s*/?\s*(?:{names})\b)", "&lt;", text, flags=re.IGNORECASE) if names else text
