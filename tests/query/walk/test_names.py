"""Names that a question may mean."""

import pytest
from conspectus.query.context import Context
from conspectus.query.walk.graph import open_graph
from conspectus.query.walk.names import Candidate, candidates, open_names_in_part, told_by


def meant(context: Context, question: str) -> dict[str, Candidate]:
    names = open_graph(context).names
    return {names[each.row]: each for each in candidates(context, told_by(context, question))}


@pytest.mark.parametrize(
    ("question", "name", "places"),
    [
        ("which films did Mirren direct", "Ada Mirren", {3}),
        ("which films did mirren direct", "Ada Mirren", {3}),
        ("who wrote pans of salt", "Salt Pans", {2, 4}),
        ("what genre is grey herons", "Grey Heron", {3, 4}),
    ],
)
def test_names_in_part_and_in_other_words(films_index: Context, question: str, name: str, places: set[int]) -> None:
    found = meant(films_index, question)[name]
    assert found.places == places
    assert not found.whole
    assert 0.4 < found.likeness < 1


def test_a_name_written_out_is_like_itself(films_index: Context) -> None:
    written = meant(films_index, "who directed Grey Heron")["Grey Heron"]
    spoken = meant(films_index, "who directed grey heron")["Grey Heron"]
    assert written.whole
    assert spoken.whole
    assert written.likeness > spoken.likeness == 1.0


def test_a_part_of_a_name_of_several_words_names_nothing(films_index: Context) -> None:
    assert set(meant(films_index, "who wrote Salt Pans")) == {"Salt Pans"}


def test_words_that_a_predicate_says_tell_less_of_what_a_question_is_about(films_index: Context) -> None:
    told = told_by(films_index, "who directed pelluci")
    weight = dict(zip((word.key for word in told.words), told.weight, strict=True))
    assert weight["who"] < weight["directed"] < weight["pelluci"]


def test_where_there_are_capitals_words_without_them_count_half(films_index: Context) -> None:
    plain, cased = told_by(films_index, "so is pelluci far"), told_by(films_index, "so is pelluci Far")
    assert cased.weight[2] == pytest.approx(plain.weight[2] / 2)


def test_shares_go_by_how_telling_words_are(films_index: Context) -> None:
    shares = {
        open_graph(films_index).names[row]: each
        for row, each in open_names_in_part(films_index).shares(["quill", "nobody"]).items()
    }
    held, share = shares["Mary Quill"]
    assert held == {"quill"}
    assert 0 < share < 1
    assert set(shares) == {"Mary Quill"}
    assert open_names_in_part(films_index).shares(["the", "of"]) == {}
