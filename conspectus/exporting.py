"""The formats that an index can be exported to. A new format is a function and a row of `EXPORTS`."""

from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.atomic_write import placing
from conspectus.storage.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from conspectus.pipelines.exchange.export_result import ExportResult
    from conspectus.storage.index import Index


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format.

    Attributes:
        about: What the format is for, in one line.
        writer: The function that writes it, as "module:function" below `conspectus`. It takes an index and a path that
            does not exist, writes a file there (or makes a folder and writes its files) and returns an ExportResult.
        holds: Patterns of the files of a format that is a folder; empty for a format that is one file.
    """

    about: str
    writer: str
    holds: tuple[str, ...] = ()


EXPORTS: dict[str, ExportFormat] = {
    "html": ExportFormat("a map of the communities in one page, for any browser, offline", "map.page:write_html"),
    "graphrag": ExportFormat(
        "the tables that Microsoft GraphRAG 3 loads and queries",
        "pipelines.exchange.graphrag.exporter:write_graphrag",
        ("*.parquet",),
    ),
    "graphml": ExportFormat(
        "entities, relations and communities for Gephi, igraph, networkx",
        "pipelines.exchange.graphml_export:write_graphml",
    ),
    "ntriples": ExportFormat(
        "entities, relations and their places in the documents as RDF",
        "pipelines.exchange.ntriples_export:write_ntriples",
    ),
    "openie": ExportFormat(
        "names and triples of each passage, in HippoRAG's format",
        "pipelines.exchange.openie.export:write_openie",
    ),
    "csv": ExportFormat(
        "every table as a file of comma-separated values", "pipelines.exchange.csv_export:write_csv", ("*.csv",)
    ),
    "csv:spreadsheet": ExportFormat(
        "the same for spreadsheets: no text is run as a formula",
        "pipelines.exchange.csv_export:write_spreadsheet_csv",
        ("*.csv",),
    ),
}
"""Every format, by the name that the command line and the API take."""


def find_export(name: str) -> ExportFormat:
    """Return the format of that name; UsageError names the nearest known one."""
    if name in EXPORTS:
        return EXPORTS[name]
    raise UsageError(f"unknown format {name!r}{did_you_mean(name, EXPORTS) or '.'} There are: {', '.join(EXPORTS)}")


def export(index: "Index", name: str, to: Path, *, force: bool = False) -> "ExportResult":
    """Write an index in a format, whole or not at all.

    Args:
        index: The index.
        name: A key of `EXPORTS`.
        to: The file or folder to write.
        force: Replace what exists at `to`: a file, or a folder that contains only files of this format.

    Returns:
        The files that were written, and what they contain.

    Raises:
        UsageError: There is no such format, or something exists at `to`.
        IndexCorrupt: The index cannot be read.
    """
    chosen = find_export(name)
    module, function = chosen.writer.split(":")
    write = getattr(import_module(f"conspectus.{module}"), function)
    with placing(to, chosen.holds, force=force) as staged:
        result: ExportResult = write(index, staged)
    return replace(result, files=tuple(to / file.relative_to(staged) for file in result.files))
