"""Read calendars (.ics) and address cards (.vcf): a section for each event, task, note or card."""

import re
from collections.abc import Iterator
from pathlib import Path

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.markup import read_whole
from conspectus.pipelines.readers.rows import Draft, Row, labelled
from conspectus.storage.settings import InputSettings

_LINE = re.compile(r"(?:[\w-]+\.)?(?P<name>[A-Za-z-]+)(?P<options>(?:;[^:;\"]*(?:\"[^\"]*\")?)*):(?P<value>.*)")
_NAMES = {
    "DTSTART": "Start", "DTEND": "End", "DUE": "Due", "DURATION": "Duration", "LOCATION": "Location",
    "STATUS": "Status", "DESCRIPTION": "Description", "ORGANIZER": "Organizer", "ATTENDEE": "Attendee",
    "RRULE": "Repeats", "URL": "URL",
    "CATEGORIES": "Categories", "COMMENT": "Comment", "CONTACT": "Contact", "RESOURCES": "Resources", "NOTE": "Note",
    "ORG": "Organization", "TITLE": "Title", "ROLE": "Role", "EMAIL": "E-mail", "TEL": "Telephone", "ADR": "Address",
    "BDAY": "Birthday", "NICKNAME": "Nickname",
}  # fmt: skip
"""The properties that are read, by the words for them."""
_TIME = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_PERSON = re.compile(r';CN="?([^";:]+)', re.I)
_ITEMS = ("VEVENT", "VTODO", "VJOURNAL", "VCARD")


def read_calendar(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a calendar or cards as one text, each event under its summary; raises Unreadable if there is none."""
    draft = Draft(settings)
    open_items: list[str] = []
    values: dict[str, str] = {}
    title = ""
    for line in re.sub(r"\n[ \t]", "", read_whole(path, settings)).split("\n"):
        found = _LINE.fullmatch(line.rstrip())
        if not found:
            continue
        name, value = found["name"].upper(), _value(found)
        if name == "BEGIN":
            open_items.append(value.upper())
            if value.upper() in _ITEMS:
                values, title = {}, ""
        elif name == "END" and open_items:
            if open_items.pop() in _ITEMS and (title or values):
                draft.begin("heading", title or "?", 1)
                draft.add(title)
                draft.add(labelled(values))
        elif open_items and open_items[-1] in _ITEMS and value:
            if name in ("SUMMARY", "FN"):
                title = value
            elif (label := _NAMES.get(name)) is not None:
                values[label] = f"{values[label]}, {value}" if label in values else value
    if not draft:
        raise Unreadable("no event or card")
    yield draft.row(None, {})


def _value(found: re.Match[str]) -> str:
    """Return the value of a property as people write it."""
    if person := _PERSON.search(found["options"]):
        return person[1].strip()
    value = re.sub(r"\\([nN,;\\])", lambda sign: " " if sign[1] in "nN" else sign[1], found["value"]).strip()
    if time := _TIME.fullmatch(value):
        year, month, day, hour, minute, utc = time.groups()
        return f"{year}-{month}-{day}" + (f" {hour}:{minute}{' UTC' if utc else ''}" if hour else "")
    return re.sub(r"^mailto:", "", value, flags=re.I)
