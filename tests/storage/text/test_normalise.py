import unicodedata

import pytest
from conspectus.storage.text.normalise import entity_key, title_names
from hypothesis import given
from hypothesis import strategies as st


@given(st.text())
def test_a_key_is_its_own_key(name: str) -> None:
    assert entity_key(entity_key(name)) == entity_key(name)


@given(st.text())
def test_only_blank_names_have_an_empty_key(name: str) -> None:
    assert bool(entity_key(name)) == bool(name.strip())


@given(st.text())
def test_case_width_composition_and_spacing_make_no_difference(name: str) -> None:
    for same in (name.casefold(), unicodedata.normalize("NFKD", name), f" {name}\n"):
        assert entity_key(same) == entity_key(name)


@pytest.mark.parametrize(
    ("title", "names"),
    [
        ("Apollo (band)", ("Apollo (band)", "Apollo")),
        ("东方 （电影）", ("东方 （电影）", "东方")),
        ("f(x)", ("f(x)",)),
        ("Help! (1965) (film)", ("Help! (1965) (film)", "Help! (1965)")),
        ("Help! (album) tour", ("Help! (album) tour",)),
        ("  ", ()),
    ],
)
def test_a_title_names_its_subject_without_the_last_parenthesis(title: str, names: tuple[str, ...]) -> None:
    assert title_names(title) == names
