"""A structured query gives the same over the arrays of the graph and as SPARQL."""

from random import Random

import pytest
from conspectus.query.context import Context
from conspectus.query.graph_question.structured_query import (
    Bound,
    Condition,
    Direction,
    GraphQuery,
    Order,
    PredicateStep,
    Things,
)
from conspectus.query.sparql.render import render
from conspectus.query.sparql.run import query
from conspectus.query.sparql.schema import datatypes_of
from conspectus.query.walk.graph import KnowledgeGraph, open_graph
from conspectus.query.walk.run_query import run

from tests.query import films

THINGS = [f'thing "{letter}"' for letter in "abcdefghijkl"]
LINKS = ("likes", "next to", "r.to")
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward", "either")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Context:
    chance = Random(5)
    triples = {(chance.choice(THINGS), chance.choice(LINKS), chance.choice(THINGS)) for _ in range(40)}
    for thing in THINGS:
        triples |= {
            (thing, "year", str(chance.randint(1990, 1996))),
            (thing, "weight", f"{chance.randint(1, 9) / 2} kg"),
        }
        day = f"{chance.randint(1990, 1996)}-{chance.randint(1, 12):02}-05"
        triples.add((thing, "begun", day if chance.random() < 0.6 else day[:4]))
        triples.add((thing, "cup", f"{chance.randint(1990, 1996)} Cup"))
    return films.build(tmp_path_factory.mktemp("made"), sorted(triples))


def steps(chance: Random, most: int) -> tuple[PredicateStep, ...]:
    return tuple(
        PredicateStep(tuple(chance.sample(LINKS, chance.randint(1, 2))), chance.choice(DIRECTIONS))
        for _ in range(chance.randint(1, most))
    )


def rows(graph: KnowledgeGraph, chance: Random, most: int = 2) -> tuple[int, ...]:
    return tuple(list(graph.names).index(name) for name in chance.sample(THINGS, chance.randint(1, most)))


def things(graph: KnowledgeGraph, chance: Random, *, inner: bool = True) -> Things:
    conditions = [Condition(None, (PredicateStep(("year",), "backward"),))]
    for _ in range(chance.randint(0, 2)):
        start = things(graph, chance, inner=False) if inner and chance.random() < 0.3 else rows(graph, chance)
        conditions.append(Condition(start, steps(chance, 2), negated=chance.random() < 0.25))
    bounds = []
    if chance.random() < 0.4:
        said, value = chance.choice(
            (("year", "1993"), ("weight", "2 kg"), ("weight", "1800 g"), ("begun", "1993"), ("begun", "1993-06-01"))
        )
        comparison = chance.choice(("less", "more", "at_least", "at_most"))
        bounds.append(Bound(PredicateStep((said,)), comparison, value))
    order = None
    if chance.random() < 0.5:
        by = chance.choice(("year", "weight", "begun", "cup"))
        order = Order(PredicateStep((by,)), chance.random() < 0.5)
        if chance.random() < 0.2:
            order = Order(steps(chance, 1)[0], chance.random() < 0.5, counted=True)
    return Things(tuple(conditions), tuple(bounds) if inner else (), order if inner else None)


@pytest.mark.parametrize("seed", range(60))
def test_a_query_gives_the_same_as_sparql(made: Context, seed: int) -> None:
    chance, graph = Random(seed), open_graph(made)
    form = chance.choice(("things", "things", "count", "yes_no", "compare"))
    wanted = things(graph, chance)
    if form == "compare":
        by = PredicateStep((chance.choice(("year", "weight", "begun")),))
        wanted = Things((), order=Order(by, chance.random() < 0.5))
    subjects = rows(graph, chance) if form == "yes_no" else rows(graph, chance, 3)
    if form == "yes_no" and (wanted.order or not wanted.conditions):
        wanted = Things(wanted.conditions, wanted.bounds)
    asked = GraphQuery(form, wanted, subjects if form in ("yes_no", "compare") else ())
    expected = run(graph, asked)
    text = render(graph, asked, datatypes_of(made))
    found = query(made, text)
    if form == "yes_no":
        assert found.boolean is expected.verdict, text
    elif form == "count":
        assert found.dicts() == [{"count": str(expected.count)}], text
    else:
        assert {row["thing"] for row in found.dicts()} == {graph.names[each.entity] for each in expected.found}, text


def test_the_text_is_what_a_person_would_write(films_index: Context) -> None:
    graph = open_graph(films_index)
    ada = list(graph.names).index("Ada Mirren")
    films_of_ada = Condition((ada,), (PredicateStep(("directed_by",), "backward"),))
    before = Bound(PredicateStep(("release_year",)), "less", "1975")
    text = render(graph, GraphQuery("count", Things((films_of_ada,), (before,))), datatypes_of(films_index))
    assert text.splitlines() == [
        "SELECT (COUNT(DISTINCT ?thing) AS ?count) WHERE {",
        '  ?x1 rdfs:label "Ada Mirren" .',
        "  ?thing p:directed_by ?x1 .",
        "  ?thing v:release_year ?value .",
        "  FILTER(?value < 1975)",
        "}",
    ]
    assert query(films_index, text).dicts() == [{"count": "2"}]
