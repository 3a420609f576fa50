"""The types of answers: what a notebook shows, and subgraphs as text."""

import csv
import io
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import conspectus
import pytest
from conspectus.query.explain.types import Explained, Explanation, PathHop, PathNode, ScorePart
from conspectus.query.explain.types import Path as Route
from conspectus.query.types import Answer, Citation, CitedTriple, Evidence, Passage, ScoredReport, Step
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.storage.records import Entity, Relation, Report
from hypothesis import given
from hypothesis import strategies as st

HOSTILE = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\"><svg/onload=alert(1)>", "' onmouseover='x",
    "</td></table><iframe src=//evil.example>", "<!--", "]]>", "&lt;script&gt;", "<a href=javascript:alert(1)>x</a>",
)  # fmt: skip
texts = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=40))


class Markup(HTMLParser):
    """Refuses whatever is not a bare paragraph, list or table."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.said = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"div", "p", "ol", "li", "table", "tr", "th", "td"}
        assert all(tag == "li" and name == "value" and (value or "").isdecimal() for name, value in attrs)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_data(self, data: str) -> None:
        self.said += data


def inert(html: str) -> str:
    """Return the text that is shown; fails on any markup but ours."""
    markup = Markup()
    markup.feed(html)
    markup.close()
    return markup.said


@given(texts)
def test_p6_hostile_text_stays_text(text: str) -> None:
    passage = Passage(text, text, 0, 1, 0.5, text, text, text)
    entity = Entity(text, text, text, (), text, 1, 1)
    relation = Relation(text, text, text, text, text, 1.0, ())
    report = Report(text, text, 0, text, text, (), 1.0, text, 1)
    evidence = Evidence((passage,), (ScoredReport(report, 1.0),), (Step(text, text),), (entity,), (relation,))
    answer = Answer(text, text, text, (Citation(1, text, text, text, 0, 1, text, text),),
                    triples=(CitedTriple(2, text, text, text, text),))  # fmt: skip
    route = Route(text, (PathHop(PathNode("entity", text, text), text, 1.0),), 1.0)
    why = Explained(1, passage, (ScorePart(text, 1.0, text),), 1.0, 1.0, (route,), text)
    explanation = Explanation(text, text, text, (why,), ())
    shown = [inert(one._repr_html_()) for one in (evidence, answer, explanation)]
    assert text.replace("\r\n", "\n").replace("\r", "\n") in shown[0].replace("\r\n", "\n").replace("\r", "\n")


def test_indexes_and_what_is_found_are_shown(index_root: Path) -> None:
    index = conspectus.open(index_root)
    assert index.manifest.version in inert(index._repr_html_())
    found = index.retrieve("Who directed the film shot at Marrow, Vey in 1962?", "bm25", 2)
    assert found.passages[1].text.split()[0] in inert(found._repr_html_())
    explained = index.explain("Who directed the film?", "bm25", 1)
    assert explained.formula in inert(explained._repr_html_())
    assert "nothing found" in inert(replace(found, passages=())._repr_html_())


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
