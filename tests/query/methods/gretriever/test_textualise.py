"""A subgraph as text keeps within its budget, and what is left hangs together."""

import numpy as np
from conspectus.query.methods.gretriever.textualise import textualised
from conspectus.query.types.subgraph import RetrievedSubgraph
from conspectus.query.walk.graph import KnowledgeGraph, graph_of
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st

PREDICATES = ["", "has part", "is in"]


def made(ends: list[tuple[int, int, int]]) -> KnowledgeGraph:
    sources, targets, said = (np.array([each[side] for each in ends], np.int64) for side in (0, 1, 2))
    names = ["Ada_Mirren", "m.0w68_yf", *(f"Thing {row}" for row in range(2, 40))]
    ids, told = [f"r{row}" for row in range(len(ends))], [f"told {row}" for row in range(len(ends))]
    return graph_of(names, PREDICATES, sources, targets, said.astype(np.int32), names, ids, told)


def joined(found: RetrievedSubgraph) -> bool:
    reached = {0}
    for _ in found.text.nodes:
        for edge in found.text.edges:
            if {edge.source, edge.target} & reached:
                reached |= {edge.source, edge.target}
    return reached == set(range(len(found.text.nodes)))


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    n = draw(st.integers(2, 12))
    ends = [(draw(st.integers(0, row - 1)), row) for row in range(1, n)]
    more = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=3))
    return [
        (*(pair if draw(st.booleans()) else pair[::-1]), draw(st.integers(0, len(PREDICATES) - 1)))
        for pair in (*ends, *more)
    ]


@given(trees(), st.integers(64, 300), st.data())
def test_what_is_kept_hangs_together_within_the_budget(
    ends: list[tuple[int, int, int]], budget: int, data: st.DataObject
) -> None:
    graph = made(ends)
    nodes = sorted({row for each in ends for row in each[:2]})
    prizes = {row: data.draw(st.floats(0, 3)) for row in nodes}
    worth = {row: data.draw(st.floats(0, 3)) for row in range(len(ends))}
    found = textualised(graph, nodes, list(range(len(ends))), prizes, worth, budget, (99, 99))
    assert count_tokens(found.text.to_text()) <= budget
    assert joined(found)
    assert len(set(found.nodes)) == len(found.nodes)
    assert len(set(found.relations)) == len(found.relations)
    assert prizes[found.nodes[0]] == max(prizes.values())
    if budget == 300 and len(ends) < 8:
        assert set(found.relations) == set(range(len(ends)))


def test_the_way_to_what_is_worth_most_is_kept() -> None:
    graph = made([(0, 2, 1), (0, 3, 1), (2, 4, 2), (0, 5, 1), (0, 6, 1)])
    found = textualised(graph, range(7), range(5), {0: 3.0}, {2: 5.0, 1: 1.0, 3: 1.0, 4: 1.0}, 64, (7, 5))
    assert found.relations[:2] == (0, 2)
    assert found.text.nodes[:3] == ("Ada Mirren", "Thing 2", "Thing 4")
    assert len(found.relations) < 5


def test_a_long_list_does_not_push_others_out() -> None:
    ends = [(0, row, 1) for row in range(2, 32)] + [(0, 32, 2)]
    worth = dict.fromkeys(range(30), 2.0) | {30: 0.5}
    found = textualised(made(ends), range(33), range(31), {0: 1.0}, worth, 250, (33, 31))
    assert 30 in found.relations
    assert len(found.relations) < 31


def test_ids_stay_as_they_are_and_descriptions_stand_in_for_predicates() -> None:
    found = textualised(made([(0, 1, 0)]), [0, 1], [0], {0: 1.0}, {}, 200, (2, 1))
    assert found.text.to_text() == ("node_id,node_attr\n0,Ada Mirren\n1,m.0w68_yf\n\nsrc,edge_attr,dst\n0,told 0,1\n")
