import re
from collections.abc import Sequence

import numpy as np
import pytest
from conspectus.storage.arrays import Vectors

from benchmarks.text_graphs import (
    Counts,
    Edge,
    GraphEntity,
    TextGraph,
    TripleCounts,
    alike_name,
    check_facts,
    count_triples,
    same_name,
    sentence_graph,
)


def bag_of_words(texts: Sequence[str]) -> Vectors:
    """A unit vector of which words stand in a text: the cosine is that of word sets."""
    bags = [set(re.findall(r"\w+", each.lower())) for each in texts]
    vocabulary = sorted(set().union(*bags, {""}))
    found = np.array([[word in bag for word in vocabulary] for bag in bags], np.float32)
    return found / np.maximum(1e-9, np.linalg.norm(found, axis=1, keepdims=True))


class Embedder:
    """One vocabulary for all calls, so that vectors of several calls can be compared."""

    def __init__(self) -> None:
        self._place: dict[str, int] = {}

    def __call__(self, texts: Sequence[str]) -> Vectors:
        found = np.zeros((len(texts), 200), np.float32)
        for row, text in enumerate(texts):
            for word in set(re.findall(r"\w+", text.lower())):
                found[row, self._place.setdefault(word, len(self._place))] = 1
        return found / np.maximum(1e-9, np.linalg.norm(found, axis=1, keepdims=True))


def even(key: str) -> float:
    return 1.0


GRAPH = TextGraph(
    (GraphEntity("Marie Curie", "a physicist"), GraphEntity("polonium"), GraphEntity("Warsaw"), GraphEntity("Vistula")),
    (
        Edge("Marie Curie", "discovered", "polonium", "Curie discovered polonium in 1898 in Paris."),
        Edge("Marie Curie", "born in", "Warsaw"),
        Edge("Vistula", "flows through", "Warsaw"),
    ),
)


def held(fact: str, descriptions: bool = False, graph: TextGraph = GRAPH) -> bool:
    (check,) = check_facts(graph, [fact], Embedder(), even, descriptions)
    return check.held


def test_a_fact_that_an_edge_states_is_held() -> None:
    assert held("Marie Curie discovered polonium.")
    assert held("The Vistula flows through Warsaw.")
    assert not held("Radium glows green at night.")


def test_descriptions_count_only_where_asked_for() -> None:
    fact = "Curie discovered polonium in 1898 in Paris, as a physicist."
    assert not held(fact)
    assert held(fact, descriptions=True)


def test_only_what_is_near_in_the_graph_is_looked_at() -> None:
    nodes = [GraphEntity(name) for name in ("one", "two", "red", "blue", *(f"x{i} y" for i in range(8)))]
    chain = [Edge("x0 y", "to", "one"), Edge("one", "to", "two"), Edge("two", "to", "red"), Edge("red", "z", "blue")]
    fact = "x0 x1 x2 x3 x4 x5 x6 x7 y z z"  # the eight nodes are nearest
    (far,) = check_facts(TextGraph(tuple(nodes), tuple(chain)), [fact], Embedder(), weigh_z, False)
    assert far.words == 0, "the edge that says z is four away"
    short = [*chain, Edge("x1 y", "to", "red")]
    (near,) = check_facts(TextGraph(tuple(nodes), tuple(short)), [f"{fact} red blue"], Embedder(), weigh_z, False)
    assert near.words == 1


def weigh_z(key: str) -> float:
    return float(key == "z")


def test_the_sentences_of_a_text_hold_what_it_says() -> None:
    graph = sentence_graph("Marie Curie was born in Warsaw. She discovered polonium.")
    assert [each.name for each in graph.nodes] == ["Marie Curie was born in Warsaw.", "She discovered polonium."]
    assert held("She discovered polonium", graph=graph)


@pytest.mark.parametrize(
    ("first", "second", "same", "alike"),
    [
        ("The Beatles", "beatles", True, True),
        ("1,777,539", "1777539", True, True),
        ("Swords, Dublin", "Swords", False, True),
        ("Kandahar province in Afghanistan", "Afghanistan", False, False),
        ("北京", "北京", True, True),
        ("Paris", "London", False, False),
    ],
)
def test_names(first: str, second: str, same: bool, alike: bool) -> None:
    assert same_name(first, second) is same_name(second, first) is same
    assert alike_name(first, second) is alike_name(second, first) is alike


def test_triples_by_hand() -> None:
    true = [
        Edge("Marie Curie", "bornIn", "Warsaw"),
        Edge("Polonium", "discoverer", "Marie Curie"),
        Edge("Warsaw", "capital of", "Poland"),
    ]
    found = count_triples(GRAPH, true, Embedder(), same_name)
    assert found.names == Counts(right=3, extracted=4, found=3, true=4)
    assert found.pairs == Counts(right=2, extracted=3, found=2, true=3)
    assert found.triples == Counts(right=1, extracted=3, found=1, true=3), "one is the wrong way round"
    assert found.names.precision == found.names.recall == found.names.f1 == 0.75


def test_empty_sides_and_sums() -> None:
    none = count_triples(TextGraph((), ()), [Edge("a", "b", "c")], bag_of_words, same_name)
    assert none.pairs == Counts(0, 0, 0, 1)
    assert (none.pairs.precision, none.pairs.recall, none.pairs.f1) == (0, 0, 0)
    nothing_true = count_triples(GRAPH, [], bag_of_words, same_name)
    assert nothing_true.triples == Counts(0, 3, 0, 0)
    assert (none + nothing_true).triples == Counts(0, 3, 0, 1)
    assert TripleCounts() + none == none
