"""Dates and literals in texts."""

import datetime

import pytest
from conspectus.storage.text.dates import dates_in
from conspectus.storage.text.literals import compare, parse_literal, year_in
from hypothesis import given
from hypothesis import strategies as st

OPEN = None


@pytest.mark.parametrize(
    ("text", "first", "last", "precision", "words"),
    [
        ("He was born on 4 May 1895.", "1895-05-04", "1895-05-04", "day", "4 May 1895"),
        ("It opened on May 4th, 1998.", "1998-05-04", "1998-05-04", "day", "May 4th, 1998"),
        ("It opened on 2004-02-29.", "2004-02-29", "2004-02-29", "day", "2004-02-29"),
        ("It opened in February 2004.", "2004-02-01", "2004-02-29", "month", "February 2004"),
        ("Written in the 1990s.", "1990-01-01", "1999-12-31", "decade", "1990s"),
        ("Josefa Quell (1895–1979) was a novelist.", "1895-01-01", "1979-12-31", "year", "1895–1979"),
        ("Josefa Quell (1895-1979) was a novelist.", "1895-01-01", "1979-12-31", "year", "1895-1979"),
        ("The season of 1998–99 was good.", "1998-01-01", "1999-12-31", "year", "1998–99"),
        ("She led it from May 1998 to 2004.", "1998-05-01", "2004-12-31", "year", "May 1998 to 2004"),
        ("Between May 2001 and June 2002 he sang.", "2001-05-01", "2002-06-30", "month", "May 2001 and June 2002"),
        ("A strike from 4 June to 20 August 1923.", "1923-06-04", "1923-08-20", "day", "4 June to 20 August 1923"),
        ("Open from 4 to 20 August 1923.", "1923-08-04", "1923-08-20", "day", "4 to 20 August 1923"),
        ("Vom 4. bis 20. August 1923 offen.", "1923-08-04", "1923-08-20", "day", "4. bis 20. August 1923"),
        ("Open June–August 1923.", "1923-06-01", "1923-08-31", "month", "June–August 1923"),
        ("He has been mayor since 2010.", "2010-01-01", OPEN, "year", "2010"),
        ("He was mayor until March 2010.", OPEN, "2010-03-31", "month", "March 2010"),
        ("It stood there before 1998.", OPEN, "1997-12-31", "year", "1998"),
        ("After 1998 it was gone.", "1999-01-01", OPEN, "year", "1998"),
        ("Die Brücke wurde 1998 gebaut.", "1998-01-01", "1998-12-31", "year", "1998"),
        ("Seit dem 4. März 2010 ist er Chef.", "2010-03-04", OPEN, "day", "4. März 2010"),
        ("Er war zwischen 1990 und 1995 dort.", "1990-01-01", "1995-12-31", "year", "1990 und 1995"),
        ("Er war von 1990 bis 1995 dort.", "1990-01-01", "1995-12-31", "year", "1990 bis 1995"),
        ("In den 1990er Jahren sang er.", "1990-01-01", "1999-12-31", "decade", "1990er Jahren"),
        ("Es war am 4.5.1998 offen.", "1998-05-04", "1998-05-04", "day", "4.5.1998"),
        ("Il a été maire de 1998 à 2004.", "1998-01-01", "2004-12-31", "year", "1998 à 2004"),
        ("Elle est née le 1er mai 1998.", "1998-05-01", "1998-05-01", "day", "1er mai 1998"),
        ("Elle y vit depuis août 1998.", "1998-08-01", OPEN, "month", "août 1998"),
        ("Il fut maire jusqu'en 2010.", OPEN, "2010-12-31", "year", "2010"),
        ("Dans les années 1990, il chantait.", "1990-01-01", "1999-12-31", "decade", "années 1990"),
        ("Nació el 3 de mayo de 2001.", "2001-05-03", "2001-05-03", "day", "3 de mayo de 2001"),
        ("Fue alcalde desde 1998 hasta 2004.", "1998-01-01", "2004-12-31", "year", "1998 hasta 2004"),
        ("Fue alcalde hasta enero de 2004.", OPEN, "2004-01-31", "month", "enero de 2004"),
        ("En los años 1990 vivió allí.", "1990-01-01", "1999-12-31", "decade", "años 1990"),
        ("1998年5月4日出生。", "1998-05-04", "1998-05-04", "day", "1998年5月4日"),
        ("2004年到2008年任市长。", "2004-01-01", "2008-12-31", "year", "2004年到2008年"),
        ("自2010年起任市长。", "2010-01-01", OPEN, "year", "2010年起"),
        ("1990年代的诗。", "1990-01-01", "1999-12-31", "decade", "1990年代"),
        ("2001年5月以前没有桥。", OPEN, "2001-04-30", "month", "2001年5月以前"),
    ],
)
def test_a_date_is_an_interval(text: str, first: str | None, last: str | None, precision: str, words: str) -> None:
    assert [(each.first, each.last, each.precision, text[each.start : each.end]) for each in dates_in(text)] == [
        (first, last, precision, words)
    ]


@pytest.mark.parametrize(
    "text",
    ["It has 1500 soldiers.", "Room 1998 is shut.", "Call 555-1998-22.", "It costs 1,998 euros.", "v2004.1", "1999%",
     "Mars 2020 has wheels.", "30 February 2001 is no day.", "from 2004 to 1998", "a1998b", "http://x.org/1998/x"],
)  # fmt: skip
def test_other_numbers_are_no_dates(text: str) -> None:
    assert dates_in(text) == []


def test_what_happened_is_a_moment_and_what_lasted_is_not() -> None:
    moments = [dates_in(f"It was {text}.")[0] for text in ("in 1998", "on 4 May 1998", "in May 1998", "in the 1990s")]
    spans = [dates_in(f"It was there {text}.")[0] for text in ("from 1998 to 2004", "since 1998", "until 1998")]
    assert all(each.is_moment for each in moments)
    assert not any(each.is_moment for each in spans)


@given(st.text(max_size=60) | st.from_regex(r"(?:from|bis|in|年|to|–|-|May|\d{2,4}|[ .,()]){1,12}", fullmatch=True))
def test_any_text_is_read_and_spans_are_in_order(text: str) -> None:
    found = dates_in(text)
    ends = [0, *(place for each in found for place in (each.start, each.end)), len(text)]
    assert ends == sorted(ends)
    assert all(each.first is None or each.last is None or each.first <= each.last for each in found)


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
