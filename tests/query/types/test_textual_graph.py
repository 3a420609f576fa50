"""A textual graph is told in two tables that read back as the graph."""

import pytest
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph, from_text
from hypothesis import given
from hypothesis import strategies as st

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@st.composite
def graphs(draw: st.DrawFn) -> TextualGraph:
    nodes = draw(st.lists(TEXTS, max_size=6))
    place = st.integers(0, max(len(nodes) - 1, 0))
    edges = draw(st.lists(st.builds(TextualEdge, place, TEXTS, place), max_size=6)) if nodes else []
    return TextualGraph(tuple(nodes), tuple(edges))


def test_a_graph_is_two_tables() -> None:
    graph = TextualGraph(("Paris", 'a "city", big'), (TextualEdge(0, "is", 1),))
    assert graph.to_text() == 'node_id,node_attr\n0,Paris\n1,"a ""city"", big"\n\nsrc,edge_attr,dst\n0,is,1\n'


@given(graphs())
def test_the_tables_read_back_as_the_graph(graph: TextualGraph) -> None:
    assert from_text(graph.to_text()) == graph


def test_numbers_of_nodes_may_be_any_words() -> None:
    read = from_text("node_id,node_attr\n7,cat\n9,animal\n\nsrc,edge_attr,dst\n9,has,7\n")
    assert read == TextualGraph(("cat", "animal"), (TextualEdge(1, "has", 0),))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "begins with node_id,node_attr"),
        ("node_id,node_attr\n0,a\n", "no table src,edge_attr,dst"),
        ("node_id,node_attr\n0,a,b\nsrc,edge_attr,dst\n", "3 fields, not 2: 0,a,b"),
        ("node_id,node_attr\n0,a\nsrc,edge_attr,dst\n0,is\n", "2 fields, not 3: 0,is"),
        ("node_id,node_attr\n0,a\nsrc,edge_attr,dst\n0,is,1\n", "unknown node: 0,is,1"),
        ("node_id,node_attr\n0," + "a" * 140_000, "not CSV"),
    ],
)
def test_what_is_not_a_graph_is_said(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        from_text(text)


def test_a_part_numbers_its_nodes_anew() -> None:
    graph = TextualGraph(("a", "b", "c"), (TextualEdge(0, "x", 1), TextualEdge(2, "y", 0)))
    assert graph.part([2, 0], [1]) == TextualGraph(("c", "a"), (TextualEdge(0, "y", 1),))
    with pytest.raises(ValueError, match="outside"):
        graph.part([2], [1])
