"""The changes that wait for a build: uploaded files, and names of documents to remove.

Names and contents come from a client. A file is stored below one folder only, under a name that is checked first and
has no way to mean another place; it replaces nothing but an earlier upload of the same name.
"""

import asyncio
import os
import secrets
import unicodedata
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from conspectus.pipelines.readers.encodings import UnknownFormat
from conspectus.pipelines.readers.formats import is_wanted, readable_suffix, storable
from conspectus.server.request_checks import Refused
from conspectus.storage.errors import is_out_of_space, no_space
from conspectus.storage.hashing import digest
from conspectus.storage.publishing import write_whole
from conspectus.storage.text.visible import UNSEEN
from pydantic import BaseModel, TypeAdapter

_LONGEST_NAME = 200
"""Bytes of a file name. File systems take 255, and readers put names of members behind it."""
_FORBIDDEN = frozenset('\\/:*?"<>|')
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))})
_INCOMING = ".incoming-"


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """Limits of what waits to be added: bytes of one file and of all, the number of files, and seconds without a byte.

    `all_bytes` and `files` count what waits in an index together with what belongs to unfinished jobs.
    """

    file_bytes: int = 100_000_000
    all_bytes: int = 1_000_000_000
    files: int = 1_000
    idle_seconds: float = 30.0


class Upload(BaseModel):
    """A file that waits to be added."""

    name: str
    bytes: int


class Removal(BaseModel):
    """A document that waits to be removed, or a file that could not be read and is to be forgotten."""

    id: str
    title: str
    uri: str


class Waiting(BaseModel):
    """What the next build would change. `changes` names this state: a build can be asked for exactly this one."""

    uploads: list[Upload]
    removals: list[Removal]
    changes: str


_REMOVALS = TypeAdapter(list[Removal])


def checked_name(name: str) -> str:
    """Return the name of an uploaded file in Unicode's composed form; Refused where it cannot be stored or read.

    >>> checked_name("Re\u0301sume\u0301.PDF")
    'Résumé.PDF'
    """
    name = unicodedata.normalize("NFC", name)
    if not name or UNSEEN.search(name) or _FORBIDDEN.intersection(name) or name != storable(name):
        raise Refused(400, "bad_name", 'a file name has no / \\ : * ? " < > | and no control characters')
    if len(name.encode()) > _LONGEST_NAME:
        raise Refused(400, "bad_name", f"the file name has more than {_LONGEST_NAME} bytes")
    if name != name.strip() or name.endswith(".") or not is_wanted([name]):
        raise Refused(400, "bad_name", "names that begin with a dot, or end with a dot, a space or ~, are not read")
    if name.split(".")[0].strip().lower() in _RESERVED:
        raise Refused(400, "bad_name", "the file name is reserved on some systems; rename the file")
    try:
        readable_suffix(name)
    except UnknownFormat:
        suffix = PurePosixPath(name).suffix
        raise Refused(415, "unknown_format", f"there is no reader for files of the format {suffix}") from None
    return name


