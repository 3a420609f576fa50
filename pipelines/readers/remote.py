"""Read inputs that are URLs: https with httpx, object stores (s3, gs, az) with obstore.

User names, passwords and the query after a ? are used to fetch, and never appear in names, failures or messages;
neither do messages of libraries, which may contain the URL.
"""

import mimetypes
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.formats import readable_suffix, storable
from conspectus.pipelines.readers.object_store import blocks_of, files_in, open_store, shown
from conspectus.storage.errors import InputError
from conspectus.storage.records import Failure
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    import httpx

STAGE = "read"
TIMEOUT = 30.0
"""Seconds without a response or further bytes after which a request is aborted."""

MAX_SECONDS = 600.0
"""Maximum seconds for the whole content of a file: a server that trickles bytes never times out otherwise."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?:://|::)")
_LOCAL = re.compile(r"(?:file|local)://(?:localhost(?=/))?")
_HTTP, _GONE = ("http", "https"), "not found"
_HEADERS = {"accept-encoding": "identity"}
_GZIP = ("gzip", "x-gzip")
_OFFICE = "application/vnd.openxmlformats-officedocument"
_SUFFIXES = {
    "application/xhtml+xml": ".xhtml", "text/markdown": ".md", "application/x-ndjson": ".jsonl",
    "application/epub+zip": ".epub", "application/vnd.apache.parquet": ".parquet",
    f"{_OFFICE}.wordprocessingml.document": ".docx", f"{_OFFICE}.presentationml.presentation": ".pptx",
    f"{_OFFICE}.spreadsheetml.sheet": ".xlsx",
}  # fmt: skip
"""Types of media that `mimetypes` does not know on every system."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file behind a URL: its `place` (host or bucket, and path), its path below the input, and how to get it."""

    place: str
    below: str
    suffix: str
    content: Callable[[], Iterator[bytes]] = field(repr=False, compare=False)


def is_url(given: str) -> bool:
    """Return whether an input is a URL or a chain of URLs (zip://a.txt::s3://...)."""
    return _URL.match(given) is not None


def local_path(url: str) -> Path | None:
    """Return the path of a file: URL, percent-encoded or not; None for other URLs."""
    if not _LOCAL.match(url) or "::" in url:
        return None
    path = _LOCAL.sub("", url, count=1)
    return Path(path) if "%" not in path or Path(path).exists() else Path(unquote(path))


def find_remote(url: str) -> Iterator[RemoteFile | Failure]:
    """Yield the files of a URL: one, all below a folder, or those that match its wildcards.

    An http URL names one file. Raises InputError if nothing is found, MissingPart for a protocol whose library
    is not installed.
    """
    protocol, _, rest = url.partition("://")
    if protocol.lower() in _HTTP:
        yield _http_file(url)
        return
    store, name = open_store(url)
    try:
        files = files_in(store, name)
    except Unreadable as error:
        raise InputError(f"{shown(url)}: {error}") from error
    if not files:
        raise InputError(f"no such file or folder: {shown(url)}")
    place = f"{protocol.lower()}/{rest.partition('/')[0]}"
    for below, name in sorted(files.items()):
        yield RemoteFile(f"{place}/{name}", below, PurePosixPath(below).suffix, partial(blocks_of, store, name))


@contextmanager
def fetched(file: RemoteFile, settings: InputSettings) -> Iterator[Path]:
    """Open a temporary file with the content of a remote one. It is fetched every time; nothing is cached.

    Raises Unreadable if it cannot be fetched, is longer than `max_download_bytes`, or has a format without a reader
    (which is known before anything is fetched).
    """
    suffix = readable_suffix(f"file{file.suffix}")
    with tempfile.TemporaryDirectory(prefix="conspectus-") as folder:
        path = Path(folder, f"file{suffix}")
        size = 0
        with path.open("wb") as stream:
            for block in file.content():
                size += len(block)
                if size > settings.max_download_bytes:
                    raise Unreadable(f"longer than input.max_download_bytes ({settings.max_download_bytes})")
                stream.write(block)
        yield path


def _http_file(url: str) -> RemoteFile | Failure:
    import httpx

    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise InputError(f"not a URL: {shown(url)}") from error
    path = PurePosixPath(unquote(parts.path))
    name = path.name or parts.host
    place = f"{parts.host}/{path.as_posix().strip('/')}"
    try:
        with _response(url) as response:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    except Unreadable as error:
        if error.reason == _GONE:
            raise InputError(f"no such file: {shown(url)} ({error.detail})") from error
        return Failure(STAGE, storable(name), error.reason, error.detail)
    of_kind = _SUFFIXES.get(kind) or mimetypes.guess_extension(kind) or ""
    suffix = next(filter(None, map(_suffix, (path.name, f"file{of_kind}"))), path.suffix)
    return RemoteFile(place, name, suffix, partial(_http_blocks, url))


def _suffix(name: str) -> str:
    try:
        return readable_suffix(name)
    except Unreadable:
        return ""


def _http_blocks(url: str) -> Iterator[bytes]:
    begun = time.monotonic()
    with _response(url) as response:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        packed = encoding in _GZIP and response.url.path.lower().endswith((".gz", ".tgz"))  # the file itself
        if encoding != "identity" and not packed:  # compressed in transit, it might unpack to any size
            raise Unreadable("cannot be fetched", "the server sends it compressed, which it was asked not to")
        for block in response.iter_raw():
            if time.monotonic() - begun > MAX_SECONDS:
                raise Unreadable("timed out", f"it was not complete after {MAX_SECONDS:.0f} s")
            yield block


@contextmanager
def _response(url: str) -> Iterator["httpx.Response"]:
    """Open the response of a server, its body unread; raises Unreadable if there is none or it ends too early."""
    import httpx

    try:
        with httpx.stream("GET", url, headers=_HEADERS, follow_redirects=True, timeout=TIMEOUT) as response:
            answer = f"the server answers {response.status_code}"
            if response.status_code in {404, 410}:
                raise Unreadable(_GONE, answer)
            if not response.is_success:
                reason = "no permission" if response.status_code in {401, 403} else "cannot be fetched"
                raise Unreadable(reason, answer)
            yield response
    except httpx.TimeoutException as error:
        raise Unreadable("timed out", f"the server was silent for {TIMEOUT:.0f} s") from error
    except httpx.ConnectError as error:
        raise Unreadable("cannot be reached", "no connection to the server") from error
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        raise Unreadable("cannot be fetched", type(error).__name__) from error
