"""Commands made from functions: each parameter is an option, and its help is what the docstring says of it."""

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from inspect import Parameter, Signature
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

import typer
from conspectus.cli.app import DEFAULT_INDEX, app, complain, examples
from conspectus.operation_table import Operation, about_of, helps_of
from conspectus.query.menu import methods
from typer.models import ArgumentInfo, OptionInfo, ParameterInfo

if TYPE_CHECKING:
    from conspectus.api import Index
    from conspectus.storage.settings import Settings

Function = TypeVar("Function", bound=Callable[..., None])


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options that choose the settings."""

    settings: Path | None = None
    overrides: list[str] | None = None

    def load(self, *overrides: str, **files: Any) -> "Settings":  # noqa: ANN401  (paths)
        """Return the settings: options first, then the environment, then the file (./settings.yaml if none is named).

        Args:
            overrides: Settings after those of the command line.
            files: Files of documents and graphs, by the names in `_FILES`.
        """
        from conspectus.storage.settings import load_settings, parse_override
        from conspectus.storage.settings.loading import with_files_beside

        file = self.settings or (Path("settings.yaml") if Path("settings.yaml").is_file() else None)
        sections: dict[str, dict[str, object]] = {}
        for text in (*(self.overrides or ()), *overrides):
            section, key, value = parse_override(text)
            sections.setdefault(section, {})[key] = value
        for name, (section, key) in _FILES.items():
            if given := files.get(name):
                named = str(given) if isinstance(given, Path) else tuple(map(str, given))
                sections.setdefault(section, {})[key] = named
        settings = load_settings(file, sections)
        return settings if file else with_files_beside(settings, Path())


_FILES = {
    "openie": ("extraction", "openie"),
    "kg": ("kg", "files"),
    "kg_labels": ("kg", "labels"),
    "corrections": ("build", "corrections"),
}
"""The section and the key of settings that name files and have options of their own."""


@dataclass(frozen=True, slots=True)
class Source(Chosen):
    """The options that choose an index, a part of it, and the settings."""

    index: str = DEFAULT_INDEX
    where: str | None = None
    access: list[str] | None = None
    as_of: str | None = None
    between: tuple[str, str] | None = None

    @property
    def narrowed(self) -> bool:
        """Whether only a part of the index is asked."""
        return any((self.where, self.access, self.as_of, self.between))

    def open(self) -> "Index":
        """Return the index, restricted to the permitted documents; warn on stderr if there are none."""
        from conspectus.api import open_index

        opened = open_index(self.index, self.load()).filter(self.where, self.access, self.as_of, self.between)
        if (self.where or self.access is not None) and opened.manifest.rows["documents"] == 0:
            given = [f"--where {shlex.quote(self.where)}"] if self.where else []
            given += [f"--access {shlex.quote(tag)}" for tag in self.access or ()]
            complain(f"no document matches {' '.join(given)}")
        return opened


@dataclass(frozen=True, slots=True)
class Build(Chosen):
    """The options that choose an index to change, and the settings that it is built with."""

    index: str = DEFAULT_INDEX
    openie: Path | None = None
    kg: list[Path] | None = None
    kg_labels: list[Path] | None = None
    corrections: Path | None = None

    def chosen(self, *overrides: str) -> "Settings":
        """Return the settings; `overrides` come after those of the command line."""
        return self.load(*overrides, **{name: getattr(self, name) for name in _FILES})


def _names_of_methods(begun: str) -> list[str]:
    return [name for name in methods() if name.startswith(begun)]


def _question(text: str | None) -> str | None:
    """Return a question from the command line; reject an empty one."""
    if text is not None and not text.strip():
        raise typer.BadParameter("the question is empty")
    # Bytes that are not UTF-8 arrive as lone surrogates.
    return text and text.encode("utf-8", "replace").decode("utf-8")


def _existing(help_: str, *, folder: bool = False) -> Any:  # noqa: ANN401  (typer's option)
    return typer.Option(exists=True, dir_okay=folder, help=help_, metavar="FILE")


SHARED: dict[str, ParameterInfo] = {
    "index": typer.Option(
        help="The index: a folder, or a URL in an object store (s3://bucket/docs.index).", metavar="FOLDER|URL"
    ),
    "where": typer.Option(help="Only documents whose metadata match: 'year >= 2020 and lang in (en, de)'."),
    "access": typer.Option(
        help="An access tag that you have. Documents with other tags are left out. Repeatable.", metavar="TAG"
    ),
    "as_of": typer.Option(
        help="Only what held on a date (2004, 2004-05-31): nothing later, nothing that had ended.", metavar="DATE"
    ),
    "between": typer.Option(help="Only what held between two dates.", metavar="DATE DATE"),
    "settings": typer.Option(help="A settings file. [default: ./settings.yaml if it exists]", metavar="FILE"),
    "overrides": typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Override one setting. Repeatable."),
    "openie": _existing(
        "Use this extraction instead of the extractor: JSON lines with id, entities and triples, HippoRAG's "
        "openie_results_*.json, or LightRAG's graph with its text files."
    ),
    "kg": _existing("A knowledge graph to import, or a folder of its files. Repeatable.", folder=True),
    "kg_labels": _existing("Labels for the ids of the graph, one per line: id, tab, label. Repeatable."),
    "corrections": typer.Option(
        help="A file of corrections of the graph. [default: corrections.yaml beside the settings]", metavar="FILE"
    ),
    "before": typer.Argument(metavar="[VERSION]"),
    "after": typer.Argument(metavar="[VERSION]"),
    "runner": typer.Option(
        help="Read and embed chunks on the workers of a Dask scheduler: dask://HOST:PORT. Sets build.runner.",
        metavar="ADDRESS",
    ),
    "session": typer.Option(help="A file with the conversation so far.", metavar="FILE"),
    "as_json": typer.Option("--json", help="Print one JSON object instead of text."),
    "quiet": typer.Option("--quiet", "-q", help="Show no progress on stderr."),
    "estimate": typer.Option("--estimate", help="Only estimate tokens, calls, cost and time; no server is called."),
    "method": typer.Option(
        help="The method; see: conspectus methods.", metavar="NAME", autocompletion=_names_of_methods
    ),
    "trace": typer.Option("--trace", help="Also print the steps that led to the answer."),
    "question": typer.Argument(help="The question, in quotes.", metavar="QUESTION", callback=_question),
}
"""Options that several commands have, by the name of the parameter."""
_LAST = frozenset({"settings", "overrides"})
"""The options that come after the others of their group."""
_HELPS = {name: option.help for name, option in SHARED.items() if option.help}


def command(
    short: str,
    *lines: str,
    operation: Operation | None = None,
    name: str | None = None,
    about: str = "",
    program: typer.Typer = app,
) -> Callable[[Function], Function]:
    """Make a command of a function.

    A parameter without a default is an argument, any other an option; the section Args of the docstring is their help.
    A parameter of type `Chosen`, `Source` or `Build` stands for the options of its fields, and `given` for the
    parameters of an operation.

    Args:
        short: One line for the list of commands.
        lines: Examples.
        operation: The operation whose parameters are options.
        name: The name of the command, if it is not that of the function.
        about: The help, if it is not the docstring.
        program: The program that has the command.
    """

    def register(function: Function) -> Function:
        own = inspect.signature(function).parameters
        groups: dict[str, Callable[..., Any]] = {
            key: each.annotation for key, each in own.items() if each.annotation in (Chosen, Source, Build)
        }
        parts: dict[str, Mapping[str, Parameter]] = {
            key: dict(sorted(inspect.signature(group).parameters.items(), key=lambda each: each[0] in _LAST))
            for key, group in groups.items()
        }
        if operation is not None:
            parts["given"] = {key: each for key, each in operation.parameters().items() if key not in own}
        wanted = [each for key, part in own.items() for each in parts.get(key, {key: part}).values()]
        helps = {**(helps_of(operation.run) if operation else {}), **_HELPS, **helps_of(function)}

        def run(**values: Any) -> None:  # noqa: ANN401  (of the options)
            taken = {key: {each: values.pop(each) for each in part} for key, part in parts.items()}
            made = {key: groups[key](**fields) if key in groups else fields for key, fields in taken.items()}
            function(**made, **values)

        run.__module__ = function.__module__
        run.__signature__ = Signature([_option(each, helps) for each in wanted])  # type: ignore[attr-defined]
        called, told = name or function.__name__.replace("_", "-"), about or about_of(function)
        program.command(called, short_help=short, help=told, epilog=examples(*lines))(run)
        return function

    return register


def _option(parameter: Parameter, helps: Mapping[str, str]) -> Parameter:
    """Return a parameter as the command line has it."""
    name, (kind, limits) = parameter.name, _type_of(parameter.annotation)
    default = parameter.default if parameter.default != () else None
    told = next((each for each in limits if isinstance(each, ParameterInfo)), None)
    if told is None:
        told = copy(SHARED.get(name)) or _declared(name, kind, default)
        told.help = None
    if told.help is None:
        told.help = helps[name][:1].upper() + helps[name][1:]
    for limit in limits:
        told.min = getattr(limit, "ge", None) if told.min is None else told.min
    if default is None and get_origin(kind) is not UnionType:
        kind |= None
    return parameter.replace(kind=Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, told])


def _declared(name: str, kind: Any, default: object) -> ArgumentInfo | OptionInfo:  # noqa: ANN401  (a type)
    """Return the argument or option that a parameter is by default. One that is repeated is named in the singular."""
    many = get_origin(kind) is list
    words = (name.removesuffix("s") if many else name).strip("_").replace("_", "-")
    if default is Parameter.empty:
        argument: ArgumentInfo = typer.Argument(metavar=f"{words.upper()}{'...' if many else ''}")
        return argument
    flag = f"--{words}/--no-{words}" if default is True else f"--{words}"
    option: OptionInfo = typer.Option(flag, metavar=words.upper() if many or str in (kind, *get_args(kind)) else None)
    return option


def _type_of(annotation: Any) -> tuple[Any, list[Any]]:  # noqa: ANN401  (a type)
    """Return the type that the command line reads, and what limits its values."""
    if get_origin(annotation) is Annotated:
        inner, *limits = get_args(annotation)
        kind, more = _type_of(inner)
        return kind, [*limits, *more]
    if get_origin(annotation) in (Union, UnionType):
        kinds = [_type_of(each) for each in get_args(annotation)]
        return kinds[0][0] | None, kinds[0][1]
    if get_origin(annotation) is tuple and ... not in get_args(annotation):
        return annotation, []
    if get_origin(annotation) in (list, tuple, Sequence):
        return list[_type_of(get_args(annotation)[0])[0]], []  # type: ignore[misc]
    return annotation, []
