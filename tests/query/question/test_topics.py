"""Topic entities: where a walk begins."""

from pathlib import Path

import pytest
from conspectus.query.context import Context
from conspectus.query.question.topics import find_topics, link_topics, ranked_topics
from conspectus.query.walk.graph import is_id, open_graph

from tests.query import films


def linked(context: Context, question: str) -> list[str]:
    return [open_graph(context).names[row] for row in link_topics(context, question)]


def test_names_that_stand_in_the_question(films_index: Context) -> None:
    assert linked(films_index, "who directed Grey Heron") == ["Grey Heron"]
    assert linked(films_index, "who directed grey_heron ?") == ["Grey Heron"]
    assert set(linked(films_index, "Did Hugo Wren star in Salt Pans?")) == {"Hugo Wren", "Salt Pans"}


def test_a_name_in_part_is_enough_and_what_its_triples_say_decides(tmp_path: Path) -> None:
    context = films.build(tmp_path, [("Mary Quill", "born_in", "Tarn"), ("Quill Street", "lies_in", "Tarn")])
    assert linked(context, "where was Quill born") == ["Mary Quill"]
    assert linked(context, "in which town lies Quill") == ["Quill Street"]


@pytest.mark.parametrize("name", ["48 Hrs.", "9to5", "Se7en", "P2", "1999", "Q", "U.S. 1", "iraq war"])
def test_names_are_no_ids(name: str) -> None:
    assert not is_id(name)


@pytest.mark.parametrize("name", ["m.0h3d7qb", "/m/0abc1", "Q4115", "g.11b6d", "_:b0", "http://example.org/a1"])
def test_ids(name: str) -> None:
    assert is_id(name)


@pytest.mark.parametrize(
    ("question", "name", "places"),
    [
        ("which films did Mirren direct", "Ada Mirren", {3}),
        ("who wrote pans of salt", "Salt Pans", {2, 3, 4}),
        ("what genre is grey herons", "Grey Heron", {3, 4}),
    ],
)
def test_names_in_part_and_in_other_words(films_index: Context, question: str, name: str, places: set[int]) -> None:
    best = ranked_topics(films_index, question)[0]
    assert open_graph(films_index).names[best.row] == name
    assert best.places == places
    assert 0.4 < best.likeness < 1


def test_given_topics_are_looked_up_and_missing_names_reported(films_index: Context) -> None:
    found = find_topics(films_index, "who?", ["Grey Heron", "Nobody"])
    assert [open_graph(films_index).names[row] for row in found.rows] == ["Grey Heron"]
    assert found.step.detail == "given: Grey Heron, Nobody; the graph lacks Nobody"
    assert find_topics(films_index, "who directed Grey Heron").step.detail.endswith(": Grey Heron")
    assert find_topics(films_index, "how deep is the sea").step.detail.endswith(": none")
