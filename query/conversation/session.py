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

from conspectus.query.conversation.history import MOST_CHARACTERS, MOST_CITATIONS, Conversation, Turn
from conspectus.query.types.subgraph import MOST, NO_PRIZES
from conspectus.storage.errors import InputError, UsageError
from filelock import FileLock
from pydantic import AfterValidator, TypeAdapter, ValidationError

MOST_BYTES = 1_000_000
"""Most bytes of a file; the oldest turns make room for new ones."""
_MOST_PRIZE = 1_000


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


def _checked(turn: Turn) -> Turn:
    prizes = [prize for _, prize in (*turn.kept.nodes, *turn.kept.relations)]
    if len(prizes) > 2 * MOST or not all(0 < prize <= _MOST_PRIZE for prize in prizes):
        raise ValueError(f"kept: more than {2 * MOST} prizes, or one that is not above 0 and at most {_MOST_PRIZE}")
    if any(min(span.start, span.end) < 0 for span in turn.citations):
        raise ValueError("citations: a place before the beginning of a document")
    return turn


_TURN = TypeAdapter(Annotated[Turn, AfterValidator(_checked)])


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
        return _TURN.validate_json(line, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{path}, line {number}, is not a turn of a conversation: {f'{where}: ' if where else ''}{first['msg']}; "
            f"name another file with --session, or remove the line"
        ) from error


def _line(turn: Turn) -> bytes:
    held = asdict(turn)
    held |= {key: held[key][:MOST_CHARACTERS] for key in ("question", "standalone", "answer", "narrowed")}
    held |= {key: held[key][:MOST_CITATIONS] for key in ("citations", "sources")}
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
