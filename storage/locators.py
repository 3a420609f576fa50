"""Locators: the page, slide or sheet of a character of a document, and the headings above it."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter

from conspectus.storage.records import Place

HEADING = "heading"
AREA = "area"
"""A part of a scanned page."""
_TO = {AREA: " to "}
APART = frozenset({"slide", "sheet"})
"""Landmarks that end all headings."""

_start = attrgetter("start")


def places_at(places: Sequence[Place], start: int) -> tuple[Place, ...]:
    """Return the landmarks at a character: one of each kind (page, slide, sheet), then the headings above it.

    `places` are sorted by start. A landmark extends to the next of its kind. A heading ends earlier headings of its
    level and below, so headings are returned from the outermost in. A slide or sheet ends all headings, because its
    content is unrelated to the previous one.

    >>> [each.label for each in places_at((Place(0, "page", "iv", 0), Place(0, "heading", "Risks", 1)), 7)]
    ['iv', 'Risks']
    """
    others: dict[str, Place] = {}
    headings: list[Place] = []
    for place in places[: bisect_right(places, start, key=_start)]:
        if place.kind == HEADING:
            while headings and headings[-1].level >= place.level:
                headings.pop()
            headings.append(place)
        else:
            others[place.kind] = place
            if place.kind == "page":
                others.pop(AREA, None)  # only scanned pages have them
            if place.kind in APART:
                headings.clear()
    return (*others.values(), *headings)


def places_between(places: Sequence[Place], start: int, end: int) -> tuple[Place, ...]:
    """Return the pages, slides and sheets of characters [start, end), in text order."""
    reached = [place for place in places_at(places, start) if place.kind != HEADING]
    later = places[bisect_right(places, start, key=_start) : bisect_left(places, end, key=_start)]
    return (*reached, *(item for item in later if item.kind != HEADING))


def sections_at(places: Sequence[Place], start: int) -> tuple[str, ...]:
    """Return the labels of the headings above a character, the outermost first."""
    return tuple(place.label for place in places_at(places, start) if place.kind == HEADING)


def _longest_section(places: Sequence[Place], start: int, end: int) -> int:
    """Return the start of the longest part of characters [start, end) under one heading."""
    inside = places[bisect_right(places, start, key=_start) : bisect_left(places, end, key=_start)]
    bounds = [start, *(place.start for place in inside if place.kind == HEADING), end]
    return max(pairwise(bounds), key=lambda part: part[1] - part[0])[0]


def described(places: Sequence[Place], start: int, end: int) -> str:
    """Return the location of characters [start, end) in words for a reader; "" without landmarks.

    The headings are those above most of the characters.

    >>> page, methods = Place(0, "page", "3", 0), Place(0, "heading", "2. Methods", 1)
    >>> described((page, methods, Place(90, "page", "4", 0)), 10, 99)
    'pages 3-4, "2. Methods"'
    """
    by_kind: dict[str, list[str]] = {}
    for place in places_between(places, start, end):
        by_kind.setdefault(place.kind, []).append(place.label)
    said = [
        f"{kind} {labels[0]}" if len(labels) == 1 else f"{kind}s {labels[0]}{_TO.get(kind, '-')}{labels[-1]}"
        for kind, labels in by_kind.items()
    ]
    path = " > ".join(sections_at(places, _longest_section(places, start, end)))
    return ", ".join([*said, *([f'"{path}"'] if path else [])])
