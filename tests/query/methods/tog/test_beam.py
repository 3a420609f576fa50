"""The moves of a beam search: what is found, what is kept, and the paths they leave."""

import itertools
import math

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import (
    BeamPath,
    DirectedPredicate,
    chain_to,
    discover,
    extend,
    hops_to,
)
from conspectus.query.methods.tog.tog2 import score_entities
from conspectus.query.question.topics import rows_of
from conspectus.query.walk.graph import open_graph
from hypothesis import given
from hypothesis import strategies as st


def at(context: Context, *names: str) -> BeamPath:
    rows, missing = rows_of(context, names)
    assert not missing
    return BeamPath(np.array(sorted(rows), np.int64))


def walked(context: Context, start: BeamPath, *steps: tuple[str, bool]) -> BeamPath:
    graph = open_graph(context)
    for predicate, outgoing in steps:
        way = DirectedPredicate(list(graph.predicates).index(predicate), outgoing)
        start = extend(start, next(each for each in discover(graph, start) if each.relation == way))
    return start


def names(context: Context, branch: BeamPath) -> list[str]:
    return [open_graph(context).names[row] for row in branch.entities.tolist()]


def test_relations_are_found_in_both_directions(films_index: Context) -> None:
    graph = open_graph(films_index)
    found = [
        (graph.predicates[each.relation.predicate], each.relation.outgoing)
        for each in discover(graph, at(films_index, "Hugo Wren"))
    ]
    assert found == [("born_in", True), ("directed_by", False), ("starred_actors", False)]


def test_a_path_is_a_chain_to_triples(films_index: Context) -> None:
    graph = open_graph(films_index)
    end = walked(films_index, at(films_index, "Grey Heron"), ("directed_by", True), ("born_in", True))
    hops = hops_to(end, int(end.entities[0]))
    assert [graph.names[each.end] for each in hops] == ["Ada Mirren", "Pelluci"]
    assert all(each.end == after.start for each, after in itertools.pairwise(hops))
    assert [graph.names[node] for (node,) in chain_to(end, int(end.entities[0])).communities] == [
        "Grey Heron",
        "Ada Mirren",
        "Pelluci",
    ]


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), min_size=1, max_size=12), st.floats(0, 2))
def test_entity_scores_are_equation_6(pieces: list[tuple[int, float]], alpha: float) -> None:
    owners, scores = [each[0] for each in pieces], [each[1] for each in pieces]
    ranked = sorted(range(len(pieces)), key=lambda place: (-scores[place], place))
    found = score_entities(owners, scores, alpha)
    for owner in set(owners):
        want = sum(scores[place] * math.exp(-alpha * k) for k, place in enumerate(ranked, 1) if owners[place] == owner)
        assert math.isclose(found[owner], want, abs_tol=1e-12)
