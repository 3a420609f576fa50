"""What is cited and there, and what is not."""

from conspectus.query.methods.gretriever.answer import cited_parts
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph

GRAPH = TextualGraph(("a", "b"), (TextualEdge(0, "x", 1),))


def test_what_is_not_there_is_dropped_and_counted() -> None:
    parts = cited_parts(GRAPH, [1, 2, 1, -1], [0, 1])
    assert (parts.nodes, parts.edges, parts.dropped, parts.fully_valid) == ((1,), (0,), 3, False)


def test_all_there_is_fully_valid_and_nothing_is_not() -> None:
    assert cited_parts(GRAPH, [0, 1], [0]).fully_valid
    assert not cited_parts(GRAPH, [], []).fully_valid
