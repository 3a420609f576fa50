"""The graph of one text, by whatever extractor: what extraction is measured on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from conspectus.pipelines.evaluation.jsonl import rows_of
from conspectus.pipelines.runner import RunHere
from conspectus.pipelines.steps.chunks import split_documents
from conspectus.pipelines.steps.extract.merge import Knowledge, merge
from conspectus.pipelines.steps.extract.nlp import annotate_chunks
from conspectus.storage.errors import InputError
from conspectus.storage.hashing import digest, short_id
from conspectus.storage.memo import Memo
from conspectus.storage.records import Document
from conspectus.storage.settings import Settings


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a data set; "" where it has no title."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Node:
    """An entity of a graph."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A statement that joins two entities, by their names."""

    source: str
    predicate: str
    target: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class TextGraph:
    """What was extracted from one text alone."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


Extract = Callable[[Sequence[Text]], Sequence[TextGraph]]
"""Gives the graph of each text, in order, each from its own text only. One that asks a model runs its own loop."""


def offline_extractor(settings: Settings) -> Extract:
    """Return the extractor of the index's own steps without a model: chunks, annotations, merge, text by text."""

    def extract(texts: Sequence[Text]) -> list[TextGraph]:
        documents = [document_of(each) for each in texts]
        with TemporaryDirectory() as folder:
            memo = Memo(Path(folder) / "memo.sqlite")
            return [_graph_of_text(each, settings, memo) for each in documents]

    return extract


def _graph_of_text(document: Document, settings: Settings, memo: Memo) -> TextGraph:
    chunks = split_documents([document], settings.chunks)
    annotations, _ = annotate_chunks(chunks, settings.extraction, memo, RunHere(), settings.build.shard_size)
    return graph_of(merge([document], chunks, annotations, settings.names))


def document_of(text: Text) -> Document:
    """Return a text as the steps of an index take it."""
    return Document(short_id("text", text.id), text.title, text.id, text.text, {}, len(text.text), digest(text.text))


def graph_of(knowledge: Knowledge) -> TextGraph:
    """Return merged entities and relations as a graph of names."""
    name_of = {each.id: each.name for each in knowledge.entities}
    nodes = tuple(Node(each.name, each.description) for each in knowledge.entities)
    edges = tuple(
        Edge(name_of[each.source_id], each.predicate, name_of[each.target_id], each.description)
        for each in knowledge.relations
    )
    return TextGraph(nodes, edges)


def read_texts(path: Path) -> list[Text]:
    """Return the texts of a `corpus.jsonl`; InputError names the line that is wrong."""
    found = []
    for where, row in rows_of(path):
        if not isinstance(row, dict) or not isinstance(row.get("text"), str) or row.get("id") is None:
            raise InputError(f"{where}: a text is an object with at least an id and a text")
        found.append(Text(str(row["id"]), str(row.get("title") or ""), row["text"]))
    return found


def read_triples(path: Path) -> list[tuple[Text, tuple[Edge, ...]]]:
    """Return texts with their true triples, from lines {"text", "triples": [[s, p, o], ...]}.

    Names and predicates lose their underscores and quotation marks. InputError names the line that is wrong.
    """
    found = []
    for where, row in rows_of(path):
        triples = row.get("triples") if isinstance(row, dict) else None
        if not isinstance(triples, list) or not all(isinstance(each, list) and len(each) == 3 for each in triples):
            raise InputError(f"{where}: a line is an object with a text and triples of three parts each")
        edges = tuple(Edge(*(_plain(str(part)) for part in each)) for each in triples)
        found.append((Text(where.rpartition(":")[2], "", str(row.get("text", ""))), edges))
    return found


def _plain(part: str) -> str:
    return " ".join(part.replace("_", " ").strip('"').split())
