"""The relations of an index as a graph for walks: every triple is an edge at both of its entities.

ToG and ToG-2 with a model can walk a live graph (`conspectus.query.remote_graph`) as well. Methods that need a whole
graph use `KnowledgeGraph`; over a live graph it has the neighbourhood of the entities that the question names.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import regex
from conspectus.storage.arrays import UNREADABLE_ARRAY, Bools, Ints, Vectors, distinct, gather
from conspectus.storage.derived import derived_folder
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.memory_index import MemoryIndex
from conspectus.storage.records import Entity, Relation
from conspectus.storage.tables import rows_of_ends
from conspectus.storage.text.embedded import predicate_words as predicate_words
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.postings import Postings, TextColumn

if TYPE_CHECKING:
    from conspectus.query.context import Context
    from conspectus.query.remote_graph.graph import LiveGraph

_ID = regex.compile(r"(?:https?://\S+|_:\S+|Q\d{2,}|/?\p{Ll}{1,3}[./:_](?=\S*\d)[\p{Ll}\d._/-]+)")

_BEGINS_LIKE_ID = r"^(?:https?://|_:|Q|/?\p{Ll}{1,3}[./:_])"
"""What Arrow can say of `_ID` without making a text of each name: the rest is compared one by one."""


class IncidentEdges(NamedTuple):
    """Edges as arrays of equal length: `at` is the entity of each edge; the other arrays are as in KnowledgeGraph."""

    at: Ints
    neighbours: Ints
    predicate: npt.NDArray[np.int32]
    relation: Ints
    outgoing: Bools


@dataclass(frozen=True, slots=True, eq=False)
class KnowledgeGraph:
    """A directed graph with named edges in compressed sparse rows, n entities and e relations.

    The edges of entity i are `neighbours[indptr[i]:indptr[i + 1]]`, and the same range of `predicate` (its number),
    `relation` (row of the relations table) and `outgoing`, sorted by (predicate, outgoing, neighbour, relation). Each
    relation occurs twice: at its source, outgoing, and at its target. By relation row, `sources`, `targets` and
    `stated` are its ends and its predicate. `names[i]` is the name of entity i; `predicates` are distinct and sorted.
    """

    names: Sequence[str]
    predicates: Sequence[str]
    indptr: Ints
    neighbours: Ints
    predicate: npt.NDArray[np.int32]
    relation: Ints
    outgoing: Bools
    sources: Ints
    targets: Ints
    stated: npt.NDArray[np.int32]
    entity_ids: Sequence[str]
    relation_ids: Sequence[str]
    descriptions: Sequence[str]

    @property
    def n_entities(self) -> int:
        """The number of entities, with and without edges."""
        return len(self.indptr) - 1

    def degrees(self) -> Ints:
        """Return the number of edges of each entity, int64 (n,)."""
        return np.diff(self.indptr)

    def edges_of(self, entities: Sequence[int] | Ints) -> IncidentEdges:
        """Return the edges of entities, in the order of the entities."""
        rows = np.asarray(entities, dtype=np.int64)
        counts, entries = gather(self.indptr, rows)
        return IncidentEdges(
            np.repeat(rows, counts),
            self.neighbours[entries],
            self.predicate[entries],
            self.relation[entries],
            self.outgoing[entries],
        )


@per_index
def open_graph(context: "Context") -> KnowledgeGraph:
    """Return the index's graph, created from its tables on first use."""
    index = context.index
    named = index.arrow(Entity, "name").column("name")
    names = TextColumn(lambda: named) if index.is_mapped(Entity) else named.to_pylist()
    entity_ids = TextColumn(lambda: index.arrow(Entity, "id").column("id"))
    relation_ids = TextColumn(lambda: index.arrow(Relation, "id").column("id"))
    descriptions = TextColumn(lambda: index.arrow(Relation, "description").column("description"))
    if isinstance(index, MemoryIndex) or index.manifest.rows["relations"] < LARGE:
        return graph_of(names, *_stated(index), entity_ids, relation_ids, descriptions)
    folder = derived_folder(index, "graph", FORM, lambda place: _write(index, names, place))
    try:
        predicates = json.loads((folder / "predicates.json").read_text("utf-8"))
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in _ARRAYS}
    except UNREADABLE_ARRAY as error:
        raise IndexCorrupt(f"{folder} cannot be read ({error}); delete it, and it is made again") from error
    return KnowledgeGraph(
        names, predicates, entity_ids=entity_ids, relation_ids=relation_ids, descriptions=descriptions, **arrays
    )


