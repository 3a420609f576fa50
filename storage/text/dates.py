"""Dates in a text, as intervals: a day, month, year or decade, alone or with words that open, close or join them.

By rules for English, German, French, Spanish and Chinese, whatever the language of the text. The home of what finds
dates; `literals` reads a single one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache

import regex
from conspectus.storage.records import Document
from conspectus.storage.text.literals import MONTH, Literal, parse_literal

PRECISIONS = {"day": 10, "month": 7, "year": 4, "decade": 3}
"""The precisions of a date, the finest first, and the length of that part of its ISO form."""

_DAY = r"\d{1,2}(?:st|nd|rd|th|er|\.|º)?"
_YEAR = r"(?:1\d|20)\d\d"
DATE = regex.compile(
    rf"(?<![\p{{L}}\d.,:/_-])(?:\d{{4}}-\d\d-\d\d(?!\d)|{_DAY} (?:of |de )?(?:{MONTH})\.?,? (?:del? )?{_YEAR}\b"
    rf"|(?:{MONTH})\.?(?: {_DAY},)? (?:del? )?{_YEAR}\b|{_DAY} ?\d{{1,2}}\. ?{_YEAR}\b"
    rf"|{_YEAR}['’]?s\b|{_YEAR}er(?: Jahren?)?\b)"
    rf"|(?<!\d){_YEAR} ?年(?: ?\d{{1,2}} ?月(?: ?\d{{1,2}} ?[日号])?)?(?!代)|(?<!\d){_YEAR} ?年代"
    rf"|\b(?:années|años) {_YEAR}\b|(?<![\p{{L}}\d.,:/_]|(?<!\b\d{{4}})-){_YEAR}"
    r"(?![\p{L}\d:/_%]|[.,]\d|-\p{L}|-(?!\d{4}\b)\d)",
    regex.I,
)
"""A single date, or a number that may be a year."""
_BARE = regex.compile(_YEAR)
_YEAR_AFTER = regex.compile(
    r"(?:^|[\s(\[,;–—-])(?:in|of|by|on|since|until|till|from|to|between|and|before|after|during|around|about|circa|through"
    r"|ca?\.|b\.|d\.|born|died|early|late|mid|spring|summer|autumn|fall|winter|year|the|an?|his|her|its|their|im|jahre?|seit"
    r"|bis|vor|nach|ab|um|zwischen|und|sommer|herbst|frühjahr|winter|anno|der|die|das|en|depuis|dès|avant|après|jusqu['’]en"
    r"|jusqu['’]à|l['’]an|année|vers|entre|et|à|le|la|été|desde|hasta|antes de|después de|año|el|y|a|de|del|hacia"
    r"|verano|von|wurden?|war|waren|ist|sind|hat|hatten?|er|sie|es|sich|kam|starb)\s$|[(\[–—]\s?$|\d{4}-$|(?:^|[.!?;:])\s*$|\p{Han}$",
    regex.I,
)
"""What stands before a bare number that is a year; "1500 soldiers" is none."""
_COUNTED = regex.compile(
    r"\s(?:years?|men|people|soldiers|copies|km|m|kg|euros?|dollars?|metres?|miles|Jahren?|ans|años)\b"
)
_TO = regex.compile(
    r"\s?(?:[–—~-]|to|until|till|through|up to|bis(?: zum?)?|à|au|jusqu['’](?:en|à|au)|al?|hasta|至|到)\s?"
    r"(?:the |le |el |dem )?",
    regex.I,
)
_HALF = regex.compile(
    rf"(?<![\p{{L}}\d])(?P<half>{_DAY}(?: (?:of |de )?(?:{MONTH}))?|(?:{MONTH}))"
    r"\s?(?:[–-]|to|until|bis(?: zum)?|au?|à|al?|hasta(?: el)?)\s?$",
    regex.I,
)
"""The beginning of an interval that lacks the year, or the month too: "4 June to 20 August 1923"."""
_AND = regex.compile(r"\s(?:and|und|et|y|和)\s(?:the )?|[和与]", regex.I)
_BETWEEN = regex.compile(r"(?:\b(?:between|zwischen|entre)\s(?:the |dem |le |el )?|(?<=[在于]))$", regex.I)
_ARTICLES = r"(?:\s(?:the|dem|den|le|la|les|el|los|about|around|early|late|mid|end of|year|jahre?|año|l['’]année))*\s$"
_MARKS = {
    kind: regex.compile(rf"\b(?:{words}){_ARTICLES}|(?:{unspaced})$", regex.I)
    for kind, words, unspaced in (
        ("since", "since|from|as of|seit|ab|depuis|dès|à partir de|desde|a partir de", "[自从]"),
        ("until", r"until|till|up to|through|bis(?: zum?)?|jusqu['’](?:en|à|au)|hasta", "直到|截至"),
        ("before", "before|prior to|vor|avant|antes del?", "(?!)"),
        ("after", "after|nach|après|después del?|tras", "(?!)"),
    )
}
"""What stands before a date and opens or closes it."""
_SUFFIXES = {
    kind: regex.compile(rf"\s?(?:{words})")
    for kind, words in (("since", "起|以来|开始"), ("before", "以前|之前|前"), ("after", "以后|之后|后"))
}
_SHORT_END = regex.compile(r"[–—/-](\d\d)(?![\d/–—-])")
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

    def overlaps(self, other: "Dated") -> bool:
        """Return whether two intervals have a day in common."""
        begins = max(self.first or "", other.first or "")
        return begins <= min(self.last or "9999-12-31", other.last or "9999-12-31")


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
        if other and (_TO.fullmatch(between) or (_AND.fullmatch(between) and _BETWEEN.search(before))):
            coarser = max(one.precision, other.precision, key=list(PRECISIONS).index)
            one = replace(one, last=other.last, precision=coarser, end=other.end)
            place += 1
        elif short := _SHORT_END.match(text, one.end) if one.precision == "year" and one.first else None:
            year = f"{(one.first or '')[:2]}{short[1]}"
            one = replace(one, last=f"{year}-12-31", end=short.end())
        elif (half := _HALF.search(before)) and one.last and (first := _begun(half["half"], one.last)):
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
    for key in _KEYS:
        stated = read_date(document.metadata.get(key, "").replace("/", "-"))
        if stated:
            return stated
    titled = [
        each for text in (document.title, document.uri.rpartition("/")[2]) for each in dates_in(text.replace("_", " "))
    ]
    return next((each for each in titled if each.precision == "day"), None)


_KEYS = ("date", "published", "updated", "modified", "last_modified", "created", "created_at", "year")


def _single(text: str) -> Iterator[Dated]:
    """Yield each date of a text by itself."""
    for found in DATE.finditer(text):
        if _BARE.fullmatch(found[0]):
            before = text[max(0, found.start() - _LOOKED_BACK) : found.start()]
            if not _YEAR_AFTER.search(before) or _COUNTED.match(text, found.end()):
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
    for kind, prefix in _MARKS.items():
        follows = _SUFFIXES[kind].match(text, one.end) if kind in _SUFFIXES else None
        if not follows and not prefix.search(before):
            continue
        one = replace(one, end=follows.end() if follows else one.end)
        if kind == "since":
            return replace(one, last=None)
        if kind == "until":
            return replace(one, first=None)
        if kind == "before":
            return replace(one, first=None, last=_moved(one.first, -1))
        return replace(one, first=_moved(one.last, 1), last=None)
    return one


def _moved(day: str | None, by: int) -> str | None:
    return (date.fromisoformat(day) + timedelta(by)).isoformat() if day else None
