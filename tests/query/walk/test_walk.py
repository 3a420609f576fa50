"""The graph that is walked over: its edges, paths between two entities, queries, verdicts, and large graphs."""

import shutil
from dataclasses import replace
from pathlib import Path

import networkx
import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.graph_question.mentions import open_names
from conspectus.query.graph_question.reader import read_graph_question
from conspectus.query.graph_question.structured_query import Bound, Condition, GraphQuery, Order, PredicateStep, Things
from conspectus.query.methods.plan.connecting_paths import connecting_paths
from conspectus.query.question.topics import link_topics
from conspectus.query.types.trace import Hop
from conspectus.query.walk import graph as graphs
from conspectus.query.walk.graph import (
    KnowledgeGraph,
    graph_of,
    open_graph,
    predicate_words,
    sentence,
)
from conspectus.query.walk.provenance import open_grounds
from conspectus.query.walk.run_query import run
from conspectus.query.walk.verdicts import asked_question, final_answer, in_braces, read_reasoning
from conspectus.storage.derived import derived_folder
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Relation
from hypothesis import given, settings
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


EVERY = 10**9


def reference(graph: KnowledgeGraph, one: int, other: int, longest: int) -> list[tuple[int, ...]]:
    """Return all simple paths as rows of relations, the shortest length and one more."""
    drawn = networkx.MultiGraph()
    drawn.add_nodes_from(range(graph.n_entities))
    for row, (source, target) in enumerate(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)):
        drawn.add_edge(source, target, key=row)
    paths = networkx.all_simple_edge_paths(drawn, one, other, cutoff=longest) if one != other else []
    found = sorted(tuple(row for _, _, row in path) for path in paths)
    least = min((len(path) for path in found), default=0)
    return [path for path in found if len(path) <= least + 1]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(0, 6)), max_size=16),
    st.integers(0, 6), st.integers(0, 6), st.integers(1, 5),
)  # fmt: skip
def test_they_are_those_of_networkx(triples: list[tuple[int, int, int]], one: int, other: int, longest: int) -> None:
    graph = made(7, triples)
    found = connecting_paths(graph, one, other, longest=longest, enough=EVERY)
    assert sorted(tuple(hop.relation for hop in path) for path in found) == reference(graph, one, other, longest)
    assert [len(path) for path in found] == sorted(len(path) for path in found)
    for path in found:
        ends = [one, *(hop.end for hop in path)]
        assert (ends[-1], [hop.start for hop in path]) == (other, ends[:-1])
        for hop in path:
            stated = (int(graph.sources[hop.relation]), int(graph.targets[hop.relation]))
            assert stated == ((hop.start, hop.end) if hop.outgoing else (hop.end, hop.start))


def test_longer_ones_are_sought_only_where_short_ones_are_few() -> None:
    graph = made(4, [(0, 0, 1), (0, 1, 2), (2, 1, 1), (0, 2, 3), (3, 2, 2)])
    assert connecting_paths(graph, 0, 1, longest=4, enough=1) == [(Hop(0, 0, 1, True),)]
    assert [len(path) for path in connecting_paths(graph, 0, 1, longest=4, enough=2)] == [1, 2]


@pytest.mark.parametrize("hub", [3_000])
def test_two_hubs_are_joined_within_bounds(hub: int) -> None:
    between = [(0, 0, node) for node in range(2, hub)] + [(1, 1, node) for node in range(2, hub)]
    graph = made(hub, between)
    found = connecting_paths(graph, 0, 1, longest=4, enough=5)
    assert len(found) == 2_000
    assert np.all([len(path) == 2 for path in found])


YEAR = PredicateStep(("release_year",))
FILM = Condition(None, (PredicateStep(("directed_by",), "backward"),))


@pytest.fixture
def graph(films_index: Context) -> KnowledgeGraph:
    return open_graph(films_index)


def by(graph: KnowledgeGraph, name: str, *predicates: str) -> Condition:
    return Condition((list(graph.names).index(name),), (PredicateStep(predicates, "backward"),))


def names(graph: KnowledgeGraph, query: GraphQuery) -> list[str]:
    return [graph.names[each.entity] for each in run(graph, query).found]