LARGE = 50_000
"""From this many relations, a graph's arrays are memory-mapped from derived files (`conspectus.storage.derived`)."""
FORM = 1
"""Incremented when the content of these files changes."""
_ARRAYS = ("indptr", "neighbours", "predicate", "relation", "outgoing", "sources", "targets", "stated")


def _write(index: StoredIndex, names: Sequence[str], folder: Path) -> None:
    graph = graph_of(names, *_stated(index), (), (), ())
    folder.mkdir()
    for name in _ARRAYS:
        np.save(folder / f"{name}.npy", getattr(graph, name), allow_pickle=False)
    (folder / "predicates.json").write_text(json.dumps(list(graph.predicates)), "utf-8")


def kept_postings(
    context: "Context", name: str, form: int, make: Callable[[], Mapping[str, Postings]], kinds: Sequence[str]
) -> Mapping[str, Postings]:
    """Return postings over the names of a graph, built in memory, or for a large graph built once and memory-mapped.

    Args:
        context: The open index.
        name: The name of the derived files.
        form: Incremented when the content of the files changes.
        make: Builds the postings.
        kinds: The keys of the mapping that `make` returns.

    Raises:
        IndexCorrupt: The files are damaged.
    """
    index = context.index
    if isinstance(index, MemoryIndex) or index.manifest.rows["relations"] < LARGE:
        return make()

    def write(folder: Path) -> None:
        folder.mkdir()
        for kind, rows in make().items():
            rows.save(folder / f"{kind}.arrow")

    folder = derived_folder(index, name, form, write)
    try:
        return {kind: Postings.load(folder / f"{kind}.arrow") for kind in kinds}
    except UNREADABLE_ARRAY as error:
        raise IndexCorrupt(f"{folder} cannot be read ({error}); delete it, and it is made again") from error


def _stated(index: StoredIndex) -> tuple[list[str], Ints, Ints, npt.NDArray[np.int32]]:
    """Return the distinct predicates, sorted, and the source, target and predicate of each relation as rows."""
    import pyarrow as pa

    entity_ids = index.arrow(Entity, "id").column("id")
    relations = index.arrow(Relation, "source_id", "target_id", "predicate")
    said = relations.column("predicate").combine_chunks().dictionary_encode()
    if isinstance(said, pa.ChunkedArray):
        said = said.combine_chunks()
    distinct = said.dictionary.to_pylist()
    order = sorted(range(len(distinct)), key=distinct.__getitem__)
    number = np.empty(len(distinct), np.int32)
    number[order] = np.arange(len(distinct), dtype=np.int32)
    stated = number[said.indices.to_numpy(zero_copy_only=False)] if len(distinct) else np.empty(0, np.int32)
    return [distinct[item] for item in order], *rows_of_ends(relations, entity_ids), stated


def graph_of(
    names: Sequence[str],
    predicates: Sequence[str],
    sources: Ints,
    targets: Ints,
    stated: npt.NDArray[np.int32],
    entity_ids: Sequence[str],
    relation_ids: Sequence[str],
    descriptions: Sequence[str],
) -> KnowledgeGraph:
    """Build a graph from the ends of relations (entity rows) and their predicate numbers."""
    ends, others = np.concatenate([sources, targets]), np.concatenate([targets, sources])
    n_relations = len(sources)
    outgoing = np.arange(2 * n_relations) < n_relations
    relation = np.tile(np.arange(n_relations, dtype=np.int64), 2)
    predicate = np.tile(stated, 2)
    order = np.lexsort((relation, others, outgoing, predicate, ends))
    indptr = np.zeros(len(names) + 1, np.int64)
    np.cumsum(np.bincount(ends, minlength=len(names)), out=indptr[1:])
    return KnowledgeGraph(
        names,
        predicates,
        indptr,
        others[order],
        predicate[order],
        relation[order],
        outgoing[order],
        sources,
        targets,
        stated,
        entity_ids,
        relation_ids,
        descriptions,
    )


