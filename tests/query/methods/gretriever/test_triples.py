"""The nearest triples, as many as a budget holds."""

import asyncio

from conspectus.query.context import Context
from conspectus.query.menu import METHODS, find_retriever
from conspectus.query.methods.gretriever.triples import nearest_triples, triple_line
from conspectus.query.walk.graph import open_graph
from conspectus.storage.settings import load_settings
from conspectus.storage.text.tokens import count_tokens

from tests.query import films


def with_settings(context: Context, **keys: object) -> Context:
    return Context(context.index, load_settings(overrides={"gretriever": keys}))


def test_they_are_the_nearest_of_all(films_index: Context) -> None:
    found = nearest_triples(films_index, "What genre is Grey Heron?")
    assert [found.text.nodes[end] for end in (found.text.edges[0].source, found.text.edges[0].target)] == [
        "Grey Heron",
        "Drama",
    ]
    assert list(found.edge_prizes) == sorted(found.edge_prizes, reverse=True)
    assert len(found.relations) == len(films.TRIPLES)  # all of so few fit


def test_the_budget_bounds_them(films_index: Context) -> None:
    some = nearest_triples(with_settings(films_index, context_tokens=64), "What genre is Grey Heron?")
    lines = [triple_line(open_graph(films_index), row) for row in some.relations]
    assert 0 < len(lines) < len(films.TRIPLES)
    assert sum(map(count_tokens, lines)) <= 64


def test_the_nearest_answers(films_index: Context) -> None:
    answer = asyncio.run(METHODS["triples"].answerer(films_index).answer("What genre is Grey Heron?"))
    assert (answer.names, answer.text) == (("Drama",), "Drama [1]")
    assert [each.predicate for each in answer.triples] == ["has_genre"]
    found = asyncio.run(find_retriever("triples", films_index).retrieve("What genre is Grey Heron?", 3))
    assert found.passages == ()
    assert found.subgraph == answer.evidence.subgraph


def test_where_the_question_names_the_target_the_source_answers(films_index: Context) -> None:
    answer = asyncio.run(METHODS["triples"].answerer(films_index).answer("What lies in Ostrava?"))
    assert answer.names[0] in {"Pelluci", "Tarn"}
