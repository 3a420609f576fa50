"""The formats that an index can be written in, by name. A new one is a function and a line here."""

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.atomic_write import placing
from conspectus.storage.errors import UsageError

if TYPE_CHECKING:
    from conspectus.pipelines.exchange.export_result import Exported
    from conspectus.storage.index import Index


@dataclass(frozen=True, slots=True)
class Export:
    """A format: what it is for, in a line, and what writes it.

    `write` gets the index and a path at which nothing is, and writes one file there. A format of several files has
    `holds`, patterns of their names; it makes a folder there and writes them in it.
    """

    about: str
    write: "Callable[[Index, Path], Exported]"
    holds: tuple[str, ...] = ()


def _graphrag(index: "Index", to: Path) -> "Exported":
    from conspectus.pipelines.exchange.graphrag.exporter import write_graphrag

    return write_graphrag(index, to)


def _graphml(index: "Index", to: Path) -> "Exported":
    from conspectus.pipelines.exchange.graphml_export import write_graphml

    return write_graphml(index, to)


def _ntriples(index: "Index", to: Path) -> "Exported":
    from conspectus.pipelines.exchange.ntriples_export import write_ntriples

    return write_ntriples(index, to)


def _openie(index: "Index", to: Path) -> "Exported":
    from conspectus.pipelines.exchange.openie.export import write_openie

    return write_openie(index, to)


def _csv(index: "Index", to: Path) -> "Exported":
    from conspectus.pipelines.exchange.csv_export import write_csv

    return write_csv(index, to)


def _spreadsheet(index: "Index", to: Path) -> "Exported":
    from conspectus.pipelines.exchange.csv_export import write_spreadsheet_csv

    return write_spreadsheet_csv(index, to)


def _html(index: "Index", to: Path) -> "Exported":
    from conspectus.map.page import write_html

    return write_html(index, to)


EXPORTS: dict[str, Export] = {
    "html": Export("a map of the communities in one page, for any browser, offline", _html),
    "graphrag": Export("the tables that Microsoft GraphRAG 3 loads and queries", _graphrag, ("*.parquet",)),
    "graphml": Export("entities, relations and communities for Gephi, igraph, networkx", _graphml),
    "ntriples": Export("entities, relations and where they stand as RDF", _ntriples),
    "openie": Export("names and triples of each passage, as HippoRAG keeps them", _openie),
    "csv": Export("every table as a file of comma-separated values", _csv, ("*.csv",)),
    "csv:spreadsheet": Export("the same for spreadsheets: no text is run as a formula", _spreadsheet, ("*.csv",)),
}
"""Every format, by the name that the command line and the API take."""


def find_export(name: str) -> Export:
    """Return the format of that name; UsageError names the nearest known one."""
    if name in EXPORTS:
        return EXPORTS[name]
    nearest = difflib.get_close_matches(name.lower(), EXPORTS, n=1, cutoff=0.0)
    raise UsageError(f"unknown format {name!r}; did you mean {nearest[0]!r}? There are: {', '.join(EXPORTS)}")


def export(index: "Index", name: str, to: Path, *, force: bool = False) -> "Exported":
    """Write an index in a format at `to`, whole or not at all; return the files and what is in them.

    UsageError for a format that there is not, and where something is at `to` already. With `force` that is replaced: a
    file, or a folder that holds nothing but what this format writes.
    """
    chosen = find_export(name)
    with placing(to, chosen.holds, force=force) as staged:
        done = chosen.write(index, staged)
    return replace(done, files=tuple(to / each.relative_to(staged) for each in done.files))
