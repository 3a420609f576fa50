"""Read archives: .zip, .tar and gzip. Every member is read in the format of its suffix.

Members are unpacked one at a time, to temporary files whose names do not come from the archive. The unpacked size of
a member is bounded by the limit for all together (`input.max_archive_bytes`), and by a maximum compression ratio.
"""

import bz2
import gzip
import lzma
import re
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any

from conspectus.pipelines.readers.encodings import UnknownFormat, Unreadable, clean
from conspectus.pipelines.readers.filenames import is_wanted, storable
from conspectus.pipelines.readers.formats import CONTAINERS, PACKED, read_rows, readable_suffix
from conspectus.pipelines.readers.guards import (
    LARGE,
    MAX_RATIO,
    ZIP_ERRORS,
    bad_member,
    leads_elsewhere,
)
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.settings import InputSettings

MOST_NESTED, MAX_PARTS = 3, 200_000
"""Most containers within one another, and files in all of a nest together: bombs of bombs have more of both."""

_BLOCK = 1 << 20


class Exhausted(Unreadable):
    """The nest exceeds its limits; the rest of it is not read."""


@dataclass(slots=True)
class Budget:
    """The remaining limits for unpacking, shared by all nested containers."""

    n_bytes: int
    n_parts: int = MAX_PARTS

    def spend_bytes(self, number: int, settings: InputSettings) -> None:
        """Spend bytes; raises Exhausted if too few are left."""
        if number > self.n_bytes:
            limit = f"input.max_archive_bytes ({settings.max_archive_bytes})"
            raise Exhausted(f"unpacks to more than {limit}", "the rest was not read")
        self.n_bytes -= number

    def spend_part(self) -> None:
        """Spend one part; raises Exhausted if none is left."""
        if not self.n_parts:
            raise Exhausted(f"holds more than {MAX_PARTS} files", "the rest was not read")
        self.n_parts -= 1


@dataclass(frozen=True, slots=True)
class Nest:
    """The position of a container: the number of remaining levels, including this one, and the shared budget."""

    levels: int
    budget: Budget

    @classmethod
    def outermost(cls, settings: InputSettings) -> "Nest":
        """Return the nest of an outermost container."""
        return cls(MOST_NESTED, Budget(settings.max_archive_bytes))

    def inside(self) -> "Nest":
        """Return the nest of the parts of this container."""
        return Nest(self.levels - 1, self.budget)

    def refuse_too_deep(self) -> None:
        """Raise Unreadable if containers are nested too deeply."""
        if self.levels < 1:
            raise Unreadable("nested too deeply", f"more than {MOST_NESTED} containers")


