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
