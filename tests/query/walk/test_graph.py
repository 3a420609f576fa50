import numpy as np
from conspectus.query.context import Context
from conspectus.query.walk.graph import (
    KnowledgeGraph,
    graph_of,
    open_graph,
    predicate_words,
    sentence,
)
from conspectus.query.walk.provenance import open_grounds
from conspectus.storage.records import Entity, Relation
from hypothesis import given
from hypothesis import strategies as st

from tests.query.films import TRIPLES


def made(n: int, triples: list[tuple[int, int, int]]) -> KnowledgeGraph:
    rows = np.array(triples, np.int64).reshape(-1, 3)
    names = [f"n{i}" for i in range(n)]
    ids = [f"r{i}" for i in range(len(rows))]
    said = rows[:, 1].astype(np.int32)
    return graph_of(names, ["p", "q", "r"], rows[:, 0], rows[:, 2], said, names, ids, [""] * len(rows))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 5)), max_size=20))
def test_each_relation_stands_at_both_of_its_ends(triples: list[tuple[int, int, int]]) -> None:
    graph = made(6, triples)
    edges = graph.edges_of(range(6))
    outgoing = {(int(at), int(said), int(to), int(row)) for at, to, said, row, out in zip(*edges, strict=True) if out}
    incoming = {
        (int(to), int(said), int(at), int(row)) for at, to, said, row, out in zip(*edges, strict=True) if not out
    }
    assert outgoing == incoming == {(*triple, row) for row, triple in enumerate(triples)}
    assert len(edges.at) == 2 * len(triples) == graph.degrees().sum()
    for node in range(6):
        own = graph.edges_of([node])
        order = list(zip(own.predicate, own.outgoing, own.neighbours, own.relation, strict=True))
        assert order == sorted(order)


def test_the_graph_of_an_index_has_its_tables_rows(films_index: Context) -> None:
    graph = open_graph(films_index)
    assert graph is open_graph(films_index)
    entities, relations = films_index.index.rows(Entity), films_index.index.rows(Relation)
    assert list(graph.names) == [each.name for each in entities]
    assert [graph.entity_ids[row] for row in range(3)] == [each.id for each in entities[:3]]
    assert graph.relation_ids[1:3] == [each.id for each in relations[1:3]]
    assert list(graph.predicates) == sorted({predicate for _, predicate, _ in TRIPLES})
    stated = {
        (graph.names[source], graph.predicates[said], graph.names[target])
        for source, said, target in zip(graph.sources, graph.stated, graph.targets, strict=True)
    }
    assert stated == set(TRIPLES)
    row = next(row for row, each in enumerate(relations) if each.predicate == "written_by")
    [shown] = open_grounds(films_index).triples([row])
    assert (shown.number, shown.relation_id, shown.predicate) == (1, relations[row].id, "written_by")
    assert sentence(graph, row) == f"{shown.source} written by {shown.target}"


def test_a_relation_without_a_predicate_is_told_by_its_description() -> None:
    graph = graph_of(
        ["a_b", "c"], [""], np.array([0]), np.array([1]), np.zeros(1, np.int32), ["x", "y"], ["r"], ["a b met c"]
    )
    assert sentence(graph, 0) == "a b, c: a b met c"


def test_words_of_predicates() -> None:
    told = {
        "has_imdb_rating": "has imdb rating",
        "location.location.containedby": "location containedby",
        "people.marriage.spouse": "marriage spouse",
        "sports.sports_team.team_colors": "sports team team colors",
        "/film/film/directed_by": "film directed by",
        "birthPlace": "birth place",
        "http://www.wikidata.org/prop/direct/P31": "p31",
        "was born in St. Louis": "was born in st. louis",
        "": "",
        "...": "",
    }
    assert {each: predicate_words(each) for each in told} == told
