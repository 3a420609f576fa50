"""Dates in a text, as intervals: a day, month, year or decade, alone or with words that open, close or join them.

By the rules of `dates.txt` for English, German, French, Spanish and Chinese, whatever the language of the text. The
home of what finds dates; `literals` reads a single one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from importlib.resources import files

import regex
from conspectus.storage.records import Document
from conspectus.storage.text.literals import MONTH, Literal, parse_literal

PRECISIONS = {"day": 10, "month": 7, "year": 4, "decade": 3}
"""The precisions of a date, the finest first, and the length of that part of its ISO form."""


def _patterns() -> "Mapping[str, regex.Pattern[str]]":
    """Read `dates.txt`."""
    found = {"MONTH": MONTH}
    for line in files("conspectus.storage.text").joinpath("dates.txt").read_text("utf-8").splitlines():
        name, _, text = line.partition(": ")
        if text and not line.startswith("#"):
            found[name] = regex.sub(r"\{([A-Z_]{2,})\}", lambda each: found[each[1]], text)
    return {name: regex.compile(text, regex.I) for name, text in found.items()}


_IS = _patterns()
DATE = _IS["DATE"]
"""A single date, or a number that may be a year."""
KEYS = ("date", "published", "updated", "modified", "last_modified", "created", "created_at", "year")
"""The keys of metadata that have the date of a document."""
_LOOKED_BACK = 30
"""Characters before a date that are read."""


@dataclass(frozen=True, slots=True)
class Dated:
    """An interval of days, both included, that the characters [start, end) of a text state.

    `first` and `last` are ISO dates, None if the interval is open. `precision` is that of the coarser end.
    """

    first: str | None
    last: str | None
    precision: str
    start: int = 0
    end: int = 0

    @property
    def is_moment(self) -> bool:
        """Whether it is one day, month, year or decade: what happened then has no end."""
        length = PRECISIONS[self.precision]
        return self.first is not None and self.last is not None and self.first[:length] == self.last[:length]


def dates_in(text: str) -> list[Dated]:
    """Return the dates of a text, in order; those that words or dashes join are one interval.

    >>> [(each.first, each.last) for each in dates_in("Mayor from May 1998 to 2004, in office again since 2010.")]
    [('1998-05-01', '2004-12-31'), ('2010-01-01', None)]
    >>> [(each.first, each.last, each.precision) for each in dates_in("1998年5月起任职。1500 soldiers")]
    [('1998-05-01', None, 'month')]
    """
    found = list(_single(text))
    made: list[Dated] = []
    place = 0
    while place < len(found):
        one = found[place]
        other = found[place + 1] if place + 1 < len(found) else None
        before = text[max(0, one.start - _LOOKED_BACK) : one.start]
        between = text[one.end : other.start] if other else ""
        if other and (
            _IS["TO"].fullmatch(between) or (_IS["AND"].fullmatch(between) and _IS["BETWEEN"].search(before))
        ):
            coarser = max(one.precision, other.precision, key=list(PRECISIONS).index)
            one = replace(one, last=other.last, precision=coarser, end=other.end)
            place += 1
        elif short := _IS["SHORT_END"].match(text, one.end) if one.precision == "year" and one.first else None:
            year = f"{(one.first or '')[:2]}{short[1]}"
            one = replace(one, last=f"{year}-12-31", end=short.end())
        elif (half := _IS["HALF"].search(before)) and one.last and (first := _begun(half["half"], one.last)):
            one = replace(one, first=first, start=one.start - len(before) + half.start())
        else:
            one = _opened(one, before, text)
        if one.first is None or one.last is None or one.first <= one.last:
            made.append(one)
        place += 1
    return made


def read_date(text: str) -> Dated | None:
    """Return the interval that a whole text is (2004, 2004-05, May 2004, 1990s); None if it is none.

    >>> read_date("2004-02").last, read_date("soon")
    ('2004-02-29', None)
    """
    return _of(parse_literal(text), text)


def date_of_document(document: Document) -> Dated | None:
    """Return the date of a document: that of its metadata, else a day in its title or its name."""
    for key in KEYS:
        stated = read_date(document.metadata.get(key, "").replace("/", "-"))
        if stated:
            return stated
    titled = [
        each for text in (document.title, document.uri.rpartition("/")[2]) for each in dates_in(text.replace("_", " "))
    ]
    return next((each for each in titled if each.precision == "day"), None)


def _single(text: str) -> Iterator[Dated]:
    """Yield each date of a text by itself."""
    for found in DATE.finditer(text):
        if _IS["YEAR"].fullmatch(found[0]):
            before = text[max(0, found.start() - _LOOKED_BACK) : found.start()]
            if not _IS["YEAR_AFTER"].search(before) or _IS["COUNTED"].match(text, found.end()):
                continue
        elif found[0].startswith("Mars "):  # French has no capital here
            continue
        made = _of(parse_literal(found[0]), found[0])
        if made:
            yield replace(made, start=found.start(), end=found.end())


@lru_cache(10_000)
def _of(literal: Literal | None, text: str) -> Dated | None:
    days = (literal.low, literal.high) if literal and literal.kind == "time" else literal.day if literal else None
    if days is None or not 1 <= days[0] <= days[1] <= date.max.toordinal():
        return None
    first, last = (date.fromordinal(int(day)).isoformat() for day in days)
    for precision, length in PRECISIONS.items():
        if first[:length] == last[:length]:
            return Dated(first, last, precision, 0, len(text))
    return None


def _begun(half: str, last: str) -> str | None:
    """Return the first day of an interval from its beginning without a year, and its last day."""
    day = regex.match(r"\d+", half)
    text = f"{half} {last[:4]}" if regex.search(r"\p{L}{3}", half) else f"{last[:8]}{day[0]:0>2}" if day else ""
    found = read_date(text)
    return found.first if found else None


def _opened(one: Dated, before: str, text: str) -> Dated:
    """Return a date as words before or after it open or close it."""
    for kind in ("SINCE", "UNTIL", "BEFORE", "AFTER"):
        behind = _IS[f"{kind}_BEHIND"].match(text, one.end) if f"{kind}_BEHIND" in _IS else None
        if behind or _IS[kind].search(before):
            first, last = {
                "SINCE": (one.first, None),
                "UNTIL": (None, one.last),
                "BEFORE": (None, _moved(one.first, -1)),
                "AFTER": (_moved(one.last, 1), None),
            }[kind]
            return replace(one, first=first, last=last, end=behind.end() if behind else one.end)
    return one


def _moved(day: str | None, by: int) -> str | None:
    return (date.fromisoformat(day) + timedelta(by)).isoformat() if day else None
