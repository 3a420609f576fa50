"""An in-memory index of the neighbourhood of the things that a question names, read from a live graph.

The question reader, FastToG's communities and Steiner trees need a whole graph in memory. A graph of at most
`endpoint.most_triples` statements is read completely; of a larger one, the statements within `endpoint.hops` of the
named things are read up to the same limit, things with few neighbours first. Omissions are recorded, and answers that
need the whole graph (a count, a "no", a first or last) are checked at the endpoint or declined.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.prompts.embedding.local import settled
from conspectus.query.remote_graph.graph import MOST_EDGES, LiveGraph
from conspectus.storage.errors import SparqlError
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.hashing import short_id
from conspectus.storage.manifest import FORMAT_VERSION, Manifest
from conspectus.storage.memory_index import MemoryIndex, Parts
from conspectus.storage.records import Entity, Relation
from conspectus.storage.settings import Settings
from conspectus.storage.tables import TABLES
from conspectus.storage.text.bm25 import Bm25
from conspectus.storage.text.embedded import predicate_words
from conspectus.storage.text.nlp import NAME
from conspectus.storage.vectors.windowed import WindowedIndex, windowed_in_memory

_EMBEDDED = 500
"""Number of names, those read first, that get a vector, so that words of similar meaning find them."""


def read_around(graph: LiveGraph, rows: Sequence[int]) -> None:
    """Read a small graph completely, or the neighbourhood of some things of a larger one.

    Raises:
        SparqlError: The statements of the things themselves cannot be read; failures farther away are recorded.
    """
    settings = graph.settings
    if graph.size(settings.most_triples + 1) <= settings.most_triples:
        graph.read_everything(settings.most_triples)
        return
    graph.complete = False
    frontier = list(dict.fromkeys(rows))
    seen = set(frontier)
    for hop in range(1, settings.hops + 1):
        if hop > 1:
            frontier = _few_first(graph, frontier)
        reached: dict[int, None] = {}
        try:
            for start in range(0, len(frontier), _AT_ONCE):
                if len(graph.sources) >= settings.most_triples:
                    left = len(frontier) - start
                    graph.note(f"{left:,} things {hop - 1} steps away: {len(graph.sources):,} statements were enough")
                    break
                reached |= dict.fromkeys(graph.edges_of(frontier[start : start + _AT_ONCE]).neighbours.tolist())
        except SparqlError as error:
            if hop == 1:
                raise
            graph.note(f"things {hop - 1} steps away: {error}")
        frontier = [row for row in reached if row not in seen]
        seen |= reached.keys()


_AT_ONCE = 100


def _few_first(graph: LiveGraph, rows: Sequence[int]) -> list[int]:
    """Return the things with at most `MOST_EDGES` statements, those with few first and literals last."""
    degrees = graph.degrees_of(rows).tolist()
    ranked = sorted(zip(degrees, rows, strict=True))
    kept = [row for degree, row in ranked if degree <= MOST_EDGES]
    if len(kept) < len(rows):
        graph.note(f"{len(rows) - len(kept):,} things with more than {MOST_EDGES:,} statements each")
    return sorted(kept, key=lambda row: graph.entity_ids[row].startswith('"'))


def working_index(graph: LiveGraph, settings: Settings, embedder: Embedder) -> MemoryIndex:
    """Return an index of the part of a graph that has been read; it is empty if nothing was read."""
    ids = [quote(id_, safe="") for id_ in graph.entity_ids]
    joined = _joined(graph, ids)
    degree: dict[str, set[str]] = {id_: set() for id_ in ids}
    for relation in joined:
        degree[relation.source_id].add(relation.target_id)
        degree[relation.target_id].add(relation.source_id)
    entities = sorted(
        (Entity(id_, name, NAME, (NAME,), "", 0, len(degree[id_])) for id_, name in zip(ids, graph.names, strict=True)),
        key=lambda entity: entity.id,
    )
    predicates = [predicate_words(each) for each in sorted({relation.predicate for relation in joined})]
    first = set(ids[:_EMBEDDED])
    named = [row for row, entity in enumerate(entities) if entity.id in first]
    name_of = {entity.id: entity.name for entity in entities}
    sentences = [f"{name_of[one.source_id]} {one.predicate} {name_of[one.target_id]}" for one in joined]
    tables: dict[type, Callable[[], Sequence[object]]] = dict.fromkeys(TABLES.values(), list)
    tables[Entity] = lambda: entities
    tables[Relation] = lambda: joined

    def vectors(texts: Sequence[str], rows: Sequence[int], size: int) -> Callable[[], WindowedIndex]:
        return lambda: windowed_in_memory(graph.embed(texts), np.array(rows, np.int64), size)

    parts = Parts(
        tables,
        {
            "chunks": vectors([], [], 0),
            "reports": vectors([], [], 0),
            "entities": vectors([entities[row].name for row in named], named, len(entities)),
            "relations": vectors(sentences, range(len(joined)), len(joined)),
            "predicates": vectors(predicates, range(len(predicates)), len(predicates)),
        },
        lambda: Adjacency.from_edges(len(entities), [], [], []),
        lambda: Bm25.of([], []),
    )
    return MemoryIndex(_folder(), _manifest(graph, settings, embedder), parts)


def _joined(graph: LiveGraph, ids: Sequence[str]) -> list[Relation]:
    """Return the statements as relations, sorted by id; predicates with the same name are merged."""
    found: dict[tuple[int, str, int], Relation] = {}
    for row, (source, number, target) in enumerate(zip(graph.sources, graph.stated, graph.targets, strict=True)):
        predicate = graph.predicates[number]
        relation = Relation(graph.relation_ids[row], ids[source], ids[target], predicate, "", 1.0, ())
        found.setdefault((source, predicate, target), relation)
    return sorted(found.values(), key=lambda relation: relation.id)


def _manifest(graph: LiveGraph, settings: Settings, embedder: Embedder) -> Manifest:
    recorded = settings.of_the_index()
    recorded["embedding"]["model"] = settled(settings.embedding).model
    recorded["kg"]["files"] = [graph.endpoint.url]
    version = short_id(graph.endpoint.url, *sorted(graph.relation_ids))[:12]
    models = {"embedding": embedder.name, "dimension": str(embedder.dimension)}
    return Manifest(FORMAT_VERSION, version, recorded, version, {}, models, {}, {})


def _folder() -> Path:
    """Return a folder for cached model replies, deleted when the program ends."""
    folder = Path(tempfile.mkdtemp(prefix="conspectus-endpoint-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
