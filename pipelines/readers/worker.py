"""The process that reads files: requests from its input; rows and losses, or the statements of a graph, to its output.

All are MessagePack.

It is run by path (see `process`): a file that takes too long, needs too much memory or crashes a library ends this
process and nothing else.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
from conspectus.pipelines.readers.encodings import UnknownFormat, Unreadable
from conspectus.pipelines.readers.formats import read_rows
from conspectus.pipelines.readers.guards import at_progress
from conspectus.pipelines.readers.rows import Lost
from conspectus.storage.errors import InputError
from conspectus.storage.settings import InputSettings, KgSettings

_BLOCK = 1 << 16


def main() -> None:
    """Say true, then answer requests until the input ends: rows and losses, then nil.

    A request is a list of the path, a folder for temporary files, the settings, and the section kg if the file is one
    of a graph, whose statements are the rows then.
    """
    output = _Output(os.dup(1))
    os.dup2(2, 1)  # what a library or plug-in prints is no row
    output.end(True)
    at_progress.append(output.go_on)
    requests = msgpack.Unpacker()
    while block := os.read(0, _BLOCK):
        requests.feed(block)
        for path, tempfile.tempdir, fields, graph in requests:
            settings = InputSettings(**fields)
            output.seconds = settings.max_seconds
            _limit_time(settings.max_seconds)
            _read(Path(os.fsdecode(path)), settings, KgSettings(**graph) if graph else None, output.add)
            output.end(None)


def _read(path: Path, settings: InputSettings, graph: KgSettings | None, add: Callable[[Any], None]) -> None:
    """Add the rows of a document or the statements of a graph; an error becomes the last loss."""
    try:
        if graph:
            from conspectus.pipelines.exchange.kg.read import read_statements

            read_statements(path, graph, add)
        else:
            for row in read_rows(path, settings):
                add(row)
    except Unreadable as error:
        add(Lost(None, error.reason, error.detail, skipped=isinstance(error, UnknownFormat)))
    except InputError as error:
        add(Lost(None, str(error)))
    except OSError as error:
        add(Lost(None, "cannot be read", error.strerror or str(error)))
    except MemoryError:
        add(Lost(None, "takes too much memory", "input.max_memory limits it"))
    except RecursionError:
        add(Lost(None, "nested too deeply"))
    except Exception as error:  # noqa: BLE001  (a mistake of ours; its message may name a temporary file)
        add(Lost(None, "its reader failed", type(error).__name__))


class _Output:
    """Writes rows in blocks; the process may compute for `seconds` until the next block."""

    def __init__(self, file: int) -> None:
        self.seconds = 0.0
        self._stream = os.fdopen(file, "wb", 2 * _BLOCK)
        self._waiting = 0

    def add(self, row: object) -> None:
        """Write a row with the next block."""
        self._waiting += self._stream.write(_packed(row))
        if self._waiting > _BLOCK:
            self._stream.flush()
            self._waiting = 0
            _limit_time(self.seconds)

    def go_on(self) -> None:
        """Say true: the deadline of the file begins again."""
        self.end(True)
        _limit_time(self.seconds)

    def end(self, last: object) -> None:
        """Write a last row and all before it."""
        self._stream.write(_packed(last))
        self._stream.flush()
        self._waiting = 0


def _limit_time(seconds: float) -> None:
    """End this process if it computes for so long from now."""
    try:
        import resource
    except ImportError:  # Windows
        return
    until = int(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))


def _packed(row: object) -> bytes:
    def fields(record: Any) -> list[object]:  # noqa: ANN401  (a row or a loss)
        return [getattr(record, name) for name in record.__slots__]

    return bytes(msgpack.packb(row, default=fields, unicode_errors="surrogatepass"))


if __name__ == "__main__":
    main()