def read_part(name: str, content: Iterable[bytes], settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the rows of one part of a container, and `Lost` for unreadable parts; `within` is the path of the part.

    `name` only determines the format: the content goes, while it is read, to a temporary file with another name.
    `nest` is that of the container. Raises Exhausted if the budget of the nest is.
    """
    try:
        suffix = readable_suffix(name, settings.suffixes)
        if PurePosixPath(suffix).suffix in CONTAINERS or suffix in CONTAINERS:
            nest.inside().refuse_too_deep()
        with tempfile.TemporaryDirectory(prefix="conspectus-") as folder:
            path = Path(folder, f"part{suffix}")
            with path.open("wb") as stream:
                copy(content, stream, settings, nest)
            for row in read_rows(path, settings, nest.inside()):
                yield replace(row, within=f"{name}/{row.within}" if row.within else name)
    except Exhausted:
        raise
    except Unreadable as error:
        yield Lost(None, error.reason, error.detail, within=name, skipped=isinstance(error, UnknownFormat))


def copy(content: Iterable[bytes], stream: IO[bytes], settings: InputSettings, nest: Nest) -> None:
    """Write unpacked blocks, each after it is charged to the budget."""
    for block in content:
        nest.budget.spend_bytes(len(block), settings)
        stream.write(block)


def blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of a stream in blocks of a megabyte."""
    while block := stream.read(_BLOCK):
        yield block


class UniqueNames:
    """The names of the parts of a container, each used once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, name: str) -> bool:
        """Return whether a name is free, and take it."""
        free = name not in self._taken
        self._taken.add(name)
        return free

    def unique(self, name: str) -> str:
        """Return a name that can be stored, with a number before its suffix if it is taken."""
        path = PurePosixPath(clean(storable(name)).replace("/", "_").replace("\\", "_").strip() or "part")
        name, number = path.name, 1
        while not self.take(name):
            number += 1
            name = f"{path.stem} ({number}){path.suffix}"
        return name


_PACKING_ERRORS = (gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, OSError)
_TAR_ERRORS = (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError)
_UTF8 = 0x800
_JAPANESE = re.compile("[\u3041-\u30fa\u4e00-\u9fff]")


def _zstd(packed: IO[bytes]) -> Any:  # noqa: ANN401  (a stream of Arrow, which has no types)
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(packed), "zstd")


_OPENERS: Mapping[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda packed: gzip.GzipFile(fileobj=packed), ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile, ".zst": _zstd
}  # fmt: skip


def read_zip(path: Path, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the rows of all members, in the order of the archive; `within` is the member's name.

    Hidden members and clutter are left out as in folders. Members that are encrypted, damaged, links, compressed beyond
    the limit, or that have a taken name or one outside the archive's folder are lost; the others are read.
    """
    with path.open("rb") as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except ZIP_ERRORS as error:
            raise Unreadable("damaged archive", str(error)) from error
        with archive:
            yield from _not_empty(_zip_members(archive, settings, nest))


def _zip_members(archive: zipfile.ZipFile, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    names = UniqueNames()
    for info in archive.infolist():
        name = _zip_name(info)
        if name.endswith("/") or not _is_wanted(name):
            continue
        nest.budget.spend_part()
        why = _bad_name(name, names) or _bad_member(info, settings, nest)
        if why:
            yield Lost(None, *why, within=name)
        else:
            yield from read_part(name, _zip_blocks(archive, info), settings, nest)


def _zip_name(info: zipfile.ZipInfo) -> str:
    name = info.filename
    if not info.flag_bits & _UTF8:
        # zipfile decodes such names as cp437, as the format requires; most programs write UTF-8 nevertheless, and
        # those of Japan the Windows code page.
        for codec in ("utf-8", "cp932"):
            try:
                found = name.encode("cp437").decode(codec)
            except UnicodeError:
                continue
            if codec == "utf-8" or _JAPANESE.search(found):
                name = found
                break
    return _plain_name(name)


def _bad_member(info: zipfile.ZipInfo, settings: InputSettings, nest: Nest) -> tuple[str, str] | None:
    if stat.S_ISLNK(info.external_attr >> 16):
        return "symbolic link in an archive", ""
    return bad_member(info) or _too_large(info.file_size, settings, nest)


def _zip_blocks(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    try:
        with archive.open(info) as stream:
            yield from blocks(stream)
    except ZIP_ERRORS as error:
        raise Unreadable("damaged archive member", str(error)) from error


def read_tar(path: Path, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the rows of all members, as `read_zip` does. Raises Unreadable at the point where an archive is damaged."""
    try:
        with path.open("rb") as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
            yield from _not_empty(_tar_members(archive, settings, nest))
    except _TAR_ERRORS as error:
        raise Unreadable("damaged archive", str(error)) from error


def _tar_members(archive: tarfile.TarFile, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    names = UniqueNames()
    while (info := archive.next()) is not None:
        archive.members.clear()  # type: ignore[attr-defined]  # each has a copy of the global attributes
        nest.budget.spend_part()
        name = _plain_name(info.name)
        if info.isdir() or not _is_wanted(name):
            continue
        why = _bad_name(name, names)
        if info.issym() or info.islnk():
            why = ("link in an archive", f"to {clean(storable(info.linkname))}")
        elif not info.isreg():
            why = ("not a regular file", "")
        why = why or _too_large(info.size, settings, nest)
        if why:
            yield Lost(None, *why, within=name)
            continue
        member = archive.extractfile(info)
        assert member is not None
        yield from read_part(name, _tar_blocks(member), settings, nest)


def _tar_blocks(member: IO[bytes]) -> Iterator[bytes]:
    try:
        yield from blocks(member)
    except _TAR_ERRORS as error:
        raise Unreadable("damaged archive member", str(error)) from error


def read_gzip(path: Path, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the rows of a compressed file, in the format of the suffix before .gz (.tar for .tgz)."""
    suffix = readable_suffix(path.name)
    packing = next((one for one in PACKED if suffix.endswith(one)), ".gz")
    inner = ".tar" if suffix == ".tgz" else suffix.removesuffix(packing)
    with tempfile.TemporaryDirectory(prefix="conspectus-") as folder:
        unpacked = Path(folder, f"part{inner}")
        with path.open("rb") as packed, unpacked.open("wb") as stream, _OPENERS[packing](packed) as unpacking:
            copy(_bounded(blocks(unpacking), path.stat().st_size), stream, settings, nest)
        yield from read_rows(unpacked, settings, nest)


def _bounded(unpacking: Iterator[bytes], packed_size: int) -> Iterator[bytes]:
    total = 0
    try:
        for block in unpacking:
            total += len(block)
            if total > max(LARGE, MAX_RATIO * packed_size):
                raise Unreadable("extreme compression ratio", f"{packed_size} bytes unpack to over {total}")
            yield block
    except _PACKING_ERRORS as error:
        raise Unreadable("damaged archive", str(error)) from error


def _plain_name(name: str) -> str:
    """Return the name of a member with / between its parts, so that it can be stored."""
    return clean(storable(name)).replace("\\", "/").removeprefix("./")


def _is_wanted(name: str) -> bool:
    return ".." in name.split("/") or is_wanted(PurePosixPath(name).parts)


def _bad_name(name: str, names: UniqueNames) -> tuple[str, str] | None:
    if leads_elsewhere(name):
        return "name that leads outside the archive", ""
    if not names.take(name):
        return "name of an earlier member", "only the first is read"
    return None


def _too_large(size: int, settings: InputSettings, nest: Nest) -> tuple[str, str] | None:
    if size > nest.budget.n_bytes:
        limit = f"input.max_archive_bytes ({settings.max_archive_bytes})"
        return f"unpacks to more than {limit}", f"{size} bytes; {nest.budget.n_bytes} are left for the archive"
    return None


def _not_empty(rows: Iterator[Row | Lost]) -> Iterator[Row | Lost]:
    anything = False
    for row in rows:
        anything = True
        yield row
    if not anything:
        raise Unreadable("empty", "no file in the archive")
