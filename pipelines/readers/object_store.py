"""Object stores through obstore: where a URL leads, the files below it, and what an error of the library means.

Keys, region and server of S3 come from the environment (AWS_ACCESS_KEY_ID, AWS_REGION, AWS_ENDPOINT_URL ...) or from
`~/.aws`; those of other stores from the variables that obstore reads.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from fnmatch import fnmatchcase
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.formats import is_wanted
from conspectus.storage.errors import InputError, MissingPart

if TYPE_CHECKING:
    from obstore.auth.boto3 import Boto3CredentialProvider
    from obstore.store import ObjectStore

PROTOCOLS = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss", "adl", "file")

_BLOCK = 1 << 20
_CLIENT = {"read_timeout": timedelta(minutes=2), "timeout": timedelta(days=1)}
"""A server may be silent for two minutes; by default an object has to arrive within 30 seconds."""
_RETRIES: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=30)}
"""By default obstore tries for three minutes to reach a server that is not there."""
_NO_ANSWER = "HTTP error: "
"""What obstore says if no response came: it has no class of errors for that."""
_STATUS = re.compile(r"status code: (\d{3})")
_WILDCARDS = frozenset("*?[")
_PARAMETERS = re.compile(r"\?.*=.*|#.*", re.S)
_HTTP_PARAMETERS = re.compile(r"[?#;].*", re.S)
_USER = re.compile(r"://(?:[^/@]*|[^@]*:[^@]*)@")


def shown(url: str) -> str:
    """Return a URL without parts that may be secret.

    >>> shown("https://me:key@host.org/a.pdf?token=x"), shown("zip://*.txt::s3://key@bucket/a.zip")
    ('https://host.org/a.pdf', 'zip://*.txt::s3://bucket/a.zip')
    """
    links = []
    for link in url.split("::"):
        is_http = link.lower().startswith(("http:", "https:"))  # elsewhere a ? may be a wildcard
        links.append(_USER.sub("://", (_HTTP_PARAMETERS if is_http else _PARAMETERS).sub("", link)))
    return "::".join(links)


def open_store(url: str) -> "tuple[ObjectStore, str]":
    """Return the whole store of a URL (a bucket), and the name in it, "" for all of it.

    Raises:
        InputError: The protocol is unknown, the URL is not complete or contains credentials, or a setting is missing.
        MissingPart: The library is not installed.
    """
    protocol, _, rest = url.partition("://")
    protocol = protocol.lower()
    bucket, _, name = rest.partition("/")
    try:
        if protocol not in PROTOCOLS:
            raise ValueError(f"unknown protocol {protocol!r}")
        if protocol != "file" and not bucket:
            raise ValueError("not a complete URL")
        if ":" in bucket or ("@" in bucket and not protocol.startswith("abfs")):
            raise ValueError("leave credentials out of the URL; the environment holds them")
        return _opened(protocol, bucket, server() if protocol.startswith("s3") else ""), name.strip("/")
    except ImportError as error:
        raise MissingPart(f"{shown(url)} needs obstore: pip install 'conspectus[s3]'") from error
    except ValueError as error:
        raise InputError(f"{shown(url)}: {error}") from error


def server() -> str:
    """Return the S3 server that the environment names; "" for Amazon's."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""


@cache
def _opened(protocol: str, bucket: str, endpoint: str) -> "ObjectStore":
    from obstore.exceptions import BaseError
    from obstore.store import LocalStore, from_url

    if protocol == "file":
        return LocalStore()
    options: dict[str, Any] = {
        "client_options": {**_CLIENT, "allow_http": endpoint.startswith("http://")},
        "retry_config": _RETRIES,
    }
    if endpoint:
        options["endpoint"] = endpoint
    try:
        if protocol.startswith("s3") and not os.environ.keys() & {"AWS_ACCESS_KEY_ID", "AWS_SKIP_SIGNATURE"}:
            options["credential_provider"] = _keys_from_elsewhere()
        opened: ObjectStore = from_url(f"{protocol}://{bucket}", **options)
    except BaseError as error:  # a variable of the environment is missing
        raise ValueError(str(error).partition("\n")[0]) from error
    return opened


