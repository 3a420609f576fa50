"""Read inputs that are URLs: https with httpx, every other protocol (s3, gs, memory, zip, ftp, ...) with fsspec.

User names, passwords and the query after a ? are used to fetch, and never appear in names, failures or messages;
neither do messages of libraries, which may contain the URL.
"""

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.filenames import is_wanted
from conspectus.pipelines.readers.formats import readable_suffix
from conspectus.storage.errors import InputError, MissingPart
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    import httpx

TIMEOUT = 30.0
"""Seconds without a response or further bytes after which a request is aborted."""

MAX_SECONDS = 600.0
"""Maximum seconds for the whole content of a file: a server that trickles bytes never times out otherwise."""

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(?:://|::)")
_LOCAL = re.compile(r"(?:file|local)://(?:localhost(?=/))?")
_HTTP = ("http", "https")
_PARAMETERS = re.compile(r"\?.*=.*|#.*", re.S)
_HTTP_PARAMETERS = re.compile(r"[?#;].*", re.S)
_USER = re.compile(r"://(?:[^/@]*|[^@]*:[^@]*)@")
_HEADERS = {"accept-encoding": "identity"}
_GZIP = ("gzip", "x-gzip")
_BLOCK = 1 << 20
_SUFFIXES = {
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "application/json": ".json",
    "application/x-ndjson": ".jsonl",
    "application/pdf": ".pdf",
    "application/epub+zip": ".epub",
    "application/zip": ".zip",
    "application/x-tar": ".tar",
    "message/rfc822": ".eml",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.apache.parquet": ".parquet",
}


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file behind a URL: its `place` (host or bucket, and path), its path below the input, and how to get it."""

    place: str
    below: str
    suffix: str
    content: Callable[[], Iterator[bytes]] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Unlisted:
    """A part of an existing input that cannot be reached, by its path below the input."""

    below: str
    reason: str
    detail: str


def is_url(given: str) -> bool:
    """Return whether an input is a URL or a chain of URLs (zip://a.txt::s3://...)."""
    return _URL.match(given) is not None


def local_path(url: str) -> Path | None:
    """Return the path of a file: URL, percent-encoded or not; None for other URLs."""
    if not _LOCAL.match(url) or "::" in url:
        return None
    path = _LOCAL.sub("", url, count=1)
    return Path(path) if "%" not in path or Path(path).exists() else Path(unquote(path))


def shown(url: str) -> str:
    """Return a URL without parts that may be secret.

    >>> shown("https://me:key@host.org/a.pdf?token=x"), shown("zip://*.txt::s3://key@bucket/a.zip")
    ('https://host.org/a.pdf', 'zip://*.txt::s3://bucket/a.zip')
    """
    return "::".join(_USER.sub("://", _parameters_of(link).sub("", link)) for link in url.split("::"))


def _parameters_of(link: str) -> re.Pattern[str]:
    """Return the pattern for the parameters of a URL; except in http, a ? may be a wildcard."""
    return _HTTP_PARAMETERS if link.lower().startswith(("http:", "https:")) else _PARAMETERS


def find_remote(url: str) -> Iterator[RemoteFile | Unlisted]:
    """Yield the files of a URL: one, all below a folder, or those that match its wildcards.

    An http URL names one file. Raises InputError if nothing is found, MissingPart for a protocol whose library
    is not installed.
    """
    if url.partition("://")[0].lower() in _HTTP and "::" not in url:
        yield _http_file(url)
    else:
        yield from _fsspec_files(url)


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


def _http_file(url: str) -> RemoteFile | Unlisted:
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
    except _Gone as error:
        raise InputError(f"no such file: {shown(url)} ({error.detail})") from error
    except Unreadable as error:
        return Unlisted(name, error.reason, error.detail)
    return RemoteFile(place, name, _suffix(path.name) or _SUFFIXES.get(kind, path.suffix), partial(_http_blocks, url))


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


class _Gone(Unreadable):
    """The server responds that the file does not exist."""


@contextmanager
def _response(url: str) -> Iterator["httpx.Response"]:
    """Open the response of a server, its body unread; raises Unreadable if there is none or it ends too early."""
    import httpx

    try:
        with httpx.stream("GET", url, headers=_HEADERS, follow_redirects=True, timeout=TIMEOUT) as response:
            answer = f"the server answers {response.status_code}"
            if response.status_code in {404, 410}:
                raise _Gone("not found", answer)
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


def _fsspec_files(url: str) -> Iterator[RemoteFile | Unlisted]:
    system, root = file_system(url)
    with _readable_errors(url):
        system.invalidate_cache()
        names = _names(system, root, url)
    if not names:
        raise InputError(f"no file in {shown(url)}")
    protocol = system.protocol if isinstance(system.protocol, str) else system.protocol[0]
    for below, name in sorted(names.items()):
        if ".." in below.split("/"):
            yield Unlisted(below, "name that leads outside the input", "")
        else:
            place = f"{protocol}/{re.sub('[^/]*:[^/]*@', '', name).strip('/')}"
            yield RemoteFile(place, below, PurePosixPath(below).suffix, partial(_fsspec_blocks, system, name))


def file_system(url: str, **options: Any) -> tuple[Any, str]:  # noqa: ANN401  (fsspec has no types)
    """Return the file system of a URL, and the path in it; `options` are those of the file system's class.

    Raises MissingPart if its library is not installed, InputError for an unknown protocol or half a URL.
    """
    import fsspec  # type: ignore[import-untyped]
    from fsspec.core import url_to_fs  # type: ignore[import-untyped]
    from fsspec.registry import known_implementations  # type: ignore[import-untyped]

    protocol = re.split(r"::|://", url, maxsplit=1)[0]
    try:
        with _readable_errors(url):
            system, root = url_to_fs(url, **options)
    except ImportError as error:
        chain = [re.split("://", link, maxsplit=1)[0] for link in url.split("::")]
        advice = [str(known_implementations.get(item, {}).get("err", "")) for item in chain]
        wanted = next((item for item in advice if item), f"install what fsspec needs for {protocol}://")
        raise MissingPart(f"{shown(url)}: {wanted}") from error
    except (ValueError, TypeError) as error:
        known = protocol in fsspec.available_protocols()
        why = "not a complete URL" if known else f"unknown protocol {protocol!r}"
        raise InputError(f"{shown(url)}: {why}") from error
    return system, root


def _names(system: Any, root: str, url: str) -> dict[str, str]:  # noqa: ANN401  (fsspec has no types)
    """Return the files of an input: the name in the file system by the path below the input."""
    if _has_wildcards(root) and not system.exists(root):
        parts = root.split("/")
        fixed = "/".join(parts[: next(at for at, part in enumerate(parts) if _has_wildcards(part))])
        matches: dict[str, dict[str, Any]] = system.glob(root, detail=True)
        if not matches:
            raise InputError(f"no such file or folder: {shown(url)}")
        found: list[str] = []
        for name, info in matches.items():
            found += system.find(name) if info["type"] == "directory" else [name]
        hidden_too = any(part.startswith(".") for part in parts)
        return _wanted(found, fixed, hidden_too)
    if not system.exists(root):
        raise InputError(f"no such file or folder: {shown(url)}")
    if system.isdir(root):
        return _wanted(system.find(root), root, False)
    return {PurePosixPath(root).name: root}


def _has_wildcards(path: str) -> bool:
    return any(sign in path for sign in "*?[")


def _wanted(names: list[str], root: str, hidden_too: bool) -> dict[str, str]:
    below = {name.strip("/").removeprefix(root.strip("/")).strip("/"): name for name in names}
    return {path: name for path, name in below.items() if is_wanted(PurePosixPath(path).parts, hidden_too)}


def _fsspec_blocks(system: Any, name: str) -> Iterator[bytes]:  # noqa: ANN401  (fsspec has no types)
    with LibraryErrors(), system.open(name, "rb") as stream:
        while block := stream.read(_BLOCK):
            yield block


@contextmanager
def _readable_errors(url: str) -> Iterator[None]:
    """Turn an error of a file system about a whole input into an InputError that names the input."""
    try:
        with LibraryErrors():
            yield
    except Unreadable as error:
        raise InputError(f"{shown(url)}: {error}") from error


class LibraryErrors:
    """Turns the exceptions of a file system's library into Unreadable.

    Apart from OSError those libraries raise exception classes that need not be installed here, so that no clause
    can name them: an error whose class is neither built in nor ours is considered one of them.
    """

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, InputError | MissingPart):
            return
        is_foreign = type(error).__module__.partition(".")[0] not in {"builtins", "conspectus"}
        if isinstance(error, OSError) or (isinstance(error, Exception) and is_foreign):
            raise Unreadable(*_why(error)) from error


def _why(error: BaseException) -> tuple[str, str]:
    if isinstance(error, FileNotFoundError):
        return "not found", ""
    if isinstance(error, PermissionError):
        return "no permission", ""
    if isinstance(error, TimeoutError):
        return "timed out", ""
    if isinstance(error, ConnectionError):
        return "cannot be reached", type(error).__name__
    return "cannot be fetched", type(error).__name__
