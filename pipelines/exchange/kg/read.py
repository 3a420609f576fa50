"""A knowledge graph from files: the format by the name's ending, and the labels of its ids."""

from collections.abc import Callable
from pathlib import Path
from tempfile import SpooledTemporaryFile

from conspectus.pipelines.exchange.kg.builder import Collector, ImportedGraph
from conspectus.pipelines.exchange.kg.files import suffix_of
from conspectus.pipelines.exchange.kg.graphml import read_graphml
from conspectus.pipelines.exchange.kg.rdf import read_ntriples
from conspectus.pipelines.exchange.kg.triple_lines import read_csv, read_jsonl, read_labels, read_tsv, read_txt
from conspectus.pipelines.exchange.kg.wikidata import read_wikidata
from conspectus.storage.errors import InputError
from conspectus.storage.settings import KgSettings

_READERS: dict[str, Callable[[Path, Collector, str], None]] = {
    ".tsv": read_tsv,
    ".txt": read_txt,
    ".csv": read_csv,
    ".nt": read_ntriples,
    ".nq": read_ntriples,
    ".jsonl": read_jsonl,
    ".json": read_wikidata,
    ".graphml": read_graphml,
}
_IN_MEMORY = 16 << 20
"""Bytes of labels that wait in memory before they go to a file."""


def read_graph(settings: KgSettings) -> ImportedGraph | None:
    """Return the graph of all files together, None where the settings name none.

    What is no triple is among its failures. InputError where a file cannot be read, is of no known format, or where
    no triple and no thing could be read at all.
    """
    if not settings.files:
        return None
    with SpooledTemporaryFile(_IN_MEMORY, mode="w+", encoding="utf-8", newline="\n") as waiting:
        into = Collector(waiting)
        for path in sorted(map(Path, settings.files), key=lambda each: (each.name, str(each))):
            reader = _READERS.get(suffix_of(path))
            if reader is None:
                raise InputError(f"{path}: a graph is read from {' '.join(_READERS)}, each also .gz or .bz2")
            reader(path, into, settings.language)
        for path in map(Path, settings.labels):
            read_labels(path, into)
        graph = into.graph()
    if not graph.names:
        first = f", the first line {into.failures[0].item_id}: {into.failures[0].reason}" if into.failures else ""
        raise InputError(f"no triple could be read from {', '.join(settings.files)}{first}")
    return graph
