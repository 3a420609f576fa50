"""Build the graph of a single text with any extractor, to evaluate extraction."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np
from conspectus.pipelines.evaluation.jsonl import rows_of
from conspectus.pipelines.evaluation.metrics import Embed, Weigh, normalised, token_f1, word_coverage
from conspectus.pipelines.runner import RunHere
from conspectus.pipelines.steps.chunks import split_documents
from conspectus.pipelines.steps.extract.merge import Knowledge, merge
from conspectus.pipelines.steps.extract.nlp import annotate_chunks, languages_of
from conspectus.storage.arrays import Bools, Ints
from conspectus.storage.errors import InputError
from conspectus.storage.hashing import digest, short_id
from conspectus.storage.memo import Memo
from conspectus.storage.records import Document
from conspectus.storage.settings import Settings
from conspectus.storage.text.names import words
from conspectus.storage.text.sentences import sentence_spans


@dataclass(frozen=True, slots=True)
class DatasetText:
    """A text of a data set; the title is "" if it has none."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class GraphEntity:
    """An entity of a graph."""

    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation between two entities, identified by their names."""

    source: str
    predicate: str
    target: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class TextGraph:
    """The graph extracted from a single text."""

    nodes: tuple[GraphEntity, ...]
    edges: tuple[Edge, ...]


Extract = Callable[[Sequence[DatasetText]], Sequence[TextGraph]]
"""Returns the graph of each text, in order, each from that text alone. If it calls a model, it runs the event loop."""


def offline_extractor(settings: Settings) -> Extract:
    """Return an extractor that runs the index's steps without a model (chunks, annotations, merge), text by text."""

    def extract(texts: Sequence[DatasetText]) -> list[TextGraph]:
        documents = [document_of(text) for text in texts]
        with TemporaryDirectory() as folder:
            memo = Memo(Path(folder) / "memo.sqlite")
            return [_graph_of_text(document, settings, memo) for document in documents]

    return extract


def _graph_of_text(document: Document, settings: Settings, memo: Memo) -> TextGraph:
    chunks = split_documents([document], settings.chunks)
    languages = languages_of([document], chunks)
    annotations, _ = annotate_chunks(chunks, settings.extraction, memo, RunHere(), settings.build.shard_size, languages)
    return graph_of(merge([document], chunks, annotations))


def document_of(text: DatasetText) -> Document:
    """Return a text as a document for the steps of an index."""
    return Document(short_id("text", text.id), text.title, text.id, text.text, {}, len(text.text), digest(text.text))


def graph_of(knowledge: Knowledge) -> TextGraph:
    """Return merged entities and relations as a graph of names."""
    name_of = {entity.id: entity.name for entity in knowledge.entities}
    nodes = tuple(GraphEntity(entity.name, entity.description) for entity in knowledge.entities)
    edges = tuple(
        Edge(name_of[relation.source_id], relation.predicate, name_of[relation.target_id], relation.description)
        for relation in knowledge.relations
    )
    return TextGraph(nodes, edges)


def read_texts(path: Path) -> list[DatasetText]:
    """Return the texts of a `corpus.jsonl`; InputError names the invalid line."""
    found = []
    for where, row in rows_of(path):
        if not isinstance(row, dict) or not isinstance(row.get("text"), str) or row.get("id") is None:
            raise InputError(f"{where}: a text is an object with at least an id and a text")
        found.append(DatasetText(str(row["id"]), str(row.get("title") or ""), row["text"]))
    return found


def read_triples(path: Path) -> list[tuple[DatasetText, tuple[Edge, ...]]]:
    """Return texts with their true triples, from lines {"text", "triples": [[s, p, o], ...]}.

    Underscores and quotation marks are removed from names and predicates. InputError names the invalid line.
    """
    found = []
    for where, row in rows_of(path):
        triples = row.get("triples") if isinstance(row, dict) else None
        if not isinstance(triples, list) or not all(
            isinstance(triple, list) and len(triple) == 3 for triple in triples
        ):
            raise InputError(f"{where}: a line is an object with a text and triples of three parts each")
        edges = tuple(Edge(*(_plain(str(part)) for part in triple)) for triple in triples)
        found.append((DatasetText(where.rpartition(":")[2], "", str(row.get("text", ""))), edges))
    return found


