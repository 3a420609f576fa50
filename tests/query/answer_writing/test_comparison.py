"""Two things are compared by the values of one measure."""

import pytest
from conspectus.query.answer_writing.comparison import winner
from conspectus.query.question.measures import measure_of
from conspectus.query.question.parts import sides_of


@pytest.mark.parametrize(
    ("question", "sentences", "expected"),
    [
        ("Who is older, Ada or Bo?", ["Ada was born in 1815.", "Bo was born on 9 December 1906."], "Ada"),
        ("Wer ist jünger: Ada oder Bo?", ["Ada, geboren 1815.", "Bo wurde 1906 geboren."], "Bo"),
        ("Lequel est plus lourd, le Pin ou le Lis ?", ["Le Pin pèse 900 g.", "Le Lis pèse 1.2 kg."], "Lis"),
        ("Which is cheaper, the Pin or the Lis?", ["The Pin costs 3 euros.", "The Lis weighs 2 kg."], ""),
        ("Which is better, the Pin or the Lis?", ["The Pin costs 3 euros.", "The Lis costs 2 euros."], ""),
    ],
)
def test_winner(question: str, sentences: list[str], expected: str) -> None:
    assert winner(question, sentences) == expected


def test_a_further_clause_is_no_side() -> None:
    assert sides_of("What is a sluice, and who built it or sold it?") == ()


def test_measures_are_asked_for_in_four_languages() -> None:
    asked = ("How old is Ada?", "Wie alt ist Ada?", "Quel âge a Ada ?", "¿Qué edad tiene Ada?", "Where is Ada?")
    found = [measure_of(question) for question in asked]
    assert [each and each.name for each in found] == ["date", "date", "date", "date", None]


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("How do the Ridge and the Dome differ?", ("Ridge", "Dome")),
        ("What do the Ridge and the Dome have in common?", ("Ridge", "Dome")),
        ("What distinguishes the Ridge from the Dome?", ("Ridge", "Dome")),
        ("Is the Ridge heavier than the Dome?", ("Ridge", "Dome")),
        ("Was haben Ridge und Dome gemeinsam?", ("Ridge", "Dome")),
        ("Ridge和Dome有什么区别？", ("Ridge", "Dome")),
        ("Is the Ridge a tent?", ()),
    ],
)
def test_sides(question: str, sides: tuple[str, ...]) -> None:
    assert sides_of(question) == sides
