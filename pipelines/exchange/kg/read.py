"""Read a knowledge graph from files; the suffix of a file names its format."""

from collections.abc import Callable
from pathlib import Path
from tempfile import SpooledTemporaryFile

from conspectus.pipelines.exchange.kg.builder import GraphBuilder, ImportedGraph
from conspectus.pipelines.exchange.kg.files import suffix_of
from conspectus.pipelines.exchange.kg.graphml import read_graphml
from conspectus.pipelines.exchange.kg.rdf import FORMATS, read_rdf
from conspectus.pipelines.exchange.kg.triple_lines import read_csv, read_jsonl, read_labels, read_tsv, read_txt
from conspectus.pipelines.exchange.kg.wikidata import read_wikidata
from conspectus.storage.errors import InputError
from conspectus.storage.settings import KgSettings

_READERS: dict[str, Callable[[Path, GraphBuilder, str], None]] = {
    ".tsv": read_tsv,
    ".txt": read_txt,
    ".csv": read_csv,
    **dict.fromkeys(FORMATS, read_rdf),
    ".jsonl": read_jsonl,
    ".json": read_wikidata,
    ".graphml": read_graphml,
}
_IN_MEMORY = 16 << 20
"""Bytes of labels that stay in memory before they are written to a file."""


def read_graph(settings: KgSettings) -> ImportedGraph | None:
    """Read the files of a knowledge graph as one graph.

    Args:
        settings: The section kg: the files, files of labels, and the language of labels and literals.

    Returns:
        The graph, None if the settings name no files. Lines that are not a triple are among its failures.

    Raises:
        InputError: A file cannot be read or has an unknown suffix, or the files contain no triple and no thing.
    """
    if not settings.files:
        return None
    with SpooledTemporaryFile(_IN_MEMORY, mode="w+", encoding="utf-8", newline="\n") as label_file:
        into = GraphBuilder(label_file)
        for path in sorted(map(Path, settings.files), key=lambda file: (file.name, str(file))):
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
