import datetime

import pytest
from conspectus.storage.text.literals import compare, parse_literal, year_in
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("9", "10"),
        ("1,234,567", "2,000,000"),
        ("3,5", "3.75"),
        ("1h 34", "95 min"),
        ("94 min", "1:34:01"),
        ("PT1H30M", "2 hours"),
        ("900 m", "1.2 km"),
        ("80 kg", "180 lb"),
        ("US$ 3.5 million", "$4,000,000"),
        ("2023-02-14", "14 March 2023"),
        ("1999", "2000-01-01"),
        ("44 BC", "AD 14"),
        ("-0044-03-15", "0014-08-19"),
        ("19th century", "1901"),
        ("1990s", "March 2000"),
        ("c. 1820", "1821"),
        ("50%", "60 %"),
    ],
)
def test_literals_are_compared_by_what_they_state(less: str, more: str) -> None:
    left, right = parse_literal(less), parse_literal(more)
    assert left
    assert right
    assert (compare(left, right), compare(right, left)) == ("less", "greater")


@pytest.mark.parametrize(
    ("left", "right"),
    [("12 kg", "12 km"), ("1999-05-02", "12 kg"), ("$5", "€5"), ("10 min", "2001-01-01"), ("8", "8 kg")],
)
def test_literals_of_two_scales_are_not_compared(left: str, right: str) -> None:
    one, other = parse_literal(left), parse_literal(right)
    assert one
    assert other
    assert compare(one, other) is None


def test_a_year_and_a_day_in_it_overlap() -> None:
    year, day = parse_literal("2014"), parse_literal("2014-05-02")
    assert year
    assert day
    assert compare(year, day) == "overlapping"
    assert compare(year, year) == "equal"


@pytest.mark.parametrize(
    "text", ["Catch-22", "7 Up", "12 Angry Men", "9 songs", "INC-2188", "2023-02-30", "05/06/2014", "", "x", "1" * 90]
)
def test_names_and_ambiguous_texts_are_no_literals(text: str) -> None:
    assert parse_literal(text) is None


@pytest.mark.parametrize(("name", "year"), [("1967 Stanley Cup Finals", "1967"), ("Euro 2016 final", "2016")])
def test_a_year_is_found_in_a_name(name: str, year: str) -> None:
    assert year_in(name) == parse_literal(year)
    assert year_in("Apollo 13") is None
    assert year_in("1914-1918 and after") is None


@given(st.dates())
def test_days_are_counted_as_python_counts_them(day: datetime.date) -> None:
    found = parse_literal(day.isoformat())
    assert found
    assert found.low == found.high == day.toordinal()
    assert found.date() == (day.year, day.month, day.day)


@given(st.text(max_size=30) | st.from_regex(r"[0-9.,:' hm/PT$-]{1,20}", fullmatch=True))
def test_any_text_is_read_without_an_error(text: str) -> None:
    found = parse_literal(text)
    assert found is None or found.low <= found.high
