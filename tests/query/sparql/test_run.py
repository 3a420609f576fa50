"""Queries in SPARQL: rendered, run and bounded."""

import shutil
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.query.context import Context
from conspectus.query.filter.documents import filtered
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
from conspectus.query.sparql.run import SparqlProcess, query
from conspectus.query.sparql.schema import datatypes_of, predicates
from conspectus.query.sparql.store import PREFIXES, open_store
from conspectus.query.walk.graph import KnowledgeGraph, open_graph
from conspectus.query.walk.run_query import run
from conspectus.storage.errors import IndexCorrupt, SparqlError, UsageError
from conspectus.storage.index import StoredIndex
from conspectus.storage.publishing import build_lock, prune
from conspectus.storage.records import Document, Entity, Relation
from conspectus.storage.settings import load_settings

from tests.query import films
from tests.waiting import LIMIT

FILMS_AFTER_1972 = """
SELECT ?film ?year WHERE {
  ?film p:directed_by ?director ; v:release_year ?year .
  ?director rdfs:label "Ada Mirren" .
  FILTER(?year > 1972)
} ORDER BY ?year
"""


def test_a_query_gives_names_and_typed_literals(films_index: Context) -> None:
    found = query(films_index, FILMS_AFTER_1972)
    assert found.dicts() == [{"film": "Salt Pans", "year": "1974"}, {"film": "Port Alma", "year": "1979"}]
    film, year = found.rows[0]
    assert film
    assert year
    assert (film.kind, film.value.startswith("urn:conspectus:entity:")) == ("uri", True)
    assert (year.kind, year.datatype) == ("literal", "http://www.w3.org/2001/XMLSchema#integer")
    assert query(films_index, 'ASK { ?x rdfs:label "Nobody" }').boolean is False
    made = query(films_index, "CONSTRUCT WHERE { ?film p:written_by ?person }")
    assert {row["object"] for row in made.dicts()} == {"Mary Quill"}


def test_rows_beyond_the_limit_are_cut_off_and_the_result_says_so(films_index: Context) -> None:
    found = query(films_index, "SELECT ?s { ?s p:starred_actors ?o }", rows=2)
    assert (len(found.rows), found.complete) == (2, False)
    assert query(films_index, "SELECT ?s { ?s p:starred_actors ?o }", rows=5).complete
    with pytest.raises(UsageError, match="positive"):
        query(films_index, FILMS_AFTER_1972, rows=0)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("who directed it", "no SELECT"),
        ("SELECT ?x {", "not a SPARQL 1.1 query"),
        ("INSERT DATA { <urn:a> <urn:b> 1 }", "INSERT would change"),
        ("PREFIX a: <urn:select> DROP ALL", "DROP would change"),
        ("# SELECT\nLOAD <http://127.0.0.1/a>", "LOAD would change"),
        ("SELECT * { SERVICE <http://127.0.0.1:1/> { ?a ?b ?c } }", "another server"),
        ("SELECT * { ?a ?b '' . S\\u0045RVICE <http://127.0.0.1:1/> { ?a ?b ?c } }", "another server"),
        ('SELECT * { ?a ?b "\\u0022 . SERVICE <http://127.0.0.1:1/> { ?a ?b ?c } }', "another server"),
        ("SELECT * { " + "{" * 40_000 + "?a ?b ?c" + "}" * 40_000 + "}", "memory or depth"),
        ("SELECT ?a {" + " " * 100_000 + "}", "characters"),
    ],
)
def test_what_is_no_query_or_would_do_more_than_read_is_refused(films_index: Context, text: str, why: str) -> None:
    with pytest.raises(SparqlError, match=why):
        query(films_index, text)
    assert query(films_index, "ASK { ?a p:directed_by ?b }").boolean  # what was refused or crashed harms no other


def test_words_in_texts_iris_names_and_comments_are_no_keywords(films_index: Context) -> None:
    text = "SELECT ?service { ?service rdfs:label 'SERVICE' ; <urn:DROP> p:service . # SERVICE { } \n }"
    assert query(films_index, text).rows == ()


def test_a_query_that_takes_too_long_is_stopped(films_index: Context) -> None:
    with pytest.raises(SparqlError, match=r"stopped after 0\.2 s"):
        query(films_index, "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }", seconds=0.2)
    assert query(films_index, "ASK { ?a ?b ?c }").boolean


def test_the_store_cannot_be_changed_even_by_what_the_check_overlooks(films_index: Context) -> None:
    process = SparqlProcess(open_store(films_index.index))
    with pytest.raises(SparqlError, match="not a SPARQL"):
        process.run("INSERT DATA { <urn:a> <urn:b> 1 }", PREFIXES, 10, LIMIT)
    assert process.run("ASK { <urn:a> ?b ?c }", PREFIXES, 10, LIMIT)["boolean"] is False


