"""Walks as text, as JSON and as a picture."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import conspectus
import pytest
from conspectus.query.types import Answer
from conspectus.storage.errors import UsageError

from tests.command_line import conspectus as command
from tests.query import films

QUESTION = "Where was the director of Grey Heron born?"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return films.build(tmp_path_factory.mktemp("films"), films.TRIPLES).index.root


@pytest.fixture(scope="module")
def index(root: Path) -> conspectus.Index:
    return conspectus.open(root)


@pytest.fixture(scope="module")
def answer(index: conspectus.Index) -> Answer:
    return index.ask(QUESTION, "fasttog", topics=["Grey Heron"])


def test_the_picture_shows_the_chains(index: conspectus.Index, answer: Answer) -> None:
    drawn = index.draw(answer)
    assert drawn == index.draw(answer)
    tree = ElementTree.fromstring(drawn)  # noqa: S314
    words = [each.text for each in tree.iter(f"{SVG}text")]
    assert words[0] == QUESTION
    assert words.count("Grey Heron") == 1, "what all chains begin at stands once"
    for word in ("Ada Mirren", "Pelluci", "directed by", "born in", "fasttog:offline: Pelluci"):
        assert word in words
    (answered,) = [
        each for each in tree.iter(f"{SVG}rect") if each.get("stroke") == "#b8572f" and each.get("width") == "250"
    ]
    assert answered.get("stroke-width") == "2.2"
    width, height = (float(tree.get(side) or 0) for side in ("width", "height"))
    for each in tree.iter(f"{SVG}rect"):
        assert float(each.get("x") or 0) + float(each.get("width") or 0) <= width
        assert float(each.get("y") or 0) + float(each.get("height") or 0) <= height


def test_every_decision_is_told(index: conspectus.Index, answer: Answer) -> None:
    told = index.walk_text(answer)
    assert "round 0, candidates at Grey Heron" in told
    assert "+ " in told
    assert "- " in told
    assert "Grey Heron -[directed by]-> -[born in]->" in told
    assert "Grey Heron | directed_by | Ada Mirren" in told


def test_what_made_no_walk_is_not_drawn(index: conspectus.Index) -> None:
    with pytest.raises(UsageError, match="does not walk"):
        index.draw(Answer("q", "ppr", "text"))


def test_the_command_line_draws_and_tells(root: Path, tmp_path: Path) -> None:
    picture = tmp_path / "walk.svg"
    asked = ["ask", QUESTION, "--method", "fasttog", "--topic", "Grey Heron", "--index", str(root)]
    done = command(*asked, "--trace", "--show", str(picture))
    assert done.status == 0, done.err
    assert "Pelluci [1][2]" in done.out
    assert "chain 1: [Grey Heron] -> [" in done.out
    assert picture.read_text("utf-8").startswith("<svg")
    found = json.loads(command(*asked, "--json").out)
    assert found["names"] == ["Pelluci"]
    assert found["walk"]["chains"]


def test_long_questions_names_and_reasons_stay_in_the_picture(index: conspectus.Index, answer: Answer) -> None:
    asked = f"{QUESTION[:-1]} and of what else does one know there, in which year was it, and who told them? {QUESTION}"
    walk = answer.evidence.walk
    assert walk
    why = "none of the communities around it matches more of the question than what it has come to already, by far"
    ended = replace(walk, chains=tuple(replace(each, ended=why) for each in walk.chains))
    drawn = index.draw(replace(answer, question=asked, evidence=replace(answer.evidence, walk=ended)))
    tree = ElementTree.fromstring(drawn)  # noqa: S314
    width, height = (float(tree.get(side) or 0) for side in ("width", "height"))
    texts = list(tree.iter(f"{SVG}text"))
    first = [each.text or "" for each in texts if each.get("font-size") == "15"]
    assert len(first) > 1
    assert " ".join(first) == asked
    for each in texts:
        size = float(each.get("font-size") or 0)
        if each.get("text-anchor") == "start":
            assert float(each.get("x") or 0) + len(each.text or "") * size * 0.54 <= width + 1, each.text
        assert float(each.get("y") or 0) <= height
    assert any((each.text or "").endswith("…") for each in texts)
