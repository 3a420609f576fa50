"""The formats that an index can be exported to. A new format is a function and a row of `EXPORTS`, or a plug-in.

Files are written atomically: to a temporary file, then renamed into place.
"""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.storage.errors import ConspectusError, PluginFailed, UsageError, did_you_mean
from conspectus.storage.plugins import plugins

if TYPE_CHECKING:
    from conspectus.pipelines.exchange.exports import ExportResult
    from conspectus.storage.index import StoredIndex


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """An export format.

    Attributes:
        about: What the format is for, in one line.
        writer: The function that writes it, or "module:function" below `conspectus`. It takes an index and a path that
            does not exist, writes a file (or a folder with files) there and returns an ExportResult.
        holds: Patterns for the files of a format that is a folder; empty for a format that is one file.
        to_server: Whether the index is sent to a server: the writer takes its address, and whether to replace.
        keeps: Names in such a folder that other programs add, and that stay when it is replaced.
    """

    about: str
    writer: "str | Callable[..., ExportResult]"
    holds: tuple[str, ...] = ()
    to_server: bool = False
    keeps: tuple[str, ...] = ()


EXPORTS: dict[str, ExportFormat] = {
    "html": ExportFormat("a map of the communities in one page, for any browser, offline", "map.page:write_html"),
    "wiki": ExportFormat(
        "pages of documents, entities and communities in Markdown, each sentence with its source",
        "wiki.pages:write_wiki",
        ("index.md", "llms.txt", "documents/*.md", "entities/*.md", "communities/*.md"),
        keeps=(".obsidian",),
    ),
    "wiki:site": ExportFormat(
        "the same pages in HTML, for any browser or web server",
        "wiki.pages:write_site",
        ("index.html", "llms.txt", "documents/*.html", "entities/*.html", "communities/*.html"),
    ),
    "graphrag": ExportFormat(
        "the tables that Microsoft GraphRAG 3 loads and queries",
        "pipelines.exchange.graphrag.exporter:write_graphrag",
        ("*.parquet",),
    ),
    "graphml": ExportFormat(
        "entities, relations and communities for Gephi, igraph, networkx",
        "pipelines.exchange.exports:write_graphml",
    ),
    "gexf": ExportFormat("the same for Gephi", "pipelines.exchange.exports:write_gexf"),
    "cypher": ExportFormat(
        "entities and relations as statements for Neo4j", "pipelines.exchange.cypher_export:write_cypher"
    ),
    "neo4j": ExportFormat(
        "the same sent to a running Neo4j, only what differs: --to bolt://HOST:7687[/DATABASE]",
        "pipelines.exchange.cypher_export:push",
        to_server=True,
    ),
    "ntriples": ExportFormat(
        "entities, relations and their places in the documents as RDF",
        "pipelines.exchange.ntriples_export:write_ntriples",
    ),
    "nquads": ExportFormat(
        "the same, each relation in a named graph for every passage that states it",
        "pipelines.exchange.ntriples_export:write_nquads",
    ),
    "openie": ExportFormat(
        "names and triples of each passage, in HippoRAG's format",
        "pipelines.exchange.openie.export:write_openie",
    ),
    "csv": ExportFormat(
        "every table as a file of comma-separated values", "pipelines.exchange.exports:write_csv", ("*.csv",)
    ),
    "csv:spreadsheet": ExportFormat(
        "the same for spreadsheets: no text is run as a formula",
        "pipelines.exchange.exports:write_spreadsheet_csv",
        ("*.csv",),
    ),
}
"""Every format, by its name on the command line and in the API."""


def find_export(name: str) -> ExportFormat:
    """Return the format with this name. Raises UsageError, which suggests the nearest known name."""
    if name in EXPORTS:
        return EXPORTS[name]
    if plugin := plugins("exporters").get(name):
        chosen = plugin.load()
        if not isinstance(chosen, ExportFormat):
            raise PluginFailed(plugin.complaint(TypeError("it should be an ExportFormat")))
        return chosen
    known = [*EXPORTS, *plugins("exporters")]
    raise UsageError(f"unknown format {name!r}{did_you_mean(name, known) or '.'} There are: {', '.join(known)}")


