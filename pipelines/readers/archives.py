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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, count
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from conspectus.pipelines.readers.encodings import UnknownFormat, Unreadable, clean
from conspectus.pipelines.readers.formats import CONTAINERS, PACKED, is_wanted, read_rows, readable_suffix, storable
from conspectus.pipelines.readers.guards import (
    LARGE,
    MAX_RATIO,
    bad_member,
    leads_elsewhere,
    member_blocks,
    unpacked,
    zip_of,
)
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.settings import InputSettings

MOST_NESTED = 3
"""Most containers within one another: bombs of bombs have more."""


class Exhausted(Unreadable):
    """The containers in one another unpack to more than their limit; the rest of them is not read."""


@dataclass(frozen=True, slots=True)
class Nest:
    """The position of a container: how many levels may be below, and the bytes that all in the nest may still have."""

    levels: int
    limit: int
    left: list[int]

    @classmethod
    def outermost(cls, settings: InputSettings) -> "Nest":
        """Return the nest of an outermost container."""
        return cls(MOST_NESTED, settings.max_archive_bytes, [settings.max_archive_bytes])

    def inside(self) -> "Nest":
        """Return the nest of the parts of this container."""
        return replace(self, levels=self.levels - 1)

    def refuse_too_deep(self) -> None:
        """Raise Unreadable if containers are nested too deeply."""
        if self.levels < 1:
            raise Unreadable("nested too deeply", f"more than {MOST_NESTED} containers")

    def too_large(self, size: int) -> tuple[str, str] | None:
        """Return why so many bytes are not unpacked, None if they may be."""
        reason = f"unpacks to more than input.max_archive_bytes ({self.limit})"
        return (reason, f"{size} bytes; {self.left[0]} are left for the archive") if size > self.left[0] else None


def contained(name: str, rows: Iterator[Row | Lost]) -> Iterator[Row | Lost]:
    """Yield the rows of a part of a container, `within` its name; what ends them, other than Exhausted, is a loss."""
    try:
        for row in rows:
            yield replace(row, within=f"{name}/{row.within}" if row.within else name)
    except Exhausted:
        raise
    except Unreadable as error:
        yield Lost(None, error.reason, error.detail, within=name, skipped=isinstance(error, UnknownFormat))