def cited(graph: KnowledgeGraph, relations: tuple[int, ...]) -> set[tuple[str, str, str]]:
    ends = [(graph.sources[row], graph.stated[row], graph.targets[row]) for row in relations]
    return {(graph.names[source], graph.predicates[said], graph.names[target]) for source, said, target in ends}


def test_orders_keep_equal_ranks_together(graph: KnowledgeGraph) -> None:
    order = Order(YEAR)
    assert names(graph, GraphQuery("things", Things((FILM,), order=order))) == ["Grey Heron"]
    later = Things((FILM,), (Bound(YEAR, "more", "1971"),), order)
    assert names(graph, GraphQuery("things", later)) == ["Night Ferry", "Salt Pans"]
    last = run(graph, GraphQuery("things", Things((FILM,), order=Order(YEAR, descending=True))))
    assert [(graph.names[each.entity], each.value) for each in last.found] == [("Port Alma", "1979")]
    assert ("Port Alma", "release_year", "1979") in cited(graph, last.relations)
    directors = Condition(None, (PredicateStep(("directed_by",)),))
    most = Order(PredicateStep(("directed_by",), "backward"), descending=True, counted=True)
    assert names(graph, GraphQuery("things", Things((directors,), order=most))) == ["Ada Mirren"]


def test_verdicts_cite_what_was_found_instead_and_know_what_is_not_stated(graph: KnowledgeGraph) -> None:
    row = list(graph.names).index
    directed = Things((by(graph, "Hugo Wren", "directed_by"),))
    yes = run(graph, GraphQuery("yes_no", directed, (row("Night Ferry"),)))
    assert (yes.verdict, cited(graph, yes.relations)) == (True, {("Night Ferry", "directed_by", "Hugo Wren")})
    no = run(graph, GraphQuery("yes_no", directed, (row("Grey Heron"),)))
    assert (no.verdict, no.known) == (False, True)
    assert cited(graph, no.relations) == {("Grey Heron", "directed_by", "Ada Mirren")}
    unstated = run(graph, GraphQuery("yes_no", Things((by(graph, "Mary Quill", "written_by"),)), (row("Grey Heron"),)))
    assert (unstated.verdict, unstated.known) == (False, False)


def test_comparisons(graph: KnowledgeGraph) -> None:
    films = tuple(map(list(graph.names).index, ("Port Alma", "Grey Heron")))
    earlier = Things((), order=Order(YEAR))
    found = run(graph, GraphQuery("compare", earlier, films))
    assert [graph.names[each.entity] for each in found.found] == ["Grey Heron"]
    assert {target for *_, target in cited(graph, found.relations)} == {"1971", "1979"}
    assert run(graph, GraphQuery("yes_no", earlier, films)).verdict is False
    people = tuple(map(list(graph.names).index, ("Ada Mirren", "Hugo Wren")))
    assert not run(graph, GraphQuery("compare", earlier, people)).known


