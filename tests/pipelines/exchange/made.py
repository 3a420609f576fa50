"""Indexes made of a few rows, and graphs read back from files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from conspectus.pipelines.exchange.kg.builder import ImportedGraph
from conspectus.pipelines.exchange.kg.read import read_graph
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.pipelines.steps.join_graph import join
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.hashing import short_id
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import Manifest
from conspectus.storage.memory_index import MemoryIndex, Parts
from conspectus.storage.records import Community, Entity, Relation
from conspectus.storage.settings import KgSettings
from conspectus.storage.tables import TABLES
from conspectus.storage.text.bm25 import Bm25
from conspectus.storage.text.normalise import entity_key
from hypothesis import strategies as st

MANIFEST = Manifest(4, "0" * 12, {}, "", {}, {}, {}, {})


def index_of(
    entities: Sequence[Entity], relations: Sequence[Relation] = (), communities: Sequence[Community] = ()
) -> StoredIndex:
    """Return an index with these rows, in memory."""
    return index_with({Entity: entities, Relation: relations, Community: communities})


def index_with(given: Mapping[type, Sequence[object]]) -> StoredIndex:
    """Return an index with these rows, in memory; the tables that are not given are empty."""
    rows = {record: (lambda record=record: given.get(record, [])) for record in TABLES.values()}
    parts = Parts(rows, rows[Entity], {}, lambda: Adjacency.from_edges(1, [], [], []), lambda: Bm25.of(["x"], [""]))
    return MemoryIndex(Path("nowhere"), MANIFEST, parts)


def entity(name: str, *types: str, description: str = "", degree: int = 0) -> Entity:
    types = types or ("NAME",)
    return Entity(short_id("entity", entity_key(name)), name, types[0], types, description, 0, degree)


def relation(
    source: Entity,
    predicate: str,
    target: Entity,
    description: str = "",
    weight: float = 1.0,
    strength: float | None = None,
) -> Relation:
    id_ = short_id("relation", entity_key(source.name), predicate, entity_key(target.name))
    return Relation(id_, source.id, target.id, predicate, description, weight, (), strength)


def graph_of(*files: Path, labels: tuple[Path, ...] = (), language: str = "en") -> ImportedGraph:
    """Return the graph of some files."""
    found = read_graph(KgSettings(files=tuple(map(str, files)), labels=tuple(map(str, labels)), language=language))
    assert found is not None
    return found


def known(graph: ImportedGraph) -> Knowledge:
    """Return what an index of a graph alone has."""
    return join(Knowledge([], [], []), graph)


def triples(graph: ImportedGraph) -> set[tuple[str, str, str]]:
    """Return the triples by their names."""
    rows = zip(graph.sources.tolist(), graph.stated.tolist(), graph.targets.tolist(), strict=True)
    return {(graph.names[source], graph.predicates[said], graph.names[target]) for source, said, target in rows}


_SIGNS = st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cn"])
_XML = st.text(_SIGNS, max_size=20)


def shown(signs: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return texts in which something can be seen, as names are stored."""
    return st.builds(lambda text: " ".join(text.split()), signs).filter(lambda text: bool(entity_key(text)))


@st.composite
def graphs(draw: st.DrawFn, signs: st.SearchStrategy[str] = _XML) -> tuple[list[Entity], list[Relation]]:
    """Return the rows of a graph as an index without documents has them, sorted by id."""
    names = draw(st.lists(shown(signs), min_size=1, max_size=6, unique_by=entity_key))
    kinds = st.lists(shown(signs), min_size=1, max_size=3, unique=True)
    told = signs.filter(lambda text: bool(text.strip()) or not text)
    entities = [entity(name, *draw(kinds), description=draw(told)) for name in names]
    predicates = st.one_of(st.just(""), st.builds(lambda text: " ".join(text.split()), signs), st.just("http://x/y#z"))
    weights = st.floats(1e-3, 1e6)
    made = draw(
        st.lists(
            st.builds(
                relation,
                st.sampled_from(entities),
                predicates,
                st.sampled_from(entities),
                told,
                weights,
                st.none() | st.floats(0, 10),
            ),
            max_size=8,
            unique_by=lambda each: each.id,
        )
    )
    ends = {each.id: set[str]() for each in entities}
    for each in made:
        ends[each.source_id].add(each.target_id)
        ends[each.target_id].add(each.source_id)
    entities = [replace(each, degree=len(ends[each.id])) for each in entities]
    return sorted(entities, key=lambda each: each.id), sorted(made, key=lambda each: each.id)