def read_part(name: str, content: Iterable[bytes], settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the rows of one part of a container, and `Lost` for unreadable parts; `within` is the path of the part.

    `name` only determines the format: the content goes, while it is read, to a temporary file with another name.
    `nest` is that of the container. Raises Exhausted if the nest is.
    """
    yield from contained(name, _part_rows(name, content, settings, nest.inside()))


def _part_rows(name: str, content: Iterable[bytes], settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    suffix = readable_suffix(name, settings.suffixes)
    if not CONTAINERS.isdisjoint((suffix, PurePosixPath(suffix).suffix)):
        nest.refuse_too_deep()
    yield from _unpacked_rows(suffix, content, settings, nest)


def _unpacked_rows(suffix: str, content: Iterable[bytes], settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the rows of unpacked blocks; raises Exhausted before the one that exceeds the limit."""
    with tempfile.TemporaryDirectory(prefix="conspectus-") as folder:
        path = Path(folder, f"part{suffix}")
        with path.open("wb") as stream:
            for block in content:
                if why := nest.too_large(len(block)):
                    raise Exhausted(why[0], "the rest was not read")
                nest.left[0] -= len(block)
                stream.write(block)
        yield from read_rows(path, settings, nest)


def unique_name(name: str, taken: set[str]) -> str:
    """Return a name that can be stored, with a number before its suffix if it is taken, and take it."""
    path = PurePosixPath(clean(storable(name)).replace("/", "_").replace("\\", "_").strip() or "part")
    numbered = (f"{path.stem} ({number}){path.suffix}" for number in count(2))
    name = next(each for each in chain([path.name], numbered) if each not in taken)
    taken.add(name)
    return name


_UTF8 = 0x800
_JAPANESE = re.compile("[\u3041-\u30fa\u4e00-\u9fff]")


def _zstd(packed: IO[bytes]) -> Any:  # noqa: ANN401  (a stream of Arrow, which has no types)
    import pyarrow as pa

    return pa.CompressedInputStream(pa.PythonFile(packed), "zstd")


_OPENERS: Mapping[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda packed: gzip.GzipFile(fileobj=packed), ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile, ".zst": _zstd
}  # fmt: skip


class _Member(NamedTuple):
    """A file in an archive: its name, its size as declared, why it is not read, and its content."""

    name: str
    size: int
    why: tuple[str, str] | None
    content: Iterator[bytes]


def read_zip(path: Path, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the rows of all members, in the order of the archive; `within` is the member's name.

    Hidden members and clutter are left out as in folders. Members that are encrypted, damaged, links, compressed beyond
    the limit, or that have a taken name or one outside the archive's folder are lost; the others are read.
    """
    with zip_of(path) as archive:
        yield from _rows(_zip_members(archive), settings, nest)


def _zip_members(archive: zipfile.ZipFile) -> Iterator[_Member]:
    for info in archive.infolist():
        is_link = stat.S_ISLNK(info.external_attr >> 16)
        why = ("symbolic link in an archive", "") if is_link else bad_member(info)
        yield _Member(_zip_name(info), info.file_size, why, member_blocks(archive, info))


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Return the name of a member.

    zipfile decodes names without a mark as cp437, as the format requires; most programs write UTF-8 nevertheless, and
    those of Japan the Windows code page.
    """
    for codec in () if info.flag_bits & _UTF8 else ("utf-8", "cp932"):
        with suppress(UnicodeError):
            found = info.filename.encode("cp437").decode(codec)
            if codec == "utf-8" or _JAPANESE.search(found):
                return found
    return info.filename


def read_tar(path: Path, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the rows of all members, as `read_zip` does. Raises Unreadable at the point where an archive is damaged."""
    try:
        with path.open("rb") as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
            yield from _rows(_tar_members(archive), settings, nest)
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise Unreadable("damaged archive", str(error)) from error


def _tar_members(archive: tarfile.TarFile) -> Iterator[_Member]:
    while (info := archive.next()) is not None:
        archive.members.clear()  # type: ignore[attr-defined]  # each has a copy of the global attributes
        why = None if info.isreg() else ("not a regular file", "")
        if info.issym() or info.islnk():
            why = ("link in an archive", f"to {clean(storable(info.linkname))}")
        if not info.isdir():
            yield _Member(info.name, info.size, why, unpacked(partial(archive.extractfile, info), info.name))


def _rows(members: Iterator[_Member], settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    names: set[str] = set()
    for member in members:
        name = clean(storable(member.name)).replace("\\", "/").removeprefix("./")
        outside = leads_elsewhere(name)
        if name.endswith("/") or not (outside or is_wanted(PurePosixPath(name).parts)):
            continue
        if outside:
            yield Lost(None, "name that leads outside the archive", within=name)
        elif name in names:
            yield Lost(None, "name of an earlier member", "only the first is read", within=name)
        elif why := member.why or nest.too_large(member.size):
            yield Lost(None, *why, within=name)
        else:
            yield from read_part(name, member.content, settings, nest)
        names.add(name)
    if not names:
        raise Unreadable("empty", "no file in the archive")


def read_gzip(path: Path, settings: InputSettings, nest: Nest) -> Iterator[Row | Lost]:
    """Yield the rows of a compressed file, in the format of the suffix before .gz (.tar for .tgz)."""
    suffix = readable_suffix(path.name)
    packing = next((one for one in PACKED if suffix.endswith(one)), ".gz")
    inner = ".tar" if suffix == ".tgz" else suffix.removesuffix(packing)
    with path.open("rb") as packed:
        content = _bounded(unpacked(partial(_OPENERS[packing], packed)), path.stat().st_size)
        yield from _unpacked_rows(inner, content, settings, nest)


def _bounded(content: Iterator[bytes], packed_size: int) -> Iterator[bytes]:
    total = 0
    for block in content:
        total += len(block)
        if total > max(LARGE, MAX_RATIO * packed_size):
            raise Unreadable("extreme compression ratio", f"{packed_size} bytes unpack to over {total}")
        yield block
