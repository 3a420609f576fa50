"""Read a knowledge graph from files, in a process with limits of time and memory."""

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Any, cast

from conspectus.pipelines.exchange.kg.builder import GraphBuilder, ImportedGraph
from conspectus.pipelines.exchange.kg.json_graphs import read_json, read_jsonl
from conspectus.pipelines.exchange.kg.nodes_and_edges import NETWORKS, read_network
from conspectus.pipelines.exchange.kg.rdf import FORMATS, read_rdf
from conspectus.pipelines.exchange.kg.statements import Statements, suffix_of
from conspectus.pipelines.exchange.kg.tables import read_labels, read_table
from conspectus.pipelines.readers.process import file_reader
from conspectus.pipelines.readers.rows import Lost
from conspectus.storage.errors import InputError
from conspectus.storage.settings import InputSettings, KgSettings

READERS: dict[str, Callable[[Path, Statements, KgSettings], None]] = {
    **dict.fromkeys((".tsv", ".csv", ".txt", ".tab"), read_table),
    **dict.fromkeys(FORMATS, read_rdf),
    **dict.fromkeys((".jsonl", ".ndjson"), read_jsonl),
    ".json": read_json,
    **dict.fromkeys(NETWORKS, read_network),
}
_UNKNOWN = f"a graph is read from {' '.join(READERS)}, each also .gz or .bz2"
_IN_MEMORY = 16 << 20
"""Bytes of labels that stay in memory before they are written to a file."""


def read_graph(settings: KgSettings, limits: InputSettings | None = None) -> ImportedGraph | None:
    """Read the files of a knowledge graph as one graph; None if the settings name no files.

    Lines that are not a triple are among its failures, and so is a file of an unknown format among others. `limits` are
    those of time and memory for a file.

    Raises:
        InputError: A file cannot be read, or the files contain no triple and no thing.
    """
    if not settings.files:
        return None
    with SpooledTemporaryFile(_IN_MEMORY, mode="w+", encoding="utf-8", newline="\n") as label_file:
        into = GraphBuilder(label_file)
        with file_reader(limits or InputSettings(), settings) as read:
            for path in sorted(map(Path, settings.files), key=lambda file: (file.name, str(file))):
                if suffix_of(path) not in READERS and len(settings.files) > 1:
                    into.fail(path.name, "not a file of a graph", _UNKNOWN)
                    continue
                for statement in cast("Iterator[list[Any] | Lost]", read([path])):
                    if isinstance(statement, Lost):
                        why = ": ".join(filter(None, (statement.reason, statement.detail)))
                        told = why.startswith(str(path.absolute()))
                        raise InputError(why if told else f"{path} cannot be read: {why}")
                    into.take(statement)
        for path in map(Path, settings.labels):
            read_labels(path, Statements(into.take))
        graph = into.graph()
    if not graph.names:
        first = f", the first line {into.failures[0].item_id}: {into.failures[0].reason}" if into.failures else ""
        raise InputError(f"no triple could be read from {', '.join(settings.files)}{first}")
    return graph


def read_statements(path: Path, settings: KgSettings, send: Callable[[Any], None]) -> None:
    """Send the statements of a file; InputError if it cannot be read, or has an unknown suffix."""
    reader = READERS.get(suffix_of(path))
    if reader is None:
        raise InputError(f"{path}: {_UNKNOWN}")
    reader(path, Statements(send), settings)