class Changes:
    """The changes of one index that wait for a build, on disk."""

    def __init__(self, folder: Path, limits: UploadLimits) -> None:
        """Open the folder `admin` of an index; it must exist."""
        self.folder = folder
        self.uploads = folder / "uploads"
        self.limits = limits
        self._arriving = 0
        self._removals = folder / "removals.json"
        self.uploads.mkdir(mode=0o700, exist_ok=True)
        for left_over in self.uploads.glob(f"{_INCOMING}*"):
            left_over.unlink()

    def waiting(self) -> Waiting:
        """Return what waits."""
        found = [(path, path.stat()) for path in self._files()]
        removals = self.removals()
        files = [f"{path.name} {stat.st_size} {stat.st_mtime_ns}" for path, stat in found]
        state = digest(*files, "", *(each.id for each in removals))
        uploads = [Upload(name=path.name, bytes=stat.st_size) for path, stat in found]
        return Waiting(uploads=uploads, removals=removals, changes=state[:12])

    def removals(self) -> list[Removal]:
        """Return the documents that wait to be removed, by title."""
        return _REMOVALS.validate_json(self._removals.read_bytes()) if self._removals.exists() else []

    def remove(self, documents: Iterable[Removal]) -> None:
        """Let documents wait to be removed."""
        self._set_removals([*self.removals(), *documents])

    def keep(self, ids: Collection[str]) -> None:
        """Let documents stay that wait to be removed."""
        self._set_removals(each for each in self.removals() if each.id not in ids)

    def _set_removals(self, documents: Iterable[Removal]) -> None:
        by_id = {each.id: each for each in documents}
        rows = sorted(by_id.values(), key=lambda each: (each.title, each.id))
        write_whole(self._removals, _REMOVALS.dump_json(rows).decode())

    async def store(self, name: str, content: AsyncIterator[bytes], declared: int) -> Upload:
        """Store an uploaded file as its parts arrive. It replaces an upload of the same name when it is whole.

        Args:
            name: The file name as the client gives it.
            content: The parts.
            declared: The bytes that the client says will come; 0 where it does not say.

        Raises:
            Refused: The name cannot be used, a limit is passed, or the parts do not come in time.
        """
        name = checked_name(name)
        target = self.uploads / name
        before = target.stat().st_size if target.exists() else 0
        held = sum(path.stat().st_size for path in self._all_files()) - before
        if not before and sum(1 for _ in self._all_files()) >= self.limits.files:
            raise Refused(413, "too_many_files", f"{self.limits.files:,} files wait already; build the index first")
        self._check_size(declared, held)
        arriving = self.uploads / f"{_INCOMING}{secrets.token_hex(8)}"
        size = 0
        try:
            with arriving.open("xb") as file:
                async for part in _in_time(content, self.limits.idle_seconds):
                    size += len(part)
                    self._arriving += len(part)
                    self._check_size(size, held + self._arriving - size)
                    file.write(part)
                file.flush()
                await asyncio.to_thread(os.fsync, file.fileno())
            arriving.replace(target)
        except OSError as error:
            if is_out_of_space(error):
                raise Refused(507, "no_space", "the disk of the server is full") from no_space(self.folder)
            raise
        finally:
            self._arriving -= size
            arriving.unlink(missing_ok=True)
        return Upload(name=name, bytes=size)

    def take_back(self, name: str) -> None:
        """Delete a file that waits; Refused where there is none of that name."""
        name = checked_name(name)
        if name not in {path.name for path in self._files()}:
            raise Refused(404, "not_found", "no file of that name waits")
        (self.uploads / name).unlink()

    def hand_over(self, to: Path, uploads: list[str], removals: Sequence[Removal]) -> None:
        """Move files that wait, and documents to remove, to a job."""
        to.mkdir(mode=0o700)
        for name in uploads:
            (self.uploads / name).rename(to / name)
        self.keep({each.id for each in removals})

    def take_over(self, files: Path, removals: Sequence[Removal]) -> None:
        """Let the changes of a job wait again. A file that was uploaded since under the same name stays."""
        for path in sorted(files.iterdir()):
            if not (self.uploads / path.name).exists():
                path.rename(self.uploads / path.name)
        self.remove(removals)

    def _files(self) -> list[Path]:
        return sorted(path for path in self.uploads.iterdir() if not path.name.startswith("."))

    def _all_files(self) -> list[Path]:
        return [*self._files(), *self.folder.glob("jobs/*/files/*")]

    def _check_size(self, size: int, others: int) -> None:
        if size > self.limits.file_bytes:
            raise Refused(413, "too_large", f"a file may have {self.limits.file_bytes:,} bytes")
        if size + others > self.limits.all_bytes:
            all_bytes = f"all files that wait may have {self.limits.all_bytes:,} bytes; build the index first"
            raise Refused(413, "too_large", all_bytes)


async def _in_time(content: AsyncIterator[bytes], seconds: float) -> AsyncIterator[bytes]:
    while True:
        try:
            async with asyncio.timeout(seconds):
                part = await anext(content)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Refused(408, "too_slow", f"nothing came for {seconds:g} s") from None
        yield part
