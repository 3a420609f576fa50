import pytest
from conspectus.query.context import Context
from conspectus.query.graph_question.structured_query import Bound, Condition, GraphQuery, Order, PredicateStep, Things
from conspectus.query.walk.graph import KnowledgeGraph, open_graph
from conspectus.query.walk.run_query import run

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


def test_conditions_are_intersected_and_cited(graph: KnowledgeGraph) -> None:
    both = (by(graph, "Ada Mirren", "directed_by"), by(graph, "Otto Brand", "starred_actors"))
    found = run(graph, GraphQuery("things", Things(both)))
    assert [graph.names[each.entity] for each in found.found] == ["Grey Heron", "Port Alma"]
    assert cited(graph, found.found[1].relations) == {
        ("Port Alma", "directed_by", "Ada Mirren"),
        ("Port Alma", "starred_actors", "Otto Brand"),
    }
    without = (both[0], Condition(both[1].start, both[1].steps, negated=True))
    assert names(graph, GraphQuery("things", Things(without))) == ["Salt Pans"]


def test_alternatives_bounds_and_counts(graph: KnowledgeGraph) -> None:
    made = by(graph, "Mary Quill", "written_by", "directed_by")
    assert names(graph, GraphQuery("things", Things((made,)))) == ["Night Ferry", "Salt Pans"]
    films = (by(graph, "Ada Mirren", "directed_by"),)
    before = Things(films, (Bound(YEAR, "less", "1974"),))
    assert names(graph, GraphQuery("things", before)) == ["Grey Heron"]
    assert run(graph, GraphQuery("count", Things(films, (Bound(YEAR, "at_most", "1974"),)))).count == 2
    assert not run(graph, GraphQuery("count", Things(films, (Bound(YEAR, "less", "12 kg"),)))).found


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


def test_a_start_may_be_described_itself(graph: KnowledgeGraph) -> None:
    oldest = Things((FILM, by(graph, "1971", "release_year")))
    born = Things((Condition(oldest, (PredicateStep(("directed_by",)), PredicateStep(("born_in",)))),))
    found = run(graph, GraphQuery("things", born))
    assert [graph.names[each.entity] for each in found.found] == ["Pelluci"]
    assert cited(graph, found.relations) == {
        ("Grey Heron", "directed_by", "Ada Mirren"),
        ("Grey Heron", "release_year", "1971"),
        ("Ada Mirren", "born_in", "Pelluci"),
    }


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
