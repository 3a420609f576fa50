"""Where a walk begins."""

from pathlib import Path

import pytest
from conspectus.query.context import Context
from conspectus.query.walk.graph import open_graph
from conspectus.query.walk.ids import is_id
from conspectus.query.walk.topics import link_topics, rows_of

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


def test_of_two_names_in_part_the_one_much_spoken_of_is_meant(tmp_path: Path) -> None:
    known = [("Ada Quill", "knows", f"Person {chr(65 + number)}") for number in range(12)]
    assert linked(films.build(tmp_path, [("Bea Quill", "knows", "Person A"), *known]), "knows Quill") == ["Ada Quill"]


def test_nothing_is_named(films_index: Context) -> None:
    assert linked(films_index, "how deep is the sea") == []


def test_given_names(films_index: Context) -> None:
    rows, missing = rows_of(films_index, ["grey_heron", "GREY HERON", "Nobody"])
    assert [open_graph(films_index).names[row] for row in rows] == ["Grey Heron"]
    assert missing == ("Nobody",)


@pytest.mark.parametrize("name", ["48 Hrs.", "9to5", "Se7en", "P2", "1999", "Q", "U.S. 1", "iraq war"])
def test_names_are_no_ids(name: str) -> None:
    assert not is_id(name)


@pytest.mark.parametrize("name", ["m.0h3d7qb", "/m/0abc1", "Q4115", "g.11b6d", "_:b0", "http://example.org/a1"])
def test_ids(name: str) -> None:
    assert is_id(name)