@pytest.mark.parametrize(
    ("reply", "sufficient", "text"),
    [
        (" {No}. The paths say only where the mill stands.", False, "The paths say only where the mill stands."),
        ("A: {Yes}. Ada drew it, so the answer to the question is {Ada Mirren}.", True, "Ada Mirren"),
        ("For this question the answer is {Yes}. The mill stands in Tarn.", True, "The mill stands in Tarn."),
        ("{Yes} {Bern}, {Basel}", True, "Bern; Basel"),
        ('```json\n{"answer": "No", "explanation": "The year is missing."}\n```', False, "The year is missing."),
        ("Hanna Olsson built the bridge.", True, "Hanna Olsson built the bridge."),
        ("{Yes} {Tarn}\n\nQ: Who was born in Tarn?\nA: {No} {unknown}", True, "Tarn"),
    ],
)
def test_a_verdict_is_heard(reply: str, sufficient: bool, text: str) -> None:
    read = read_reasoning(reply)
    assert read
    assert (read.sufficient, read.text) == (sufficient, text)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "{Yes}",
        'Here it is: {"sufficient": true, "answer": "a "b" c"}',
        "You are on the right track! " + "Think of it. " * 60,
        "<think>{Yes} {Bern}",
    ],
)
def test_what_holds_no_verdict_is_none(reply: str) -> None:
    assert read_reasoning(reply) is None


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("The answer is {Bern}.", "Bern"),
        ("Bern", "Bern"),
        ("{unknown}", ""),
        ('{"A": {"Sufficient": "Yes", "Answer": "Bern"}}', "Bern"),
        ("{Bern}\n\nQuestion: And Basel?\nAnswer: {Rhine}", "Bern"),
    ],
)
def test_an_answer_in_braces(reply: str, answer: str) -> None:
    assert in_braces(reply) == answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("First it rained. So the answer is no.", "no"),
        ("The answer is (B) and (D).", "B; D"),
        ("\\[ \\text{The answer is (J)} \\]", "J"),
        ("The answer is {Bern}.\n\nQ: And now?\nA: The answer is {Basel}.", "Bern"),
        ("The answer is {unknown} unless more is said.", ""),
        ("It flows through Bern.\nBern", "Bern"),
    ],
)
def test_a_final_answer(reply: str, answer: str) -> None:
    assert final_answer(reply) == answer


def test_the_answer_behind_the_question_that_was_asked() -> None:
    reply = "Q: Who ran?\nA: The answer is Ada.\n\nQ: Who swam?\nA: The answer is Ivo."
    assert final_answer(reply, "Who swam?") == "Ivo"


def test_the_next_question_alone() -> None:
    assert asked_question('Sure!\nNext question: "Where was Ada born?"') == "Where was Ada born?"
    assert asked_question("the birthplace of Ada") == "the birthplace of Ada"


QUESTIONS = ("Who directed Night Ferry?", "How many films did Ada Mirren direct?", "Where was quill born?")


@pytest.fixture
def root(films_index: Context, tmp_path: Path) -> Path:
    shutil.copytree(films_index.index.root, tmp_path / "index")
    return tmp_path / "index"


def test_what_is_mapped_is_what_is_computed(films_index: Context, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computed = replace(films_index, index=StoredIndex.open(films_index.index.root))
    expected, topics = open_graph(computed), [link_topics(computed, question) for question in QUESTIONS]
    answers = [read_graph_question(computed, question).answer for question in QUESTIONS]
    monkeypatch.setattr(graphs, "LARGE", 1)
    for _ in range(2):  # made, and found made
        mapped = replace(films_index, index=StoredIndex.open(root))
        graph = open_graph(mapped)
        assert isinstance(graph.neighbours.base, np.memmap)
        for name in ("indptr", "neighbours", "predicate", "relation", "outgoing", "sources", "targets", "stated"):
            assert np.array_equal(getattr(graph, name), getattr(expected, name))
        assert (list(graph.names), list(graph.predicates)) == (list(expected.names), list(expected.predicates))
        assert list(graph.relation_ids) == list(expected.relation_ids)
        assert [read_graph_question(mapped, question).answer for question in QUESTIONS] == answers
        assert [link_topics(mapped, question) for question in QUESTIONS] == topics
    assert {"graph", "names"} <= {folder.name for folder in (root / "cache").iterdir()}


def test_damaged_files_are_named(films_index: Context, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graphs, "LARGE", 1)
    first = replace(films_index, index=StoredIndex.open(root))
    open_names(first)
    for path in (root / "cache").rglob("*.*"):
        if path.suffix in (".npy", ".arrow"):
            path.write_bytes(b"nonsense")
    damaged = replace(films_index, index=StoredIndex.open(root))
    for opened in (open_graph, open_names):
        with pytest.raises(IndexCorrupt, match="delete it"):
            opened(damaged)


def test_nothing_is_left_of_files_that_cannot_be_made(films_index: Context, root: Path) -> None:
    def fail(folder: Path) -> None:
        folder.mkdir()
        (folder / "half").write_text("", "utf-8")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        derived_folder(StoredIndex.open(root), "graph", 99, fail)
    assert not list((root / "cache" / "graph").glob("*-99"))
    assert not list((root / "cache" / "graph").glob(".*"))
