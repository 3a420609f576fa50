"""Literals of a graph: texts parsed as times, quantities or numbers, so that they can be compared.

The type of a literal follows from its text alone: graphs from text files have no datatypes; those of RDF agree with it.
"""

import calendar
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Literal as OneOf

import regex

Kind = OneOf["time", "duration", "quantity", "number"]
"""The kind of a literal. A bare number such as 1999 is a number that can also be compared with times, as a year."""
Order = OneOf["less", "equal", "greater", "overlapping"]
"""The order of two literals; overlapping: 2014 and 2014-05-02, neither of which is earlier."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A value from `low` to `high`, both included.

    Attributes:
        kind: Its kind.
        low, high: For a time the first and the last day, counted from 1 January of the year 1; for a duration the
            seconds; for a quantity the number in the base unit; else the number. Equal except for times.
        unit: The base unit of a quantity ("m", "kg", "€"), "" for the other kinds.
        day: The days of the year that a bare number of up to four digits may denote, None for anything else.
    """

    kind: Kind
    low: float
    high: float
    unit: str = ""
    day: tuple[float, float] | None = None

    def date(self) -> tuple[int, int, int]:
        """Return the year, month and day of a time's first day; the year 0 is 1 BC."""
        day = int(self.low)
        year = int((day - 1) // _MEAN_YEAR) + 1
        year += 1 if _day_number(year + 1, 1, 1) <= day else -1 if _day_number(year, 1, 1) > day else 0
        month = next(month for month in range(_MONTHS_OF_A_YEAR, 0, -1) if _day_number(year, month, 1) <= day)
        return year, month, day - int(_day_number(year, month, 1)) + 1


_MEAN_YEAR = 365.2425
"""Mean number of days in a year."""


def parse_literal(text: str) -> Literal | None:
    """Return the literal that a whole text represents, None if it is none.

    >>> parse_literal("1h 34").low, parse_literal("94 min").low, parse_literal("1,234.5").low
    (5640.0, 5640.0, 1234.5)
    >>> parse_literal("12 km").low, parse_literal("12 km").unit, parse_literal("Catch-22")
    (12000.0, 'm', None)
    """
    text = " ".join(text.split()).strip()
    if not text or len(text) > _LONGEST or not _MAY_BE.search(text):
        return None
    return _parse(text)


def year_in(name: str) -> Literal | None:
    """Return the year in a name, None if there is none or several.

    >>> year_in("1967 Stanley Cup Finals") == parse_literal("1967"), year_in("Apollo 13")
    (True, None)
    """
    years = set(_YEAR_WITHIN.findall(name))
    return _parse(years.pop()) if len(years) == 1 else None


def compare(left: Literal, right: Literal) -> Order | None:
    """Return the order of two literals, None if they cannot be compared (3 kg and 1999-05-02).

    >>> compare(parse_literal("14 February 2023"), parse_literal("2023-03")), compare(Literal("number", 3, 3), Literal(
    ...     "duration", 60, 60))
    ('less', None)
    """
    ends = comparable(left, right)
    if ends is None:
        return None
    (low, high), (other_low, other_high) = ends
    if high < other_low:
        return "less"
    if low > other_high:
        return "greater"
    return "equal" if (low, high) == (other_low, other_high) else "overlapping"


def comparable(left: Literal, right: Literal) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return the ends of two literals on one scale, None if there is none. A bare year is on the scale of times."""
    if left.kind == right.kind and left.unit == right.unit:
        return (left.low, left.high), (right.low, right.high)
    ours = (left.low, left.high) if left.kind == "time" else left.day
    theirs = (right.low, right.high) if right.kind == "time" else right.day
    if "time" in (left.kind, right.kind) and ours and theirs:
        return ours, theirs
    return None


_LONGEST = 60
_MAY_BE = regex.compile(r"\d")
_YEAR_WITHIN = regex.compile(r"(?<![\p{L}\d.,:/_-])(?:1\d|20)\d\d(?![\p{L}\d:/_]|[.,-]\d)")

_LINES = files("conspectus.storage.text").joinpath("months.txt").read_text("utf-8").splitlines()
_MONTHS = {name: number for number, line in enumerate(_LINES, 1) for name in line.split()}
MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
"""A month's name in English, German, French or Spanish."""
_NUMBER = (
    r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:[ \u00a0\u202f']\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?|\.\d+)"
    r"(?:e[+-]?\d+)?"
)

_ISO = regex.compile(
    r"(?P<year>[+-]?\d{4,})-(?P<month>\d\d)(?:-(?P<day>\d\d)(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?)?"
    r"(?:Z|[+-]\d\d:\d\d)?"
)
_WORDS = (
    regex.compile(
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|º)?\.? (?:of |de )?(?P<month>{MONTH})\.?,? (?:del? )?"
        r"(?P<year>\d{3,4})",
        regex.I,
    ),
    regex.compile(rf"(?P<month>{MONTH})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{3,4}})", regex.I),
    regex.compile(rf"(?P<month>{MONTH})\.?,? (?:del? )?(?P<year>\d{{3,4}})", regex.I),
    regex.compile(r"(?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\. ?(?P<year>\d{4})"),
    regex.compile(r"(?P<year>\d{4}) ?年(?: ?(?P<month>\d{1,2}) ?月(?: ?(?P<day>\d{1,2}) ?[日号])?)?"),
)
_SLASHES = regex.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_ERA = regex.compile(r"(?P<year>\d{1,4}) (?P<era>BCE?|AD|CE)|AD (?P<after>\d{1,4})", regex.I)
_DECADE = regex.compile(
    r"(?:the )?(?P<year>\d{3}0)(?:['’]?s|er(?: Jahren?)?| ?年代)|(?:(?:les )?années|(?:los )?años) (?P<year>\d{3}0)",
    regex.I,
)
_CENTURY = regex.compile(r"(?:the )?(?P<number>\d{1,2})(?:st|nd|rd|th) century(?P<before> BCE?)?", regex.I)
_CIRCA = regex.compile(r"(?:c\.|ca\.?|circa|about|around) ?(?=\d)", regex.I)

_UNITS = {
    unit: (base, float(size))
    for line in files("conspectus.storage.text").joinpath("units.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
    for base, size, *units in (line.split(),)
    for unit in units
}
_PART = regex.compile(rf"(?P<number>{_NUMBER}) ?(?P<unit>[a-z]+)\.?", regex.I)
_ISO_DURATION = regex.compile(
    r"P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
_ISO_PARTS = (365.25 * 86400, 30.4375 * 86400, 7 * 86400.0, 86400.0, 3600.0, 60.0, 1.0)
_HOURS = regex.compile(r"(?P<hours>\d+) ?h(?:rs?|ours?)?\.? ?(?P<minutes>[0-5]?\d)", regex.I)
_CLOCK = regex.compile(r"(?P<hours>\d{1,3}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d)")

_SCALES = {"thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "trillion": 1e12}
_SCALE = "|".join(sorted(_SCALES, key=len, reverse=True))
_CURRENCY = r"(?:US|A|C)?\$|€|£|¥|\b(?:USD|EUR|GBP|CHF|JPY)\b"
_QUANTITY = regex.compile(
    rf"(?P<before>{_CURRENCY})? ?(?P<number>{_NUMBER})(?: ?(?P<scale>{_SCALE})\b)?"
    r"(?: ?(?P<unit>%|°?[\p{L}µ²³€£¥$][\p{L}\d²³/ .-]*?))?",
    regex.I,
)
_BARE = regex.compile(r"\d{1,4}")


@lru_cache(1 << 16)
def _parse(text: str) -> Literal | None:
    text = _CIRCA.sub("", text, count=1)
    for read in (_bare, _date, _duration, _quantity):
        found = read(text)
        if found is not None:
            return found
    return None


def _bare(text: str) -> Literal | None:
    if not _BARE.fullmatch(text):
        return None
    return Literal("number", float(text), float(text), day=_days(int(text)) if int(text) else None)


def _date(text: str) -> Literal | None:
    if found := _ISO.fullmatch(text):
        return _time(int(found["year"]), int(found["month"]), int(found["day"]) if found["day"] else None)
    for form in _WORDS:
        if found := form.fullmatch(text):
            parts = found.groupdict()
            month = (parts["month"] or "0").lower()
            return _time(
                int(parts["year"]), _MONTHS.get(month) or int(month), int(parts["day"]) if parts.get("day") else None
            )
    if found := _SLASHES.fullmatch(text):
        first, second, year = map(int, found.groups())
        if first == second or max(first, second) > _MONTHS_OF_A_YEAR:  # otherwise the month is ambiguous
            month, day = (second, first) if first > _MONTHS_OF_A_YEAR else (first, second)
            return _time(year, month, day)
        return None
    if found := _ERA.fullmatch(text):
        year = int(found["year"] or found["after"])
        return _span(1 - year, 1 - year) if (found["era"] or "").upper().startswith("B") else _span(year, year)
    if found := _DECADE.fullmatch(text):
        return _span(int(found["year"]), int(found["year"]) + 9)
    if found := _CENTURY.fullmatch(text):
        number = int(found["number"])
        return (
            _span(1 - 100 * number, 100 - 100 * number) if found["before"] else _span(100 * number - 99, 100 * number)
        )
    return None


_MONTHS_OF_A_YEAR = 12
_DAYS_BEFORE = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


def _time(year: int, month: int, day: int | None) -> Literal | None:
    if month == 0:  # Wikidata's notation for an unknown month
        return _span(year, year)
    if not 1 <= month <= _MONTHS_OF_A_YEAR:
        return None
    days = calendar.monthrange(2000 + year % 400, month)[1]
    if day is not None and day > days:
        return None
    first = _day_number(year, month, day or 1)
    return Literal("time", first, first if day else first + days - 1)


def _span(first: int, last: int) -> Literal:
    return Literal("time", _day_number(first, 1, 1), _day_number(last, 12, 31))


def _days(year: int) -> tuple[float, float]:
    return _day_number(year, 1, 1), _day_number(year, 12, 31)


def _day_number(year: int, month: int, day: int) -> float:
    """Return the day's number in the proleptic Gregorian calendar, for years before 1 and after 9999 too."""
    before = year - 1
    leap = calendar.isleap(year)
    passed = _DAYS_BEFORE[month - 1] + (1 if leap and month > 2 else 0)
    return float(365 * before + before // 4 - before // 100 + before // 400 + passed + day)


def _duration(text: str) -> Literal | None:
    if found := _HOURS.fullmatch(text):
        return _seconds(3600.0 * int(found["hours"]) + 60.0 * int(found["minutes"]))
    if found := _CLOCK.fullmatch(text):
        return _seconds(3600.0 * int(found["hours"]) + 60.0 * int(found["minutes"]) + int(found["seconds"]))
    if len(text) > 2 and (found := _ISO_DURATION.fullmatch(text)):
        return _seconds(sum(float(part) * size for part, size in zip(found.groups(), _ISO_PARTS, strict=True) if part))
    total, at = 0.0, 0
    while at < len(text):
        part = _PART.match(text, at)
        base, size = _UNITS.get(part["unit"].lower(), ("", 0.0)) if part else ("", 0.0)
        if part is None or base != "seconds":
            return None
        if at == 0 and part.end() == len(text) and part["unit"] == "m":
            return None  # a length
        total += _number(part["number"]) * size
        at = part.end()
        gap = _BETWEEN.match(text, at)
        at = gap.end() if gap else at
    return _seconds(total)


_BETWEEN = regex.compile(r",? (?:and )?|,", regex.I)


def _seconds(seconds: float) -> Literal:
    return Literal("duration", seconds, seconds)


def _quantity(text: str) -> Literal | None:
    found = _QUANTITY.fullmatch(text)
    if found is None:
        return None
    number = _number(found["number"]) * _SCALES.get((found["scale"] or "").lower(), 1.0)
    unit = (found["before"] or found["unit"] or "").strip().rstrip(".")
    if not unit:
        return Literal("number", number, number)
    key = unit.lower().replace(" ", "")
    if unit == "m":
        return Literal("quantity", number, number, "m")
    base, size = _UNITS.get(key, ("seconds", 0.0))
    if base != "seconds":
        return Literal("quantity", number * size, number * size, base)
    if found["before"] or not unit[0].isalpha() or "/" in unit:
        return Literal("quantity", number, number, key)
    return None  # "9 songs" is both a title and a quantity; its use is unknown


def _number(text: str) -> float:
    """Return the value of digits with separators: a comma before three digits separates thousands."""
    plain = regex.sub(r"[ \u00a0\u202f']", "", text)
    if _THOUSANDS.fullmatch(plain):
        return float(plain.replace(",", ""))
    return float(plain.replace(",", "."))


_THOUSANDS = regex.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?:e[+-]?\d+)?", regex.I)


def is_time(literal: Literal) -> bool:
    """Return whether a literal is a time, or a number from 1000 to 2100, which reads as a year."""
    return literal.kind == "time" or (literal.kind == "number" and 1000 <= literal.low <= 2100)
