"""Session files: a conversation as JSON Lines, one turn per line. The content is untrusted.

A file is replaced atomically, so it never contains half a turn, and two processes may append concurrently.
"""

import os
import stat
import tempfile
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Annotated

from conspectus.query.conversation.history import CitedSpan, Conversation, Turn
from conspectus.query.methods.gretriever.carry_over import MOST
from conspectus.query.types.subgraph import NO_PRIZES, CarriedPrizes
from conspectus.storage.errors import InputError, UsageError
from filelock import FileLock
from pydantic import BaseModel, ConfigDict, Field, ValidationError

MOST_BYTES = 1_000_000
"""Most bytes of a file; the oldest turns make room for new ones."""
MOST_CHARACTERS = 50_000
"""Most characters of a question or an answer that are stored."""
_MOST_CITATIONS = 1_000


def read_session(path: Path) -> Conversation:
    """Return the conversation of a file, an empty one if there is no file yet.

    Raises InputError, with the line, if the file is not a session; UsageError if it could not be written later.
    """
    if not path.parent.is_dir():
        raise UsageError(f"--session {path}: there is no folder {path.parent}")
    lines = enumerate(_lines(path), start=1)
    return Conversation(tuple(_turn(path, number, line) for number, line in lines if line.strip()))


def append_turn(path: Path, turn: Turn) -> None:
    """Append a turn to a file. A missing file is created, readable by its owner only.

    The oldest turns are dropped if the file would exceed MOST_BYTES.
    """
    path = path.resolve()  # preserve a symbolic link
    line = _line(turn)
    with FileLock(path.with_name(f".{path.name}.lock")):
        lines = [*(line for line in _lines(path) if line.strip()), line]
        while len(lines) > 1 and sum(len(line) + 1 for line in lines) > MOST_BYTES:
            del lines[0]
        _replace(path, b"".join(line + b"\n" for line in lines))


_Prize = tuple[Annotated[str, Field(max_length=10_000)], Annotated[float, Field(gt=0, le=1_000)]]
"""An id and its prize."""


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _CitedSpanLine(_Strict):
    document_id: Annotated[str, Field(max_length=10_000)]
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]


class _Kept(_Strict):
    nodes: Annotated[list[_Prize], Field(max_length=MOST)] = []
    relations: Annotated[list[_Prize], Field(max_length=MOST)] = []


class _Turn(_Strict):
    """The schema of a line."""

    question: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
    standalone: Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
    answer: Annotated[str, Field(max_length=MOST_CHARACTERS)]
    method: Annotated[str, Field(max_length=1_000)]
    citations: Annotated[list[_CitedSpanLine], Field(max_length=_MOST_CITATIONS)]
    sources: Annotated[list[Annotated[str, Field(pattern="^[0-9a-f]{64}$")]], Field(max_length=_MOST_CITATIONS)]
    narrowed: Annotated[str, Field(max_length=MOST_CHARACTERS)] = ""
    kept: _Kept = _Kept()


def _lines(path: Path) -> list[bytes]:
    """Return the lines of a file; empty if there is no file."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path} is not a file; name another one with --session")
        with path.open("rb") as stream:
            held = stream.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return []
    if len(held) > MOST_BYTES:
        raise InputError(f"{path} is not a conversation: it has more than {MOST_BYTES:,} bytes; name another --session")
    return held.split(b"\n")


def _turn(path: Path, number: int, line: bytes) -> Turn:
    try:
        read = _Turn.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{path}, line {number}, is not a turn of a conversation: {f'{where}: ' if where else ''}{first['msg']}; "
            f"name another file with --session, or remove the line"
        ) from error
    citations = tuple(CitedSpan(citation.document_id, citation.start, citation.end) for citation in read.citations)
    return Turn(
        read.question,
        read.standalone,
        read.answer,
        read.method,
        citations,
        tuple(read.sources),
        read.narrowed,
        CarriedPrizes(tuple(read.kept.nodes), tuple(read.kept.relations)),
    )


def _line(turn: Turn) -> bytes:
    held = asdict(turn)
    held |= {key: held[key][:MOST_CHARACTERS] for key in ("question", "standalone", "answer", "narrowed")}
    held |= {key: held[key][:_MOST_CITATIONS] for key in ("citations", "sources")}
    if turn.kept == NO_PRIZES:
        del held["kept"]
    return dumps(held, ensure_ascii=False).encode("utf-8", "replace")


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    written = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        if path.exists():
            written.chmod(stat.S_IMODE(path.stat().st_mode))
        written.replace(path)
    except BaseException:
        written.unlink()
        raise
