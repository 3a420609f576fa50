"""Read files of a knowledge graph, compressed or not, line by line or whole."""

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from conspectus.pipelines.readers.encodings import encoding_of_stream
from conspectus.storage.errors import InputError

BOM = b"\xef\xbb\xbf"


def suffix_of(path: Path) -> str:
    """Return the suffix of a file in lower case, without that of its compression.

    >>> suffix_of(Path("dump.NT.gz"))
    '.nt'
    """
    names = [suffix.lower() for suffix in path.suffixes]
    if names and names[-1] in {".gz", ".bz2"}:
        names.pop()
    return names[-1] if names else ""


def lines_of(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file, numbered from 1, without line ends; InputError if the file cannot be read."""
    with opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            yield number, (line.removeprefix(BOM) if number == 1 else line).rstrip(b"\r\n")


def text_of(path: Path) -> Iterator[str]:
    """Yield the lines of a text in its encoding, whatever its line ends; InputError if the file cannot be read.

    A byte that the encoding does not have becomes a lone surrogate.
    """
    with opened(path) as stream:
        encoding = encoding_of_stream(stream)
        stream.seek(0)
        yield from io.TextIOWrapper(stream, encoding, "surrogateescape")


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, compressed or not, to read its bytes; InputError if it cannot be read, now or later."""
    openers: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
    try:
        with openers.get(path.suffix.lower(), open)(path, "rb") as stream:
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