def _keys_from_elsewhere() -> "Boto3CredentialProvider":
    """Return the keys in `~/.aws`, or those of the role of this machine."""
    from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]
    from obstore.auth.boto3 import Boto3CredentialProvider

    try:
        return Boto3CredentialProvider()
    except BotoCoreError as error:  # such as a profile that does not exist
        raise ValueError(str(error)) from error
    except ValueError as error:
        raise ValueError(
            "no keys found: set AWS_ACCESS_KEY_ID, or AWS_SKIP_SIGNATURE=true for a public bucket"
        ) from error


def list_objects(store: "ObjectStore", folder: str) -> dict[str, int]:
    """Return the names in a store of all objects below a folder, with their bytes; errors as in `library_errors`."""
    import obstore

    with library_errors():
        found = {each["path"]: each["size"] for some in obstore.list(store, folder or None) for each in some}
    return {name: size for name, size in found.items() if name != folder}


def blocks_of(store: "ObjectStore", name: str) -> Iterator[bytes]:
    """Yield the bytes of an object; errors as in `library_errors`."""
    import obstore

    with library_errors():
        yield from obstore.get(store, name).stream(min_chunk_size=_BLOCK)


def files_in(store: "ObjectStore", name: str) -> dict[str, str]:
    """Return the files that a name or a pattern stands for: their names in the store by the path below the input.

    A name is that of an object, or of a folder for all that is below it. In a pattern `*`, `?` and `[...]` match within
    the name of a folder or file, and `**` any folders. Errors are those of `library_errors`.
    """
    import obstore

    with library_errors(), suppress(FileNotFoundError):
        if name:
            obstore.head(store, name)
            return {PurePosixPath(name).name: name}
    found, root, pattern = list_objects(store, name), name, []
    if not found and _WILDCARDS.intersection(name):
        parts = name.split("/")
        fixed = next(at for at, part in enumerate(parts) if _WILDCARDS.intersection(part))
        root, pattern = "/".join(parts[:fixed]), parts[fixed:]
        found = list_objects(store, root)
    folders = {str(folder) for each in found for folder in PurePosixPath(each).parents}
    hidden_too = any(part.startswith(".") for part in pattern)
    files = {}
    for each, size in found.items():
        below = each.removeprefix(root).lstrip("/")
        is_file = size > 0 or each not in folders  # programs that show folders make empty objects of their names
        if is_file and is_wanted(below.split("/"), hidden_too) and _matches(below.split("/"), pattern):
            files[below] = each
    return files


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a path, or a folder above it, matches a pattern, both in parts; an empty pattern matches all."""
    reached = {0}  # parts that the pattern has matched until now
    for item in pattern:
        if item == "**":
            reached = set(range(min(reached, default=len(parts)), len(parts)))
        else:
            reached = {at + 1 for at in reached if at < len(parts) and fnmatchcase(parts[at], item)}
    return bool(reached)


@contextmanager
def library_errors() -> Iterator[None]:
    """Turn the errors of obstore into Unreadable, without its words, which contain the URL.

    AlreadyExistsError passes: it is an answer that who creates an object asks for.
    """
    from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError

    try:
        yield
    except FileNotFoundError as error:
        raise Unreadable("not found") from error
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise Unreadable("no permission") from error
    except AlreadyExistsError:
        raise
    except BaseError as error:
        if _NO_ANSWER in str(error):
            raise Unreadable("cannot be reached", "no answer from the store") from error
        status = _STATUS.search(str(error))
        said = f"the store answers {status.group(1)}" if status else type(error).__name__
        raise Unreadable("cannot be fetched", said) from error