def test_the_store_is_made_once_a_version_and_pruned_with_it(films_index: Context, tmp_path: Path) -> None:
    root = tmp_path / "index"
    shutil.copytree(films_index.index.root, root)
    shutil.rmtree(root / "cache" / "sparql", ignore_errors=True)
    place = open_store(StoredIndex.open(root))
    assert place.parent == root / "cache" / "sparql"
    made = place.stat().st_mtime_ns
    assert open_store(StoredIndex.open(root)) == place
    assert place.stat().st_mtime_ns == made
    assert [item.name for item in place.parent.iterdir()] == [place.name]
    (place.parent / "0123456789ab-1").mkdir()
    with build_lock(root):
        prune(root)
    assert [item.name for item in place.parent.iterdir()] == [place.name]


def test_an_index_that_cannot_be_written_to_has_a_store_elsewhere(films_index: Context, tmp_path: Path) -> None:
    root = tmp_path / "index"
    shutil.copytree(films_index.index.root, root)
    shutil.rmtree(root / "cache")
    (root / "cache").write_text("in the way", "utf-8")
    opened = replace(films_index, index=StoredIndex.open(root))
    assert query(opened, FILMS_AFTER_1972).dicts()[0]["film"] == "Salt Pans"
    assert root not in open_store(opened.index).parents


def test_a_damaged_store_is_named(tmp_path: Path) -> None:
    (tmp_path / "CURRENT").write_text("nonsense", "utf-8")
    with pytest.raises(IndexCorrupt, match="delete it"):
        SparqlProcess(tmp_path).run("ASK { ?a ?b ?c }", PREFIXES, 10, LIMIT)


def test_literals_units_names_and_qualifiers(tmp_path: Path) -> None:
    rows = [
        "head\trelation\ttail\tstart\tend",
        'The "Gull"\tis at\tTarn\\Quay',
        "Gull\truns.for\t1h 34\t",
        "Gull\tlength\t12 km",
        "Gull\tfounded on\t14 February 2003",
        "Gull\topened\t44 BC",
        "Ada\tmayor of\tTarn\t1990\t1995-03-01",
        "Ada\tmayor of\tTarn\t2001",
    ]
    file = tmp_path / "kg.tsv"
    file.write_text("\n".join(rows), "utf-8")
    report = build_index([], tmp_path / "index", load_settings(overrides={"kg": {"files": [str(file)]}}))
    assert not report.failures
    opened = Context(StoredIndex.open(tmp_path / "index"), load_settings())
    values = query(opened, "SELECT ?p ?v { ?s ?p ?v FILTER(STRSTARTS(STR(?p), STR(v:))) } ORDER BY ?p").rows
    assert [(p.value.rpartition(":")[2], v.value) for p, v in values if p and v] == [
        ("founded%20on", "2003-02-14"),
        ("length", "12000"),
        ("opened", "-43"),
        ("runs.for", "PT1H34M"),
    ]
    assert query(opened, "ASK { ?x v:runs.for ?t FILTER(?t > 'PT90M'^^xsd:dayTimeDuration) }").boolean
    assert query(opened, r"""SELECT ?o { ?s rdfs:label 'The "Gull"' ; p:is%20at ?o }""").dicts() == [
        {"o": "Tarn\\Quay"}
    ]
    terms = """SELECT ?who ?start ?end {
        ?term rdf:predicate p:mayor%20of ; rdf:subject ?who ; q:start ?start OPTIONAL { ?term q:end ?end }
    } ORDER BY ?start"""
    assert query(opened, terms).dicts() == [
        {"who": "Ada", "start": "1990", "end": "1995-03-01"},
        {"who": "Ada", "start": "2001"},
    ]
    [length] = [each for each in predicates(opened) if each.predicate == "length"]
    assert length.line() == "p:length  1: Gull | 12 km; its value: v:length (xsd:integer)"


def test_a_view_is_queried_for_what_its_documents_state_only(sample_context: Context) -> None:
    every = "SELECT ?name { ?x rdfs:label ?name }"
    whole = {row["name"] for row in query(sample_context, every).dicts()}
    title = sample_context.index.rows(Document)[0].title
    view = filtered(sample_context, f'title = "{title}"', None)
    seen = {row["name"] for row in query(view, every).dicts()}
    assert seen == {entity.name for entity in view.index.rows(Entity)} < whole
    stated = query(view, "SELECT ?a ?b { ?a ?p ?b . ?b rdfs:label ?name }").dicts()
    assert {(row["a"], row["b"]) for row in stated} == {
        (names[relation.source_id], names[relation.target_id])
        for names in [{entity.id: entity.name for entity in view.index.rows(Entity)}]
        for relation in view.index.rows(Relation)
    }
    assert {row["name"] for row in query(sample_context, every).dicts()} == whole


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
