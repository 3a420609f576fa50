"""The subgraph of an answer as a picture and as a page."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import conspectus
import pytest
from conspectus.query.types import Answer
from conspectus.storage.errors import UsageError

from tests.command_line import conspectus as command
from tests.query import films

QUESTION = "What genre is the film Grey Heron?"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return films.build(tmp_path_factory.mktemp("films"), films.TRIPLES).index.root


@pytest.fixture(scope="module")
def index(root: Path) -> conspectus.Index:
    return conspectus.open(root)


@pytest.fixture(scope="module")
def answer(index: conspectus.Index) -> Answer:
    return index.ask(QUESTION, "gretriever")


def test_the_picture_shows_nodes_edges_and_the_answer(index: conspectus.Index, answer: Answer) -> None:
    drawn = index.draw(answer)
    assert drawn == index.draw(answer)
    tree = ElementTree.fromstring(drawn)  # noqa: S314
    words = [each.text or "" for each in tree.iter(f"{SVG}text")]
    assert words[0] == QUESTION
    assert {"Grey Heron", "Drama", "has genre"} <= set(words)
    assert len([each for each in words if each == "answer"]) == 1, "in the legend"
    assert any(each.startswith("prize 3") for each in words)
    assert answer.evidence.subgraph
    boxes = [each for each in tree.iter(f"{SVG}rect") if each.get("width") == "250"]
    assert len(boxes) == len(answer.evidence.subgraph.nodes)
    assert len([each for each in boxes if each.get("stroke") == "#b8572f"]) == 1


def test_names_cannot_end_the_picture(index: conspectus.Index, answer: Answer) -> None:
    found = answer.evidence.subgraph
    assert found
    hostile = replace(found.text, nodes=("</svg><script>x</script>", *found.text.nodes[1:]))
    evil = replace(answer, evidence=replace(answer.evidence, subgraph=replace(found, text=hostile)))
    assert "<script>" not in index.draw(evil)


def test_what_is_not_there_is_not_drawn(index: conspectus.Index, answer: Answer) -> None:
    found = answer.evidence.subgraph
    assert found
    empty = replace(found, text=replace(found.text, nodes=(), edges=()), nodes=(), relations=())
    with pytest.raises(UsageError, match="no subgraph to draw"):
        index.draw(replace(answer, evidence=replace(answer.evidence, subgraph=empty)))


@pytest.mark.parametrize("name", ["graph.pdf", "graph.html", "graph"])
def test_another_form_is_refused_before_anything_is_asked(name: str, root: Path, tmp_path: Path) -> None:
    done = command("ask", QUESTION, "--method", "gretriever", "--index", str(root), "--show", str(tmp_path / name))
    assert done.status == 2
    assert ".svg or .png" in done.err
    assert not done.out
    assert not (tmp_path / name).exists()