def _plain(part: str) -> str:
    return " ".join(part.replace("_", " ").strip('"').split())


Part = TypeVar("Part")
Same = Callable[[str, str], bool]
"""Whether two names are considered equal."""

NEAREST_NODES = 8
HOPS = 2
"""Which part of a graph a fact is searched in, as in MINE (Mo et al. 2025, KGGen, section 3)."""
STATEMENTS = 3
LEAST_COSINE = 0.6
LEAST_WORDS = 0.5
LEAST_PREDICATE = 0.5
LEAST_NAME_F1 = 0.5


@dataclass(frozen=True, slots=True)
class FactCheck:
    """How close a graph comes to a fact: best cosine of a statement, share of its words in the nearest statements."""

    fact: str
    cosine: float
    words: float

    @property
    def held(self) -> bool:
        """Whether the graph contains the fact: both checks pass."""
        return self.cosine >= LEAST_COSINE and self.words >= LEAST_WORDS


def check_facts(
    graph: TextGraph, facts: Sequence[str], embed: Embed, weigh: Weigh, descriptions: bool
) -> list[FactCheck]:
    """Return a check for each fact against the graph of a text.

    The rule: find the NEAREST_NODES nodes whose names are nearest to the fact, and all edges within HOPS of them. Their
    statements (an edge "source predicate target", a node its name; with `descriptions`, followed by their descriptions)
    are compared with the fact: the greatest cosine must reach LEAST_COSINE, and the STATEMENTS nearest statements
    together must contain LEAST_WORDS of the fact's words, weighted by `weigh`.
    """
    if not graph.nodes or not facts:
        return [FactCheck(fact, 0.0, 0.0) for fact in facts]
    stated = [_node_text(node, descriptions) for node in graph.nodes]
    stated += [_edge_text(edge, descriptions) for edge in graph.edges]
    wanted = embed(facts)
    to_names = wanted @ embed([node.name for node in graph.nodes]).T
    to_statements = wanted @ embed(stated).T
    row_of = {node.name: row for row, node in enumerate(graph.nodes)}
    ends = np.array([(row_of[edge.source], row_of[edge.target]) for edge in graph.edges], np.int64).reshape(-1, 2)
    checks = []
    for fact, names, cosines in zip(facts, to_names, to_statements, strict=True):
        near = np.argsort(-names, kind="stable")[:NEAREST_NODES]
        rows = np.concatenate([near, len(graph.nodes) + _edges_within(ends, near, len(graph.nodes))])
        best = rows[np.argsort(-cosines[rows], kind="stable")[:STATEMENTS]]
        together = "\n".join(stated[row] for row in best)
        checks.append(FactCheck(fact, float(cosines[best[0]]), word_coverage(together, [fact], weigh)))
    return checks


def _edges_within(ends: Ints, nodes: Ints, n_nodes: int) -> Ints:
    """Return the rows of the edges on paths of up to HOPS edges from the nodes."""
    reached = np.zeros(n_nodes, bool)
    reached[nodes] = True
    touched: Bools = np.zeros(len(ends), bool)
    for _ in range(HOPS):
        touched = reached[ends[:, 0]] | reached[ends[:, 1]]
        reached[ends[touched].ravel()] = True
    return np.flatnonzero(touched)


def sentence_graph(text: str) -> TextGraph:
    """Return the graph with each sentence of a text as a node: the upper bound of the rule."""
    return TextGraph(tuple(GraphEntity(" ".join(text[start:end].split())) for start, end in sentence_spans(text)), ())


