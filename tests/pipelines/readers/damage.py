"""Damage to good files, the same in every run: what comes of it must be rows, losses, or Unreadable."""

import io
import random
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.settings import InputSettings

Read = Callable[[Path, InputSettings], Iterator[Row | Lost]]


def damaged(content: bytes, count: int) -> Iterator[bytes]:
    """Yield a file cut off, with a piece missing, or with some bytes changed."""
    chance = random.Random(len(content))
    for _ in range(count):
        changed = bytearray(content)
        at = chance.randrange(len(changed))
        how = chance.random()
        if how < 0.2:
            del changed[at:]
        elif how < 0.4:
            del changed[at : at + chance.randrange(1, 2000)]
        else:
            for _ in range(chance.choice((1, 3, 10, 50, 300))):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
        yield bytes(changed)


def damaged_inside(content: bytes, count: int) -> Iterator[bytes]:
    """Yield zip archives that are sound, with damage in one of their XML members."""
    chance = random.Random(len(content))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    texts = [name for name in members if name.endswith(("xml", "rels", "html", "opf"))]
    for _ in range(count):
        hit = chance.choice(texts)
        yield archive_of({**members, hit: next(damaged(members[hit], 1)) if chance.random() < 0.9 else b""})


def archive_of(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def survives(read: Read, path: Path, versions: Iterator[bytes]) -> None:
    """Read every version of a file: all else than Unreadable fails the test, and so do places outside the text."""
    for version in versions:
        path.write_bytes(version)
        try:
            found = list(read(path, InputSettings()))
        except Unreadable:
            continue
        for row in found:
            if isinstance(row, Row):
                starts = [place.start for place in row.places]
                assert starts == sorted(starts)
                assert all(0 <= start < len(row.text) for start in starts)
                row.text.encode("utf-8")


def only_row(read: Read, path: Path, settings: InputSettings | None = None) -> Row:
    (found,) = read(path, settings or InputSettings())
    assert isinstance(found, Row)
    return found


def refusal(read: Read, path: Path, settings: InputSettings | None = None) -> Unreadable:
    """Return why a file is refused."""
    try:
        found = list(read(path, settings or InputSettings()))
    except Unreadable as error:
        return error
    raise AssertionError(f"it was read: {found}")


def headings(row: Row) -> list[tuple[str, int]]:
    """Return the headings, each checked to stand where it says."""
    for place in row.places:
        if place.kind == "heading":
            assert " ".join(row.text[place.start :].split()).startswith(place.label)
    return [(place.label, place.level) for place in row.places if place.kind == "heading"]
