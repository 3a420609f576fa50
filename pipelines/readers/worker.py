"""The process that reads files: requests from its input, rows and losses to its output, both as MessagePack.

It is run by path (see `process`): a file that takes too long, needs too much memory or crashes a library ends this
process and nothing else.
"""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgpack
from conspectus.pipelines.readers.encodings import UnknownFormat, Unreadable
from conspectus.pipelines.readers.formats import read_rows
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.settings import InputSettings

_BLOCK = 1 << 16


def main() -> None:
    """Say true, then answer requests until the input ends: rows and losses, then nil.

    A request is a list of the path, a folder for temporary files, and the settings.
    """
    output = os.dup(1)
    os.dup2(2, 1)  # what a library or plug-in prints is no row
    _write(output, _packed(True))
    requests = msgpack.Unpacker()
    while block := os.read(0, _BLOCK):
        requests.feed(block)
        for path, tempfile.tempdir, fields in requests:
            settings = InputSettings(**fields)
            waiting = b""
            _limit_time(settings.max_seconds)
            for row in _rows_and_losses(Path(os.fsdecode(path)), settings):
                waiting += _packed(row)
                if len(waiting) > _BLOCK:
                    _write(output, waiting)
                    waiting = b""
                    _limit_time(settings.max_seconds)
            _write(output, waiting + _packed(None))


def _rows_and_losses(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the rows of a file; an error becomes the last loss."""
    try:
        yield from read_rows(path, settings)
    except Unreadable as error:
        yield Lost(None, error.reason, error.detail, skipped=isinstance(error, UnknownFormat))
    except OSError as error:
        yield Lost(None, "cannot be read", error.strerror or str(error))
    except MemoryError:
        yield Lost(None, "takes too much memory", "input.max_memory limits it")
    except RecursionError:
        yield Lost(None, "nested too deeply")
    except Exception as error:  # noqa: BLE001  (a mistake of ours; its message may name a temporary file)
        yield Lost(None, "its reader failed", type(error).__name__)


def _limit_time(seconds: float) -> None:
    """End this process if it computes for so long from now."""
    try:
        import resource
    except ImportError:  # Windows
        return
    until = int(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))


def _packed(row: Row | Lost | bool | None) -> bytes:
    def fields(record: object) -> list[object]:
        return [getattr(record, name) for name in type(record).__slots__]  # type: ignore[attr-defined]

    return bytes(msgpack.packb(row, default=fields, unicode_errors="surrogatepass"))


def _write(output: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(output, left) :]


if __name__ == "__main__":
    main()
