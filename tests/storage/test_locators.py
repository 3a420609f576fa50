"""Landmarks in force at a character."""

from collections.abc import Sequence

import pytest
from conspectus.storage.locators import described, places_at, places_between, sections_at
from conspectus.storage.records import Place
from hypothesis import given
from hypothesis import strategies as st


def page(start: int, label: str) -> Place:
    return Place(start, "page", label, 0)


def heading(start: int, label: str, level: int) -> Place:
    return Place(start, "heading", label, level)


BOOK = (
    page(0, "iv"), heading(0, "Preface", 1), page(10, "1"), heading(12, "Methods", 1), heading(14, "Data", 2),
    heading(16, "Sources", 3), heading(18, "Model", 2), page(20, "2"), heading(25, "Results", 1),
)  # fmt: skip


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 5, 'page iv, "Preface"'),
        (11, 12, 'page 1, "Preface"'),
        (12, 13, 'page 1, "Methods"'),
        (17, 18, 'page 1, "Methods > Data > Sources"'),
        (19, 20, 'page 1, "Methods > Model"'),
        (19, 21, 'pages 1-2, "Methods > Model"'),
        (5, 30, 'pages iv-2, "Preface"'),
        (30, 31, 'page 2, "Results"'),
    ],
)
def test_where_characters_stand(start: int, end: int, expected: str) -> None:
    assert described(BOOK, start, end) == expected


def test_slides_and_sheets_end_headings() -> None:
    for kind in ("slide", "sheet"):
        places = (Place(0, kind, "1", 0), heading(0, "Risks", 1), Place(9, kind, "2", 0))
        assert described(places, 3, 4) == f'{kind} 1, "Risks"'
        assert described(places, 9, 10) == f"{kind} 2"
        assert described(places, 3, 10) == f'{kind}s 1-2, "Risks"'


def by_hand(places: Sequence[Place], start: int) -> list[Place]:
    """Return the headings above a character, each checked against all that follow."""
    above = [each for each in places if each.kind == "heading" and each.start <= start]
    return [each for at, each in enumerate(above) if all(later.level > each.level for later in above[at + 1 :])]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 4)), max_size=12), st.integers(0, 30), st.integers(1, 9))
def test_against_the_definition(drawn: list[tuple[int, int]], start: int, length: int) -> None:
    places = sorted(
        (heading(at, str(at), level) if level else page(at, str(at)) for at, level in drawn),
        key=lambda each: (each.start, each.level),
    )
    found = places_at(places, start)
    assert [each for each in found if each.kind == "heading"] == by_hand(places, start)
    assert sections_at(places, start) == tuple(each.label for each in by_hand(places, start))
    pages = [each for each in places if each.kind == "page"]
    before = [each for each in pages if each.start <= start]
    inside = [each for each in pages if start < each.start < start + length]
    assert list(places_between(places, start, start + length)) == before[-1:] + inside


def test_headings_are_those_above_most_of_a_passage() -> None:
    places = (Place(0, "heading", "Jitter", 1), Place(20, "heading", "Key", 1), Place(90, "heading", "Label", 1))
    assert described(places, 5, 100) == '"Key"', "it begins in the section before"
    assert described(places, 5, 30) == '"Jitter"'
    assert described(places, 95, 99) == '"Label"'