def inverse_frequencies(texts: Sequence[str]) -> Weigh:
    """Return the inverse sentence frequency of words: log(1 + n / (1 + f)), f of n sentences containing the word."""
    bags = [{word.key for word in words(text[a:b])} for text in texts for a, b in sentence_spans(text)]
    counts: dict[str, int] = {}
    for bag in bags:
        for key in bag:
            counts[key] = counts.get(key, 0) + 1
    return lambda key: float(np.log1p(len(bags) / (1 + counts.get(key, 0))))


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of extracted and true items, and of those with a counterpart."""

    right: int = 0
    extracted: int = 0
    found: int = 0
    true: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.right + other.right,
            self.extracted + other.extracted,
            self.found + other.found,
            self.true + other.true,
        )

    @property
    def precision(self) -> float:
        """The share of the extracted items that are true."""
        return self.right / self.extracted if self.extracted else 0.0

    @property
    def recall(self) -> float:
        """The share of the true items that were extracted."""
        return self.found / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


@dataclass(frozen=True, slots=True)
class TripleCounts:
    """Counts of names, of pairs of names whatever the predicate, and of triples, for one text or many."""

    names: Counts = Counts()
    pairs: Counts = Counts()
    triples: Counts = Counts()

    def __add__(self, other: "TripleCounts") -> "TripleCounts":
        return TripleCounts(self.names + other.names, self.pairs + other.pairs, self.triples + other.triples)


def same_name(first: str, second: str) -> bool:
    """Return whether two names are equal apart from case, punctuation and articles (as SQuAD compares answers).

    >>> same_name("The Beatles", "beatles")
    True
    """
    return normalised(first) == normalised(second)


def alike_name(first: str, second: str) -> bool:
    """Return whether two names share most of their words: token F1 of at least LEAST_NAME_F1."""
    return same_name(first, second) or token_f1(first, [second]) >= LEAST_NAME_F1


def count_triples(graph: TextGraph, true: Sequence[Edge], embed: Embed, same: Same) -> TripleCounts:
    """Return the counts of a text's graph against its true triples.

    The rules: a name is right if `same` matches it with a true name. A pair is right if its ends are those of a true
    triple, in either direction. A triple is right if its ends are those of a true triple in that order and the
    predicates, in words, have a cosine of at least LEAST_PREDICATE, because extractor and annotators word them
    differently. Annotators state only part of a text, so precision is a lower bound. Every item with a counterpart
    counts; several may share one.
    """
    predicates = [spelt_out(edge.predicate) for edge in (*graph.edges, *true)]
    vectors = embed(predicates) if graph.edges and true else np.zeros((len(predicates), 1), np.float32)
    alike = vectors[: len(graph.edges)] @ vectors[len(graph.edges) :].T >= LEAST_PREDICATE
    straight = _matrix(graph.edges, true, lambda a, b: same(a.source, b.source) and same(a.target, b.target))
    crossed = _matrix(graph.edges, true, lambda a, b: same(a.source, b.target) and same(a.target, b.source))
    mine = sorted({node.name for node in graph.nodes})
    theirs = sorted({name for item in true for name in (item.source, item.target)})
    return TripleCounts(_counts(_matrix(mine, theirs, same)), _counts(straight | crossed), _counts(straight & alike))


def _matrix(mine: Sequence[Part], theirs: Sequence[Part], same: Callable[[Part, Part], bool]) -> Bools:
    return np.array([same(a, b) for a in mine for b in theirs], bool).reshape(len(mine), len(theirs))


def _counts(same: Bools) -> Counts:
    return Counts(int(same.any(axis=1).sum()), same.shape[0], int(same.any(axis=0).sum()), same.shape[1])


def spelt_out(predicate: str) -> str:
    """Return a predicate in words.

    >>> spelt_out("populationMetro")
    'population metro'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", predicate).lower()


def _node_text(node: GraphEntity, descriptions: bool) -> str:
    return f"{node.name}: {node.description}" if descriptions and node.description else node.name


def _edge_text(edge: Edge, descriptions: bool) -> str:
    stated = f"{edge.source} {edge.predicate} {edge.target}"
    return f"{stated}: {edge.description}" if descriptions and edge.description else stated
