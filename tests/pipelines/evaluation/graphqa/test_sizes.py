"""Sizes of graphs, counted without writing them."""

from conspectus.pipelines.evaluation.graphqa.questions import Sizes
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given
from hypothesis import strategies as st

texts = st.text(st.sampled_from('ab é北,"\n\r.-1'), max_size=8)


@st.composite
def graphs(draw: st.DrawFn) -> TextualGraph:
    nodes = draw(st.lists(texts, min_size=1, max_size=30))
    place = st.integers(0, len(nodes) - 1)
    edges = draw(st.lists(st.builds(TextualEdge, place, texts, place), max_size=8))
    return TextualGraph(tuple(nodes), tuple(edges))


@given(st.lists(graphs(), min_size=1, max_size=3))
def test_tokens_are_those_of_the_text(every: list[TextualGraph]) -> None:
    sizes = Sizes()
    for each in every:
        size = sizes.of(each)
        assert (size.nodes, size.edges, size.tokens) == (
            len(each.nodes),
            len(each.edges),
            count_tokens(each.to_text()),
        )
