"""Export the tables of an index as CSV, and its graph to networkx, igraph, GraphML and GEXF; what every export uses.

CSV (RFC 4180) has one file for each table. The columns are those of the tables; lists and objects are JSON. Relations
and mentions have further columns with the names of their entities. None and an empty text are both an empty cell.

`conspectus index --kg` reads GraphML and GEXF. Lists are JSON in them, and characters that XML cannot contain (most
control characters) become U+FFFD.
"""

import csv
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.storage.errors import MissingPart
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Community, Entity, Mention, Relation
from conspectus.storage.tables import TABLES

if TYPE_CHECKING:
    import igraph
    import networkx as nx

OF_NODES = ("name", "type", "types", "description", "frequency", "degree")
OF_EDGES = ("predicate", "description", "weight", "strength", "chunk_ids")
"""The columns of entities and of relations in a graph."""


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The files of an export, their number of rows of each kind, and notes for the user.

    Notes are about content that the format has no place for, and the like.
    """

    files: tuple[Path, ...]
    rows: dict[str, int]
    notes: tuple[str, ...] = ()


def columns(record: object, *names: str) -> dict[str, Any]:
    """Return some columns of a record by name; a tuple becomes a list."""
    cells = {name: getattr(record, name) for name in names}
    return {name: list(cell) if isinstance(cell, tuple) else cell for name, cell in cells.items()}


def communities_of(index: StoredIndex) -> dict[str, dict[str, str]]:
    """Return the id of each entity's community on every level, by the entity's id: {"c0": ..., "c1": ...}."""
    found: dict[str, dict[str, str]] = {}
    for community in sorted(index.rows(Community), key=lambda each: each.level):
        for id_ in community.entity_ids:
            found.setdefault(id_, {})[f"c{community.level}"] = community.id
    return found


FILES = tuple(f"{name}.csv" for name in TABLES)
"""The files of an export."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""Beginnings of a cell that a spreadsheet program interprets as a formula, or skips before one."""
_BOM = "\ufeff"


def write_csv(index: StoredIndex, to: Path) -> ExportResult:
    """Write each table as a file of the folder `to`, which must not exist; values are exactly those of the index."""
    return _write(index, to, "", lambda text: text)


def write_spreadsheet_csv(index: StoredIndex, to: Path) -> ExportResult:
    """Write the tables for spreadsheet programs, so that no text of a document is run as a formula.

    A text that begins like a formula is preceded by an apostrophe. The files begin with a byte order mark, from which
    Excel recognises UTF-8.
    """
    done = _write(index, to, _BOM, _harmless)
    note = "a text that a spreadsheet would run as a formula has an apostrophe before it"
    return ExportResult(done.files, done.rows, (*done.notes, note))


def _write(index: StoredIndex, to: Path, mark: str, text: Callable[[str], str]) -> ExportResult:
    to.mkdir()
    names = {entity.id: entity.name for entity in index.rows(Entity)}
    rows: dict[str, int] = {}
    for table, record in TABLES.items():
        columns = [field.name for field in fields(record)]
        added = _ADDED.get(record, {})
        with (to / f"{table}.csv").open("w", encoding="utf-8", newline="") as stream:
            stream.write(mark)
            written = csv.writer(stream)  # its line ends are those of RFC 4180
            written.writerow([*columns, *added])
            made: list[Any] = index.rows(record)
            for row in made:
                cells = [_cell(getattr(row, column), text) for column in columns]
                written.writerow([*cells, *(text(names.get(getattr(row, id_) or "", "")) for id_ in added.values())])
        rows[table] = len(made)
    return ExportResult(tuple(to / name for name in FILES), rows)


_ADDED: Mapping[type, Mapping[str, str]] = {
    Relation: {"source": "source_id", "target": "target_id"},
    Mention: {"entity": "entity_id"},
}
"""Further columns with names, and the columns of the ids that they are looked up by."""


def _cell(value: Any, text: Callable[[str], str]) -> str | float | None:  # noqa: ANN401  (a cell of any column)
    if isinstance(value, str):
        return text(value)
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    return json.dumps(value, ensure_ascii=False, default=asdict)


def _harmless(text: str) -> str:
    return f"'{text}" if text.lstrip(" \ufeff\u00a0").startswith(_FORMULA) else text


_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A character that XML 1.0 does not allow."""
_DATE = re.compile(' lastmodifieddate="[^"]*"')


def network(index: StoredIndex) -> "nx.MultiDiGraph":
    """Return the graph of an index: a node for each entity by its id, a directed edge for each relation by its id.

    The attributes are our columns, and the community of each level as `c0`, `c1`, ...; `label` is a node's name and an
    edge's predicate.
    """
    import networkx as nx

    graph = nx.MultiDiGraph()
    levels = communities_of(index)
    for entity in index.rows(Entity):
        graph.add_node(entity.id, label=entity.name, **columns(entity, *OF_NODES), **levels.get(entity.id, {}))
    for relation in index.rows(Relation):
        told = columns(relation, *OF_EDGES)
        graph.add_edge(relation.source_id, relation.target_id, relation.id, label=relation.predicate, **told)
    return graph


def igraph_of(graph: "nx.MultiDiGraph") -> "igraph.Graph":
    """Return a graph of networkx as one of igraph.

    Raises:
        MissingPart: igraph is not installed.
    """
    try:
        import igraph
    except ImportError as error:
        raise MissingPart("igraph is not installed: pip install 'conspectus[igraph]'") from error
    return igraph.Graph.from_networkx(graph, vertex_attr_hashable="id")


def write_graphml(index: StoredIndex, to: Path) -> ExportResult:
    """Write entities as nodes and relations as directed edges of a GraphML file."""
    import networkx as nx

    graph, result = _writable(index, to)
    with to.open("wb") as stream:
        nx.write_graphml(graph, stream)
    return result


def write_gexf(index: StoredIndex, to: Path) -> ExportResult:
    """Write entities as nodes and relations as directed edges of a GEXF file, for Gephi."""
    import networkx as nx

    graph, result = _writable(index, to)
    with to.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
        stream.writelines(f"{_DATE.sub('', line)}\n" for line in nx.generate_gexf(graph))
    return result


def _writable(index: StoredIndex, to: Path) -> "tuple[nx.MultiDiGraph, ExportResult]":
    """Return the graph with attributes that XML can contain, and the result of writing it."""
    graph = network(index)
    edges = [told for _, _, told in graph.edges(data=True)]
    lost = sum([_make_writable(told) for told in (*graph.nodes.values(), *edges)])
    notes = (f"{lost:,} rows contain characters that XML cannot contain; these are U+FFFD now",) if lost else ()
    return graph, ExportResult((to,), {"entities": len(graph), "relations": len(edges)}, notes)


def _make_writable(told: dict[str, Any]) -> bool:
    """Make lists JSON, drop what is missing, and return whether a text had characters that XML cannot contain."""
    lost = False
    for key, value in list(told.items()):
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
        if text is None or text == "":
            del told[key]
        elif isinstance(text, str):
            told[key] = _UNWRITABLE.sub("\ufffd", text)
            lost |= told[key] != text
    return lost