def sentence(graph: "WalkGraph", relation: int) -> str:
    """Return a relation as a short sentence, or its ends and description if it has no predicate."""
    source, target = graph.names[graph.sources[relation]], graph.names[graph.targets[relation]]
    predicate = graph.predicates[graph.stated[relation]]
    if not predicate:
        return f"{spoken(source)}, {spoken(target)}: {graph.descriptions[relation]}"
    return f"{spoken(source)} {predicate_words(predicate)} {spoken(target)}"


def spoken(name: str) -> str:
    """Return a name with spaces for underscores."""
    return name.replace("_", " ")


def names_as_written(graph: "WalkGraph", names: Sequence[str], entities: Iterable[int]) -> tuple[str, ...]:
    """Return distinct names, in the graph's spelling if they name one of the given entities.

    Args:
        graph: The graph.
        names: Names written by a model.
        entities: The candidate entities; if several have the same name, the last row is used.
    """
    written = {entity_key(spoken(graph.names[row])): graph.names[row] for row in sorted(set(entities))}
    stripped = (name.strip() for name in names if name.strip())
    return tuple(dict.fromkeys(written.get(entity_key(spoken(name)), name) for name in stripped))


def is_id(name: str) -> bool:
    """Return whether a name is an opaque id; such an entity only connects others.

    >>> is_id("m.0h3d7qb"), is_id("Q42"), is_id("1999"), is_id("Catch-22"), is_id("7 Up")
    (True, True, False, False, False)
    """
    return _ID.fullmatch(name) is not None


@per_index
def all_ids(context: "Context") -> Bools:
    """Return for each entity whether its name is an opaque id, bool (n,)."""
    from pyarrow import compute

    names = context.index.arrow(Entity, "name").column("name")
    found = np.array(compute.match_substring_regex(names, _BEGINS_LIKE_ID).to_numpy(), bool)
    rows = np.flatnonzero(found)
    found[rows] = [is_id(name) for name in names.take(rows).to_pylist()]
    return found


def around(graph: KnowledgeGraph, topics: Sequence[int], hops: int) -> tuple[Ints, Ints]:
    """Return the relations within `hops` of the topics, ascending, and each entity's distance (-1: farther).

    A relation is within n hops if one of its ends is within n - 1.
    """
    distance = np.full(graph.n_entities, -1, np.int64)
    frontier = distinct(np.asarray(topics, np.int64))
    distance[frontier] = 0
    found = [np.zeros(0, np.int64)]
    for hop in range(1, hops + 1):
        edges = graph.edges_of(frontier)
        found.append(edges.relation)
        frontier = distinct(edges.neighbours[distance[edges.neighbours] < 0])
        distance[frontier] = hop
    return distinct(np.concatenate(found)), distance


@per_index
def predicate_vectors(context: "Context") -> Vectors:
    """Return the stored unit vectors of the words of all predicates, float32 (p, d), in the order of `predicates`."""

    stored = context.index.vectors("predicates")
    return stored.mean_vectors(np.arange(stored.n_rows, dtype=np.int64))


WalkGraph: TypeAlias = "KnowledgeGraph | LiveGraph"
"""Entities, relations and predicates by number; the numbers do not change while a live graph grows."""


def open_walk_graph(context: "Context") -> WalkGraph:
    """Return the graph to walk: the context's live graph if it has one, otherwise the index's."""
    return context.live or open_graph(context)


def near_predicates(context: "Context", question: str) -> Vectors:
    """Return the cosine of each predicate of the graph to walk with a question, (p,)."""
    if context.live:
        return context.live.near_predicates(question)
    found: Vectors = predicate_vectors(context) @ context.embedder.embed_query(question)
    return found


def near_names(context: "Context", question: str, entities: Sequence[int]) -> Vectors:
    """Return the cosine of the name of each entity with a question, 0 for one without a vector."""
    if context.live:
        return context.live.near_names(question, entities)
    vectors = context.index.vectors("entities").mean_vectors(np.asarray(entities, np.int64))
    found: Vectors = vectors @ context.embedder.embed_query(question)
    return found
