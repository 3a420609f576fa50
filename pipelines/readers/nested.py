"""Files within files: what a container holds is read by the format that its name says, in bounds for the whole nest."""

import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from gzip import GzipFile
from pathlib import Path, PurePosixPath
from typing import IO

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.filenames import storable
from conspectus.pipelines.readers.formats import CONTAINERS, read_rows, readable_suffix
from conspectus.pipelines.readers.row_types import Lost, Row
from conspectus.storage.settings import InputSettings

MAX_PARTS = 200_000
"""Files that all containers of one nest may hold together."""

_BLOCK = 1 << 20


class Exhausted(Unreadable):
    """The whole nest holds more than it may: nothing more of it is read."""


@dataclass(slots=True)
class Budget:
    """What may still be unpacked, of all containers that lie in one another."""

    n_bytes: int
    n_parts: int = MAX_PARTS

    def spend_bytes(self, number: int, settings: InputSettings) -> None:
        """Take bytes away; Exhausted where so many are not left."""
        if number > self.n_bytes:
            limit = f"input.max_archive_bytes ({settings.max_archive_bytes})"
            raise Exhausted(f"unpacks to more than {limit}", "the rest was not read")
        self.n_bytes -= number

    def spend_part(self) -> None:
        """Take one part away; Exhausted where none is left."""
        if not self.n_parts:
            raise Exhausted(f"holds more than {MAX_PARTS} files", "the rest was not read")
        self.n_parts -= 1


@dataclass(frozen=True, slots=True)
class Nest:
    """Where a container stands: how many may follow within, itself included, and what all share."""

    levels: int
    budget: Budget

    @classmethod
    def outermost(cls, settings: InputSettings) -> "Nest":
        """Return the nest of a container that lies in no other."""
        return cls(settings.max_nesting, Budget(settings.max_archive_bytes))

    def inside(self) -> "Nest":
        """Return the nest of what lies in this container."""
        return Nest(self.levels - 1, self.budget)

    def refuse_too_deep(self, settings: InputSettings) -> None:
        """Raise Unreadable where no container may stand here."""
        if self.levels < 1:
            raise Unreadable("nested too deeply", f"more than input.max_nesting ({settings.max_nesting}) containers")


def read_part(name: str, content: Iterable[bytes], settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the rows of one part of a container, `within` which they are; what cannot be read is lost, and told.

    `name` decides nothing but the format: the content goes, while it is read, to a temporary file of another name.
    `nest` is that of the container. Raises Exhausted where the budget of the nest is.
    """
    try:
        suffix = readable_suffix(name)
        if PurePosixPath(suffix).suffix in CONTAINERS or suffix in CONTAINERS:
            nest.inside().refuse_too_deep(settings)
        with tempfile.TemporaryDirectory(prefix="conspectus-") as folder:
            path = Path(folder, f"part{suffix}")
            with path.open("wb") as stream:
                copy(content, stream, settings, nest)
            for row in read_rows(path, settings, nest.inside()):
                yield replace(row, within=f"{name}/{row.within}" if row.within else name)
    except Exhausted:
        raise
    except Unreadable as error:
        yield Lost(None, error.reason, error.detail, within=name)


def copy(content: Iterable[bytes], stream: IO[bytes], settings: InputSettings, nest: Nest) -> None:
    """Write what is unpacked, and count it against the budget first."""
    for block in content:
        nest.budget.spend_bytes(len(block), settings)
        stream.write(block)


def blocks(stream: IO[bytes] | GzipFile) -> Iterator[bytes]:
    """Yield the content of a stream in blocks of a megabyte."""
    while block := stream.read(_BLOCK):
        yield block


class Names:
    """The names that a container's parts have had: each is given once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, name: str) -> bool:
        """Tell whether a name is free, and take it."""
        free = name not in self._taken
        self._taken.add(name)
        return free

    def unique(self, name: str) -> str:
        """Return the name as it can be stored, with a number before its suffix if it is taken."""
        path = PurePosixPath(clean(storable(name)).replace("/", "_").replace("\\", "_").strip() or "part")
        name, number = path.name, 1
        while not self.take(name):
            number += 1
            name = f"{path.stem} ({number}){path.suffix}"
        return name
