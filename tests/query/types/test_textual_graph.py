"""A textual graph is told in two tables that read back as the graph."""

import csv
import io

import pytest
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
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
    rows = list(csv.reader(io.StringIO(graph.to_text(), newline="")))
    rows, middle = [row for row in rows if row], len(graph.nodes) + 1
    assert [row[1] for row in rows[1:middle]] == list(graph.nodes)
    assert [TextualEdge(int(one), text, int(other)) for one, text, other in rows[middle + 1 :]] == list(graph.edges)


def test_a_part_numbers_its_nodes_anew() -> None:
    graph = TextualGraph(("a", "b", "c"), (TextualEdge(0, "x", 1), TextualEdge(2, "y", 0)))
    assert graph.part([2, 0], [1]) == TextualGraph(("c", "a"), (TextualEdge(0, "y", 1),))
    with pytest.raises(ValueError, match="outside"):
        graph.part([2], [1])