def export(index: "StoredIndex", name: str, to: str | Path, *, force: bool = False) -> "ExportResult":
    """Export an index, to a file or folder atomically: see `Index.export`.

    Raises also PluginFailed if the format is a plug-in that cannot be used, IndexCorrupt if the index cannot be read.
    """
    chosen = find_export(name)
    write = chosen.writer
    if isinstance(write, str):
        module, function = write.split(":")
        write = getattr(import_module(f"conspectus.{module}"), function)
    if chosen.to_server:
        return write(index, str(to), force=force)

    to = Path(to)
    with placing(to, chosen.holds, force=force, keeps=chosen.keeps) as staged:
        try:
            result = write(index, staged)
        except Exception as error:
            if name in EXPORTS or isinstance(error, ConspectusError | OSError):
                raise
            raise PluginFailed(plugins("exporters")[name].complaint(error)) from error
    return replace(result, files=tuple(to / file.relative_to(staged) for file in result.files))


@contextmanager
def placing(to: Path, names: Sequence[str], *, force: bool, keeps: Sequence[str] = ()) -> Iterator[Path]:
    """Yield a path to write one file or folder at; it replaces `to` when the block ends.

    If the block raises, nothing changes. `names` are patterns for the files of a folder, empty for a single file;
    `keeps` are names in a folder that stay as they are when it is replaced.
    Raises UsageError if `to` exists, unless a folder is written and `to` is an empty one. With `force`, a file may
    also replace a file, and a folder may replace a folder that contains only files with such names.
    """
    from conspectus.storage.publishing import flush

    check_place(to, names, force=force, keeps=keeps)
    # In the same folder, because files cannot be renamed across file systems.
    with tempfile.TemporaryDirectory(prefix=f".{to.name}.", dir=to.absolute().parent) as beside:
        staged = Path(beside) / to.name
        yield staged
        for path in (staged, *staged.rglob("*")):
            flush(path)
        check_place(to, names, force=force, keeps=keeps)  # it may have changed meanwhile
        if to.is_dir():
            for name in keeps:
                if (to / name).exists():
                    (to / name).rename(staged / name)
            to.rename(Path(beside) / "before")
        staged.replace(to)


def check_place(to: Path, names: Sequence[str], *, force: bool, keeps: Sequence[str] = ()) -> None:
    """Raise UsageError if a path cannot be written, before any work is done."""
    folder = to.absolute().parent
    if not to.name:
        raise UsageError(f"{to} is not the name of a file or folder; give one with --to")
    if not folder.is_dir():
        raise UsageError(f"{to}: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{to}: cannot write in {folder}: permission denied")
    if not os.path.lexists(to):
        return
    if not names:
        if to.is_dir():
            raise UsageError(f"{to} is a folder; name a file to write")
        if not force:
            raise UsageError(f"{to} already exists; --force overwrites it")
        return
    if not to.is_dir():
        raise UsageError(f"{to} is a file; name a folder to write")
    paths = (path.relative_to(to) for path in to.rglob("*") if path.is_symlink() or not path.is_dir())
    there = sorted(path.as_posix() for path in paths if path.parts[0] not in keeps)
    if not any(to.iterdir()):
        return
    if not force:
        raise UsageError(f"{to} is not empty; --force overwrites an existing export")
    others = [item for item in there if not any(_matches(item, name) for name in names)]
    if others or to.is_symlink() or to.is_mount():
        held = f"holds {others[0]}, which is no part of such an export" if others else "is a link"
        raise UsageError(f"{to} {held}; name a new or an empty folder")


def _matches(path: str, pattern: str) -> bool:
    """Return whether a path has the form of a pattern, as deep as that."""
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)
